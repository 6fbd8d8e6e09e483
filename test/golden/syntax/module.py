# RUN: tegula_syntax_dump %s | FileCheck %s
# A kernel file as people write them: the kernels, and any Python beside them.
import os, triton
import triton.language as tl
from .helpers import (scale as s, shift,)

# CHECK:      import os triton
# CHECK-NEXT: import triton.language=tl
# CHECK-NEXT: from .helpers scale=s shift


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
@triton.jit
def kernel(x_ptr, n, *, BLOCK: tl.constexpr = 0x80):
    """One block."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1e-3)
    if n % 2 == 0 and not BLOCK is None: x **= 2; return
    else:
        for i in tl.static_range(3): x += i if i > 1 else -i
    tl.store(x_ptr, x)

# CHECK-NEXT: def kernel
# CHECK-NEXT:   @ (call (. triton autotune) :configs (listcomp (call (. triton Config) (unsupported "dict display")) (for b (tuple 64 128))) :key (list "n"))
# CHECK-NEXT:   @ (. triton jit)
# CHECK-NEXT:   param x_ptr _ _
# CHECK-NEXT:   param n _ _
# CHECK-NEXT:   param-keyword BLOCK (. tl constexpr) 0x80
# CHECK-NEXT:   expr "One block."
# CHECK-NEXT:   assign offsets (+ (* (call (. tl program_id) 0) BLOCK) (index (call (. tl arange) 0 BLOCK) (tuple None (slice _ _ _))))
# CHECK-NEXT:   assign x (call (. tl load) (+ x_ptr offsets) :mask (compare offsets < n) :other (- 0.001))
# CHECK-NEXT:   if (and (compare (% n 2) == 0) (not (compare BLOCK is None)))
# CHECK-NEXT:     augment ** x 2
# CHECK-NEXT:     return _
# CHECK-NEXT:   else
# CHECK-NEXT:     for i (call (. tl static_range) 3)
# CHECK-NEXT:       augment + x (if (compare i > 1) i (- i))
# CHECK-NEXT:   expr (call (. tl store) x_ptr x)


class Runner:
    def run(self, *args, **kwargs):
        try:
            with open(os.devnull) as f, self.lock: yield f"{args!r:>{self.width}}"
        except (OSError, ValueError) as e:
            raise RuntimeError("no") from e

# CHECK-NEXT: class Runner
# CHECK-NEXT:   def run
# CHECK-NEXT:     param self _ _
# CHECK-NEXT:     param* args _ _
# CHECK-NEXT:     param** kwargs _ _
# CHECK-NEXT:     unsupported "try"
# CHECK-NEXT:       with (call open (. os devnull)) f (. self lock) _
# CHECK-NEXT:         expr (unsupported "yield")
# CHECK-NEXT:       unsupported "raise"


if __name__ == "__main__": print("x", end='')

# CHECK-NEXT: if (compare __name__ == "__main__")
# CHECK-NEXT:   expr (call print "x" :end "")
