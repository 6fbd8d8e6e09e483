"""Kernels that unroll to more code than some passes of LLVM can bear (src/codegen/llvm/Bounds.def) compute the same."""
import numpy as np

import tegula as triton
import tegula.language as tl

STEPS = 384  # more than 40,000 instructions of LLVM, on either target


@triton.jit
def long_kernel(x_ptr, out_ptr, n, STEPS: tl.constexpr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = x
    for step in tl.static_range(STEPS):
        s = tl.sum(tl.where(i < n, x, y), 0)
        x = tl.where((i & 3) == step % 4, tl.cumsum(x, 0) & 0xFFFF, x ^ (y >> 1))
        if s % 3 == step % 3:
            y = (y + x + step) & 0xFFFF
        else:
            y = (y ^ s) & 0xFFFF
        tl.store(out_ptr + step * 64 + i, x + y, mask=(i + step) % 5 != 0)


def test_a_long_kernel_computes_what_a_short_one_does(target):
    n, i = 37, np.arange(64, dtype=np.int32)
    x = np.random.default_rng(n).integers(0, 1 << 16, 64, dtype=np.int32)
    out, expected = np.full((STEPS, 64), -1, np.int32), np.full((STEPS, 64), -1, np.int32)
    long_kernel[(1,)](x, out, n, STEPS=STEPS)
    a, b = x, x
    for step in range(STEPS):
        s = int(np.where(i < n, a, b).sum())
        a = np.where((i & 3) == step % 4, np.cumsum(a) & 0xFFFF, a ^ (b >> 1)).astype(np.int32)
        b = ((b + a + step) if s % 3 == step % 3 else (b ^ s)) & 0xFFFF
        expected[step] = np.where((i + step) % 5 != 0, a + b, -1)
    np.testing.assert_array_equal(out, expected)
