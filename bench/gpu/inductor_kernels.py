"""Kernels of a user inside of compiled graphs: plain, autotuned, with heuristics, as an operator of PyTorch."""
import torch
import triton
import triton.language as tl

from inductor_cases import case, rand


@triton.jit
def scaled_add(x_ptr, y_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + scale * y, mask=mask)


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 512}, num_warps=4)], key=["n"])
@triton.jit
def tuned_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def twice(x):
    return x + x


@triton.jit
def in_place(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, twice(tl.load(x_ptr + offsets, mask=offsets < n)), mask=offsets < n)


def add(x, y, scale=2.0):
    out = torch.empty_like(x)
    n = x.numel()
    scaled_add[(triton.cdiv(n, 256),)](x, y, out, n, scale, BLOCK=256)
    return out


@case
def user_kernel(device):
    return lambda x, y: add(x.relu(), y).sum(-1), (rand(device, 10, 300), rand(device, 10, 300))


@case
def user_kernel_autotuned(device):
    def run(x, y):
        out = torch.empty_like(x)
        n = x.numel()
        tuned_add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
        return out * 2

    return run, (rand(device, 3000), rand(device, 3000))


@case
def user_kernel_in_place(device):
    def run(x):
        y = x + 1
        in_place[(triton.cdiv(y.numel(), 256),)](y, y.numel(), BLOCK=256)
        return y * x

    return run, (rand(device, 3000),)


@case(dynamic=True)
def user_kernel_dynamic(device):
    return lambda x: add(x.relu(), x), [(rand(device, n),) for n in (100, 1000, 77)], {"dynamic": True}


@torch.library.triton_op("tegula_cases::scaled_add", mutates_args={})
def scaled_add_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    torch.library.wrap_triton(scaled_add)[(triton.cdiv(n, 256),)](x, y, out, n, 3.0, 256)
    return out


@case
def triton_op(device):
    return lambda x, y: torch.ops.tegula_cases.scaled_add(x.sin(), y) + 1, (rand(device, 500), rand(device, 500))


@torch.library.custom_op("tegula_cases::opaque_add", mutates_args=())
def opaque_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return add(x, y)


@opaque_add.register_fake
def _(x, y):
    return torch.empty_like(x)


@case
def custom_op(device):
    return lambda x, y: torch.ops.tegula_cases.opaque_add(x.sin(), y) + 1, (rand(device, 500), rand(device, 500))
