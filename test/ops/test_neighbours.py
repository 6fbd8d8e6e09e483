"""Divisions, remainders and comparisons of neighbours, of which a thread computes one for several elements."""
import numpy as np
import pytest
import torch
import tegula as triton
import tegula.language as tl

DIVISORS = [16, 48, 4096, -16, -48, 0, -1, 1, 7]  # multiples of 16 are known to be ones; the others are not


@triton.jit
def parts_kernel(quotients, remainders, base, divisor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = base + at
    tl.store(quotients + at, x // divisor)
    tl.store(remainders + at, x % divisor)


def quotient_and_remainder(x, n):
    """As C divides; by zero both are 0, and the quotient by -1 wraps."""
    x = x.astype(object)
    if n == 0:
        return np.zeros(len(x), object), np.zeros(len(x), object)
    quotient = np.array([abs(v) // abs(n) * (1 if (v < 0) == (n < 0) else -1) for v in x], object)
    return quotient, x - quotient * n


@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("base", [0, 16, -64, -4096, -2**31, 2**31 - 256, 5, -3])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_of_neighbours(target, dtype, base, divisor):
    made = [torch.empty(256, dtype=dtype) for _ in range(2)]
    if dtype == torch.int64:
        base *= 2**20
    x = np.arange(256, dtype=object) + base
    parts_kernel[(1,)](*made, base, divisor, BLOCK=256, num_warps=1)
    for found, exact in zip(made, quotient_and_remainder(x, divisor)):
        bits = 32 if dtype == torch.int32 else 64
        wrapped = [(int(v) + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for v in exact]
        assert found.tolist() == wrapped


@triton.jit
def of_far_rows_kernel(quotients, remainders, base, divisor, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    x = base + i
    at = i[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(quotients + at, (x // divisor)[:, None] + tl.arange(0, N)[None, :] * 0)
    tl.store(remainders + at, (x % divisor)[:, None] + tl.arange(0, N)[None, :] * 0)


@pytest.mark.parametrize("shape, warps", [((64, 64), 4), ((32, 128), 1), ((128, 8), 2)])
@pytest.mark.parametrize("divisor", DIVISORS + [128])
@pytest.mark.parametrize("base", [0, -64, -4096, -2**31, 2**31 - 256, -3])
def test_of_rows_that_a_thread_holds_apart(target, base, divisor, shape, warps):
    made = [torch.empty(shape, dtype=torch.int32) for _ in range(2)]
    x = np.arange(shape[0], dtype=object) + base
    of_far_rows_kernel[(1,)](*made, base, divisor, *shape, num_warps=warps)
    for found, exact in zip(made, quotient_and_remainder(x, divisor)):
        wrapped = [(int(v) + 2**31) % 2**32 - 2**31 for v in exact]
        assert (found.numpy() == np.array(wrapped, dtype=np.int64)[:, None]).all()


@triton.jit
def of_rows_kernel(out, rows, columns, width, M: tl.constexpr, N: tl.constexpr):
    """Two dimensions, and a loop whose numbers are known not to be negative."""
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        at = i[:, None] * columns + tl.arange(0, N)[None, :]
        inside = (i[:, None] < rows) & (tl.arange(0, N)[None, :] < columns)
        tl.store(out + at, at // width * 1000 + (i // width)[:, None] + (at % width < width // 2).to(tl.int32), mask=inside)


@pytest.mark.parametrize("columns, width", [(64, 16), (48, 32), (32, 48), (50, 16), (64, 10)])
def test_of_rows(target, columns, width):
    rows = 40
    out = torch.full((rows, columns), -1, dtype=torch.int32)
    of_rows_kernel[(1,)](out, rows, columns, width, M=16, N=64, num_warps=2)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    at = i * columns + j
    assert (out.numpy() == at // width * 1000 + i // width + (at % width < width // 2)).all()


@triton.jit
def shifted_kernel(out, n, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK - 64 + tl.arange(0, BLOCK)
    tl.store(out + x + 64, (x >> 3) + (x & -16) + ((x | 7) < n).to(tl.int32) + (x.to(tl.uint32, bitcast=True) // 32).to(tl.int32, bitcast=True))


def test_shifts_and_bits_of_neighbours(target):
    out = torch.empty(512, dtype=torch.int32)
    shifted_kernel[(2,)](out, 160, BLOCK=256, num_warps=1)
    x = np.arange(512) - 64
    exact = (x >> 3) + (x & -16) + ((x | 7) < 160) + (x.astype(np.int32).view(np.uint32) // 32).astype(np.int64)
    assert (out.numpy() == exact.astype(np.int64).astype(np.int32)).all()
