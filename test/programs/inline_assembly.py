"""Instructions of the GPU within kernels: approximate functions, packed conversions, byte permutations, clocks."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide

NOT_ON = {name: "the text is a GPU's" for name in ("cpu", "interp")}


@triton.jit
def tanh_approx(x):
    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def asm_kernel(x_ptr, y_ptr, out_ptr, packed_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, tanh_approx(x), mask=i < n)
    # two bytes swapped in each word
    swapped = tl.inline_asm_elementwise(asm="prmt.b32 $0, $1, $1, 0x2301;", constraints="=r,r", args=[y], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(packed_ptr + i, swapped, mask=i < n)


@triton.jit
def two_results_kernel(a_ptr, b_ptr, low_ptr, high_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    low, high = tl.inline_asm_elementwise(
        asm="""
        min.s32 $0, $2, $3;
        max.s32 $1, $2, $3;
        """, constraints="=&r,=&r,r,r", args=[tl.load(a_ptr + i), tl.load(b_ptr + i)], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(low_ptr + i, low)
    tl.store(high_ptr + i, high)


def check_one_result(device):
    x, y = normal(200, device=device), integers(0, 2**31 - 1, (200,), device=device)
    out, packed = torch.empty_like(x), torch.empty_like(y)
    asm_kernel[(2,)](x, y, out, packed, 200, BLOCK=128)
    close(out, torch.tanh(wide(x)), error=1e-3)
    b = y.cpu().view(torch.uint8).reshape(-1, 4).long()
    same(packed.cpu().view(torch.uint8).reshape(-1, 4).long(), b[:, [1, 0, 3, 2]])


def check_two_results(device):
    a, b = integers(-99, 99, (64,), device=device), integers(-99, 99, (64,), device=device, seed=1)
    low, high = torch.empty_like(a), torch.empty_like(a)
    two_results_kernel[(1,)](a, b, low, high, N=64)
    same(low, torch.minimum(a, b))
    same(high, torch.maximum(a, b))
