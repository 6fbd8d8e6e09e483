"""Vector addition: a kernel, a launch, a check.   PYTHONPATH=build/python python3 examples/python/quickstart.py"""
import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


x, y = np.random.rand(98432).astype(np.float32), np.random.rand(98432).astype(np.float32)
out = np.empty_like(x)
kernel = add_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, x.size, BLOCK=1024)
np.testing.assert_array_equal(out, x + y)
print(f"add_kernel on {kernel.target}: {x.size} sums are right; compiled in {sum(kernel.times.values()):.1f} ms")

# An error is an exception whose text has the place, the reason and a hint.
try:
    add_kernel[(1,)](x, y, out, x.size, BLOK=1024)
except triton.LaunchError as error:
    print(error)
