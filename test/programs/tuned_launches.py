"""Configurations, hooks and heuristics around one kernel, in the ways that libraries stack them."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide

CALLS = []


def _row_sum(X, Y, M, N, stride, BLOCK_N: tl.constexpr, EVEN: tl.constexpr, NUM_WARPS: tl.constexpr):
    row = tl.program_id(0)
    acc = 0.0
    for start in range(0, N, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        if EVEN:
            acc += tl.sum(tl.load(X + row * stride + n))
        else:
            acc += tl.sum(tl.load(X + row * stride + n, mask=n < N, other=0.0))
    tl.atomic_add(Y + row, acc)


# the call form, as libraries that wrap kernels several times write it
_row_sum = triton.jit(_row_sum)
_row_sum = triton.heuristics({
    "EVEN": lambda args: args["N"] % args["BLOCK_N"] == 0,
    "NUM_WARPS": lambda args: 4 if args["BLOCK_N"] > 32 else 1,
})(_row_sum)


def prune(configs, named_args, **kwargs):
    CALLS.append(("prune", named_args["N"]))
    return [c for c in configs if c.kwargs["BLOCK_N"] <= 2 * named_args["N"]] or configs[:1]


def make_row_sum():
    return triton.autotune(
        configs=[triton.Config({"BLOCK_N": n}, num_warps=w, num_stages=s) for n, w, s in ((16, 1, 1), (64, 2, 2), (1024, 4, 1))],
        key=["N"],
        prune_configs_by={"early_config_prune": prune},
        reset_to_zero=["Y"],
    )(_row_sum)


def check_stacked_decorators(device):
    CALLS.clear()
    row_sum = make_row_sum()
    for N in (20, 64, 20):
        x, y = normal(5, N, device=device), torch.zeros(5, device=device)
        row_sum[lambda META: (5,)](x, y, 5, N, x.stride(0))
        close(y, wide(x).sum(1), error=1e-6)
    assert [name for name in CALLS] == [("prune", 20), ("prune", 64)], CALLS
    assert row_sum.best_config.kwargs["BLOCK_N"] in (16, 64)
    assert sorted(len(k) > 0 for k in row_sum.cache) == [True, True]


@triton.jit
def scale_kernel(x_ptr, n, factor: tl.constexpr, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)


def check_ways_of_launching(device):
    x = normal(100, device=device)
    start = wide(x)
    scale_kernel[(2,)](x, 100, 2.0)
    scale_kernel[2, 1, 1](x, 100, factor=2.0)
    scale_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), 1)](x, n=100, factor=0.5, BLOCK=32, num_warps=2)
    scale_kernel.run(x, 100, 3.0, grid=(2,), warmup=False)
    compiled = scale_kernel.warmup(x, 100, 3.0, grid=(2,))
    assert compiled is not None
    scale_kernel[(0,)](x, 100, 100.0)
    close(x, start * 6, error=0, ulps=2)
