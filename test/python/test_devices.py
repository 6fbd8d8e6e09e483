"""The mirror of test/devices.py, with the host playing the GPU: launches on copies leave the host's memory as it should be."""
import ml_dtypes
import numpy as np
import pytest
import torch

import devices
import tegula
import tegula as triton
import tegula.language as tl
from contract import assert_same
from kernels.shift_in_place import shift_kernel, swap_kernel
from kernels.vector_add import add, add_kernel
from tegula.tools.tensor_descriptor import TensorDescriptor


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(devices, "MIRROR", "cpu")
    monkeypatch.setitem(devices.TARGET_OF, "cuda", "interp")
    devices.mirror_launches(monkeypatch)
    monkeypatch.setenv("TEGULA_TARGET", "cpu")
    tegula.set_target("interp")
    yield
    tegula.set_target("cpu")


def test_results_come_back():
    x, y = torch.randn(100), torch.randn(100)
    assert_same(add(x, y, torch.full((100,), 7.0), block=64), x + y)


def test_what_surrounds_an_argument_is_there_and_stays():
    buffer = torch.arange(500.0)
    expected = buffer.clone()
    expected[80:180] = buffer[150:250]
    shift_kernel[(1,)](buffer[150:], 100, -70, BLOCK=128)
    assert_same(buffer, expected)


def test_arguments_overlap_as_on_the_host():
    buffer = torch.arange(160.0)
    expected = buffer.clone()
    expected[:64], expected[56:120] = buffer[56:120].clone(), buffer[:64].clone()
    swap_kernel[(1,)](buffer[:64], buffer[56:], 64, BLOCK=64)
    assert_same(buffer, expected)


@triton.jit
def copy_by_descriptors(source, target):
    target.store([0, 0], source.load([0, 0]))


def test_tensors_behind_descriptors_are_mirrored():
    x, out = torch.randn(8, 8), torch.zeros(8, 8)
    described = [TensorDescriptor.from_tensor(tensor, [8, 8]) for tensor in (x, out)]
    mirror = devices.Mirror(described)
    assert mirror.of(described[1]).base.data_ptr() != out.data_ptr()
    copy_by_descriptors[(1,)](*described)
    assert_same(out, x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint32", "int8", "bfloat16"])
def test_numpy_arrays(dtype):
    arena = np.arange(400 * 4, dtype=np.uint8)
    x = arena[8:].view(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)[:50]
    x[:] = np.arange(50)
    out = np.zeros_like(x)
    add_kernel[(1,)](x, x, out, 50, BLOCK=64)
    np.testing.assert_array_equal(out, x + x)


def test_pieces_keep_their_place_modulo_16():
    arena = np.zeros(256, np.uint8)
    address = arena.__array_interface__["data"][0]
    mirror = devices.Mirror([arena[3:], torch.from_numpy(arena[100:140])])
    piece, = mirror.pieces
    assert (piece.from_address(address + 3, torch.uint8).data_ptr() - address - 3) % 16 == 0


def test_tuned_kernels_are_mirrored_once_with_what_their_hooks_see():
    seen = []

    @triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])})
    @triton.autotune([triton.Config({"STEP": 1}, pre_hook=lambda arguments: seen.append(arguments["out"].data_ptr()))], key=["n"])
    @triton.jit
    def kernel(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) + STEP, mask=i < n)

    x, out = torch.arange(5.0), torch.zeros(5)
    kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, out, 5)
    assert_same(out, x + 1)
    assert seen and out.data_ptr() not in seen
