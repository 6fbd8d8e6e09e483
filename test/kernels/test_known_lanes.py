"""Masked accesses some of whose lanes are known to be off leave these alone (KnownLanes.h): for AVX-512 LLVM stored one known lane of
what is narrowed as it was before, over its neighbours; for AVX2 it loaded halves that are off."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def first_kernel(x, y, n, AT: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, N)
    value = tl.load(x + r).to(y.dtype.element_ty)
    tl.store(y + r, value, mask=r < n)
    tl.store(y + N + r, value, mask=r == AT)


@triton.jit
def column_kernel(x, y, n, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, 4)[None, :]
    tl.store(y + r * 4 + c, tl.load(x + r * 4 + c).to(y.dtype.element_ty), mask=(r < N) & (c < n))


TYPES = [(torch.float32, torch.bfloat16), (torch.float32, torch.float8_e4m3fn), (torch.float64, torch.float16), (torch.float16, torch.float8_e5m2),
         (torch.int32, torch.int16), (torch.int32, torch.int8), (torch.int64, torch.int8), (torch.int16, torch.uint8), (torch.float32, torch.float32)]


@pytest.mark.parametrize("size", [2, 8, 64])
@pytest.mark.parametrize("wide, narrow", TYPES, ids=lambda dtype: str(dtype)[6:])
def test_neighbours_stay(target, wide, narrow, size):
    x, y = (torch.arange(size) % 5 + 1).to(wide), torch.full((2 * size,), 7.0).to(narrow)
    first_kernel[(1,)](x, y, 1, AT=size - 1, N=size)
    wanted = torch.full((2 * size,), 7.0)
    wanted[0], wanted[-1] = 1, x[-1].float()
    assert torch.equal(y.float(), wanted)


@pytest.mark.parametrize("wide, narrow", TYPES, ids=lambda dtype: str(dtype)[6:])
def test_other_columns_stay(target, wide, narrow):
    x, y = (torch.arange(64) % 5 + 1).to(wide).reshape(16, 4), torch.full((16, 4), 7.0).to(narrow)
    column_kernel[(1,)](x, y, 1, N=16)
    assert torch.equal(y[:, 0].float(), x[:, 0].float()) and bool((y[:, 1:].float() == 7).all())


def test_no_masked_store_of_a_known_lane_is_left(build_dir):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::first_kernel", "--signature", "x=*f32:16,y=*bf16:16,n=1,AT=3,N=16",
                           "--target", "cpu", "--cpu", "skylake-avx512", "--emit", "llvm"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"llvm\.masked\.store.*x i1> <i1", done.stdout)


@triton.jit
def rows_kernel(x, y, z, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.program_id(0)
    v = tl.load(x + row * N + i)
    if row % 2 == 0:
        tl.store(z + i + row * stride, v)
    tl.store(y + row * stride + i, v.to(y.dtype.element_ty))


@pytest.mark.parametrize("size", [9, 17, 33, 65])
@pytest.mark.parametrize("wide, narrow", TYPES, ids=lambda dtype: str(dtype)[6:])
def test_the_last_lane_of_an_odd_tile(target, wide, narrow, size):
    x = (torch.arange(2 * size) % 7 + 1).to(wide)
    y, z = torch.full((2, 80), 7.0).to(narrow), torch.zeros(160, dtype=wide)
    rows_kernel[(2,)](x, y, z, 80, N=size)
    wanted = torch.full((2, 80), 7.0)
    wanted[:, :size] = x.reshape(2, size).float()
    assert torch.equal(y.float(), wanted)


@triton.jit
def other_kernel(x, p, y, n, C: tl.constexpr):
    r, c = tl.arange(0, 4)[:, None], tl.arange(0, C)[None, :]
    tl.store(y + r * C + c, tl.load(x + (r + c * 0), mask=r < n, other=tl.load(p + r * C + c)))


@pytest.mark.parametrize("columns", [1, 8, 15, 16, 33, 64])
def test_one_element_of_a_row_or_another_for_each(target, columns):
    other = torch.arange(4.0 * columns).reshape(4, columns) + 10
    y = torch.zeros(4, columns)
    other_kernel[(1,)](torch.tensor([1.0, 2, 3, 4]), other, y, 2, C=columns)
    assert torch.equal(y, torch.cat([torch.tensor([[1.0], [2.0]]).expand(2, columns), other[2:]]))


@triton.jit
def other_column_kernel(x, y, C: tl.constexpr):
    r, c = tl.arange(0, 64)[:, None], tl.arange(0, C)[None, :]
    v = tl.load(x + r * 5 + c)
    tl.store(y + c + (63 - r) * 2, v.to(y.dtype.element_ty), mask=((((c + 3) & 3) == 0) | (r <= 0)) & (c > 0))


@pytest.mark.parametrize("wide, narrow", TYPES, ids=lambda dtype: str(dtype)[6:])
def test_a_lane_that_only_the_instruction_selector_knows(target, wide, narrow):
    x = (torch.arange(340) % 5 + 1).to(wide)
    y = torch.full((70, 2), 7.0).to(narrow)
    other_column_kernel[(1,)](x, y, C=2)
    wanted = torch.full((70, 2), 7.0)
    wanted[:64, 1] = x[1:320:5].float().flip(0)
    assert torch.equal(y.float(), wanted)
