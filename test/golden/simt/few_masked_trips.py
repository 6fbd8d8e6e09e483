"""A loop of few trips is not split where its masks begin to matter: each of the two loops would wait for its first copies. One of any number is."""
# RUN: tegula compile %s::scan --signature 'c=*f16:16,x=*f16:16,o=*f32:16,n=i32,ROWS=4' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=FEW
# RUN: tegula compile %s::scan --signature 'c=*f16:16,x=*f16:16,o=*f32:16,n=i32,ROWS=0' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=MANY
import triton
import triton.language as tl

# FEW-COUNT-1: scf.for
# FEW-NOT: scf.for
# MANY-COUNT-2: scf.for
# MANY-NOT: scf.for


@triton.jit
def scan(c, x, o, n, ROWS: tl.constexpr):
    row = tl.program_id(0) % ROWS if ROWS else tl.program_id(0)
    m, j = row * 64 + tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, (row + 1) * 64, 64):
        k = i + j
        a = tl.load(c + m[:, None] * 256 + k[None, :])
        a = tl.where(m[:, None] >= k[None, :], a * 2, 0.0)
        acc = tl.dot(a.to(tl.float16), tl.load(x + k[:, None] * 64 + j[None, :]), acc)
    tl.store(o + m[:, None] * 64 + j[None, :], acc)
