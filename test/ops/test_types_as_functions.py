"""An element type, called in a kernel, converts: ``tl.float32(x)`` is ``tl.cast(x, tl.float32)``."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def accumulate(x_ptr, out_ptr, N: tl.constexpr):
    largest = tl.float32(-float("inf"))
    total = tl.float64(0)
    for i in range(N):
        total += tl.load(x_ptr + i)
        largest = tl.maximum(largest, tl.load(x_ptr + i))
    tl.static_assert(total.dtype == tl.float64 and largest.dtype == tl.float32)
    tl.store(out_ptr, total.to(tl.float32))
    tl.store(out_ptr + 1, largest)
    tl.store(out_ptr + 2, tl.int32(tl.load(x_ptr)))
    tl.store(out_ptr + 3, tl.uint8(tl.load(x_ptr + 1)))
    tile = tl.float16(tl.arange(0, 4))
    tl.static_assert(tile.dtype == tl.float16)
    tl.store(out_ptr + 4 + tl.arange(0, 4), tile)


@pytest.mark.parametrize("target", ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim), "python"])
def test_a_type_called_converts(target, monkeypatch):
    kernel = accumulate
    if target == "python":
        monkeypatch.setenv("TEGULA_INTERPRET", "1")
        kernel = triton.jit(accumulate.fn)
    else:
        kernel.target = target
    out = np.zeros(8, np.float32)
    kernel[(1, )](np.array([-7.9, 200.5, 3], np.float32), out, N=3)
    np.testing.assert_allclose(out, [195.6, 200.5, -7, 200, 0, 1, 2, 3], rtol=1e-6)


@triton.jit
def two_values(out_ptr):
    tl.store(out_ptr, tl.float32(1.0, 2.0))


def test_a_type_takes_one_value():
    with pytest.raises(triton.CompilationError, match="cannot be called"):
        two_values[(1, )](np.zeros(1, np.float32))


def test_outside_of_a_kernel_it_says_so():
    with pytest.raises(RuntimeError, match="is a cast in kernels"):
        tl.float32(1.0)
