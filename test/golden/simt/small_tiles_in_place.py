"""A tile of fewer elements than threads that is read and stored in place: the thread that stores an element alone reads it, and nobody waits."""
# RUN: tegula compile %s::rotate --signature 'x=*bf16:16,cos=*bf16:16,sin=*bf16:16,stride=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::shift --signature 'x=*bf16:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SHIFT
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @rotate
# CHECK-NOT: simt.barrier
# CHECK-COUNT-2: tt.load {{.*}}simt.owned
# CHECK-NOT: simt.barrier
# CHECK: tt.return
@triton.jit
def rotate(x, cos, sin, stride):
    i = tl.arange(0, 64)
    x += tl.program_id(0) * stride
    c, s = tl.load(cos + i), tl.load(sin + i)
    left, right = tl.load(x + i), tl.load(x + i + 64)
    tl.store(x + i, left * c - right * s)
    tl.store(x + i + 64, right * c + left * s)


# Here the thread that stores an element waits for another one, which reads it.
# SHIFT-LABEL: tt.func @shift
# SHIFT: tt.load
# SHIFT: simt.barrier
# SHIFT: tt.store
@triton.jit
def shift(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.load(x + i + 1))
