"""out = x + y, one tile of BLOCK elements a program."""
import math

import tegula as triton
import tegula.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y, out, block=1024, **options):
    n = math.prod(x.shape)
    add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block, **options)
    return out
