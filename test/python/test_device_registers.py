"""`tl.extra.cuda`: registers of the machine and the order of launches; inline assembly without operands."""
import warnings

import numpy as np
import pytest

import devices
import tegula as triton
import tegula.language as tl

DEVICES = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True)
def the_host_again():
    yield
    triton.set_target("cpu")


@triton.jit
def registers_kernel(out_ptr, GRID_ORDER: tl.constexpr):
    if GRID_ORDER:
        tl.extra.cuda.gdc_wait()
    before = tl.extra.cuda.globaltimer()
    processor = tl.extra.cuda.smid()
    tl.store(out_ptr, tl.extra.cuda.globaltimer() - before)
    tl.store(out_ptr + 1, processor)
    if GRID_ORDER:
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def constant_kernel(out_ptr, BLOCK: tl.constexpr):
    seven = tl.inline_asm_elementwise("mov.u32 $0, 7;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + tl.arange(0, BLOCK), seven + tl.arange(0, BLOCK))


@triton.jit(noinline=True)
def plus_one(x):
    return x + 1


@triton.jit
def noinline_kernel(out_ptr):
    tl.store(out_ptr, plus_one(plus_one(5)))


def array(device, n):
    if device == "cuda":
        import torch

        return torch.full((n,), -1, dtype=torch.int64, device="cuda")
    return np.full(n, -1, np.int64)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", [False, True])
def test_registers_are_read(device, order, monkeypatch):
    devices.use(device, monkeypatch)
    registers_kernel.target = devices.TARGET_OF[device]
    out = array(device, 2)
    registers_kernel[(1,)](out, GRID_ORDER=order)
    assert 0 <= int(out[0]) < 10**9 and int(out[1]) >= 0


@pytest.mark.parametrize("device", DEVICES)
def test_assembly_without_operands(device, monkeypatch):
    devices.use(device, monkeypatch)
    constant_kernel.target = devices.TARGET_OF[device]
    out = array(device, 16)
    constant_kernel[(1,)](out, BLOCK=16)
    assert out.tolist() == list(range(7, 23))


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_cores_have_no_such_registers(target):
    registers_kernel.target = target
    with pytest.raises(triton.CompilationError, match="inline assembly"):
        registers_kernel[(1,)](array("cpu", 2), GRID_ORDER=False)


def test_a_function_that_says_noinline_is_told_of_once():
    out = array("cpu", 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernel = noinline_kernel[(1,)](out)
    assert out[0] == 7 and [("plus_one" in str(warning.message)) for warning in told] == [True]
    assert [row[1] for row in kernel._raw.warnings()] == ["AlwaysInlined"]


def test_more_parameters_than_a_gpu_takes_are_refused(tmp_path):
    names = [f"p{i}" for i in range(4094)]
    path = tmp_path / "many.py"
    path.write_text("import tegula as triton\nimport tegula.language as tl\n\n\n@triton.jit\n"
                    f"def many({', '.join(names)}):\n    tl.store(p4093, 1.0)\n")
    scope = {"__name__": "many"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    kernel, x = scope["many"], np.zeros(1, np.float32)
    kernel.target = "ptxvm"
    with pytest.raises(triton.OutOfResources, match="32764"):
        kernel[(1,)](*[x] * len(names))
    kernel.target = "cpu"
    kernel[(1,)](*[x] * len(names))
    assert x[0] == 1


@triton.jit
def chained_kernel(x_ptr, N: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(x_ptr + i, x + 1)


@pytest.mark.parametrize("device", DEVICES)
def test_launches_that_begin_early_wait_for_what_they_read(device, monkeypatch):
    devices.use(device, monkeypatch)
    chained_kernel.target = devices.TARGET_OF[device]
    x = array(device, 64 * 128)
    for _ in range(4 if device == "sim" else 200):
        chained_kernel[(64,)](x, N=128, launch_pdl=True)
    assert (x == (3 if device == "sim" else 199)).all()
