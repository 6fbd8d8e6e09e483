"""Block pointers and tensor descriptors."""
import pytest
import torch
import triton
import triton.language as tl


def window(x, m, n, rows, columns, padding=0):
    """The rows by columns elements of x from (m, n) on, and `padding` where there are none."""
    out = torch.full((rows, columns), padding, dtype=x.dtype)
    for i in range(rows):
        for j in range(columns):
            if 0 <= m + i < x.shape[0] and 0 <= n + j < x.shape[1]:
                out[i, j] = x[m + i, n + j]
    return out


@triton.jit
def block_copy_kernel(x_ptr, out_ptr, M, N, m, n, R: tl.constexpr, C: tl.constexpr, PADDING: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (m, n), (R, C), (1, 0))
    out = tl.make_block_ptr(out_ptr, (R, C), (C, 1), (0, 0), (R, C), (1, 0))
    tl.store(out, tl.load(x, boundary_check=(0, 1), padding_option=PADDING))


@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("m, n", [(0, 0), (12, 8), (-3, -2), (21, 18)])
def test_block_pointers_are_checked_on_both_sides(device, m, n, padding):
    x = torch.arange(1, 401, device=device).reshape(20, 20).float()
    out = torch.zeros(16, 8, device=device)
    block_copy_kernel[(1,)](x, out, 20, 20, m, n, R=16, C=8, PADDING=padding)
    expected = window(x.cpu(), m, n, 16, 8, float("nan") if padding == "nan" else 0)
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=0, equal_nan=True)


@triton.jit
def advance_kernel(x_ptr, out_ptr, N, takes_second, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (2, N), (N, 1), (0, 0), (1, BLOCK), (1, 0))
    if takes_second > 0:
        x = tl.advance(x, (1, 0))
    out = tl.make_block_ptr(out_ptr, (1, N), (N, 1), (0, 0), (1, BLOCK), (1, 0))
    for _ in range(0, N, BLOCK):
        tl.store(out, tl.load(x, boundary_check=(1,)) * 2, boundary_check=(1,))
        x = tl.advance(x, (0, BLOCK))
        out = tl.advance(out, (0, BLOCK))


@pytest.mark.parametrize("takes_second", [0, 2])
def test_block_pointers_advance_in_branches_and_loops(device, takes_second):
    x = torch.arange(90, device=device).reshape(2, 45).int()
    out = torch.zeros(45, dtype=torch.int32, device=device)
    advance_kernel[(1,)](x, out, 45, takes_second, BLOCK=16)
    assert torch.equal(out, 2 * x[min(takes_second, 1)])


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, M, N, m, n, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[R, C])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[R, C])
    out.store([m, n], x.load([m, n]) + 1)


@pytest.fixture
def allocates(device):
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))


@pytest.mark.parametrize("m, n", [(0, 0), (16, 24), (20, 32)])
def test_descriptors_drop_what_is_outside(device, allocates, m, n):
    x = torch.arange(24 * 32, device=device).reshape(24, 32).int()
    out = torch.zeros_like(x)
    descriptor_kernel[(1,)](x, out, 24, 32, m, n, R=8, C=16)
    expected = torch.zeros(24, 32, dtype=torch.int32)
    expected[m:m + 8, n:n + 16] = x.cpu()[m:m + 8, n:n + 16] + 1
    assert torch.equal(out.cpu(), expected)
