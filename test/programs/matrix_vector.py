"""Products of a matrix and a vector: plain, with int8 weights and scales, fused with its activation, several rows a program."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, wide


@triton.autotune(configs=[triton.Config({"BLOCK_N": n, "BLOCK_K": k}, num_warps=w) for n, k, w in ((4, 64, 1), (8, 32, 2))], key=["N", "K"])
@triton.jit
def gemv_kernel(w_ptr, x_ptr, scale_ptr, bias_ptr, out_ptr, N, K, stride, HAS_SCALE: tl.constexpr, HAS_BIAS: tl.constexpr,
                ACTIVATION: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_N, BLOCK_K), tl.float32)
    w_ptrs = w_ptr + n[:, None] * stride + k[None, :]
    for start in range(K, 0, -BLOCK_K):
        w = tl.load(w_ptrs, mask=(n < N)[:, None] & (k < start)[None, :], other=0)
        x = tl.load(x_ptr + k, mask=k < start, other=0.0)
        acc += w.to(tl.float32) * x[None, :].to(tl.float32)
        w_ptrs += BLOCK_K
        x_ptr += BLOCK_K
    y = tl.sum(acc, axis=1)
    if HAS_SCALE:
        y *= tl.load(scale_ptr + n, mask=n < N, other=0.0)
    if HAS_BIAS:
        y += tl.load(bias_ptr + n, mask=n < N, other=0.0)
    if ACTIVATION == "relu":
        y = tl.maximum(y, 0)
    elif ACTIVATION == "fast_gelu":
        y = y * tl.sigmoid(1.702 * y)
    tl.store(out_ptr + n, y, mask=n < N)


def linear(w, x, scale=None, bias=None, activation=""):
    out = torch.empty(w.shape[0], device=x.device, dtype=x.dtype)
    grid = lambda META: (triton.cdiv(w.shape[0], META["BLOCK_N"]),)
    gemv_kernel[grid](w, x, scale, bias, out, w.shape[0], w.shape[1], w.stride(0), scale is not None, bias is not None, activation)
    return out


def check_plain_and_fused(device):
    w, x, bias = normal(30, 90, device=device), normal(90, device=device, seed=1), normal(30, device=device, seed=2)
    close(linear(w, x), wide(w) @ wide(x), error=1e-6)
    y = wide(w) @ wide(x) + wide(bias)
    close(linear(w, x, bias=bias, activation="relu"), y.clamp(min=0), error=1e-6)
    close(linear(w, x, bias=bias, activation="fast_gelu"), y * (1.702 * y).sigmoid(), error=1e-6)


def check_int8_weights(device):
    w, scale = integers(-127, 128, (30, 90), device=device, dtype=torch.int8), normal(30, device=device, seed=1).abs() / 100
    x = normal(90, device=device, dtype=torch.bfloat16, seed=2)
    close(linear(w, x, scale=scale), wide(scale) * (wide(w) @ wide(x)), error=1e-6)
