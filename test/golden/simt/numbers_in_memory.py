"""Strides and bounds that a kernel loads from memory: where they are multiples of 16 bytes, tiles are copied in wide accesses, in a loop of their own."""
# RUN: tegula compile %s::listed --signature 'a=*f16:16,b=*f16:16,c=*f32:16,numbers=*i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula explain %s::listed --signature 'a=*f16:16,b=*f16:16,c=*f32:16,numbers=*i32:16' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::promised --signature 'a=*f16:16,b=*f16:16,c=*f32:16,numbers=*i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::listed --signature 'a=*f16,b=*f16,c=*f32:16,numbers=*i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# The number of rows does not matter.
# SAID: numbers_in_memory.py:28:{{.*}}has a version for multiples of 8
# SAID: numbers_in_memory.py:27:{{.*}}has a version for multiples of 8
# SAID-NOT: has a version

# CHECK-LABEL: tt.func @listed
# CHECK: scf.if
# CHECK: scf.for
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: } else {
# CHECK: scf.for

# ONE-NOT: scf.if
@triton.jit
def listed(a, b, c, numbers):
    rows = tl.load(numbers)
    stride = tl.load(numbers + 1)
    K = tl.load(numbers + 2)
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * stride + (start + k)[None, :], mask=(i[:, None] < rows) & (start + k < K)[None, :], other=0.0)
        y = tl.load(b + (start + k)[:, None] * 64 + i[None, :], mask=(start + k < K)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)


@triton.jit
def promised(a, b, c, numbers):
    stride = tl.multiple_of(tl.load(numbers), 16)
    K = tl.multiple_of(tl.load(numbers + 2), 16)
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * stride + (start + k)[None, :], mask=(start + k < K)[None, :], other=0.0)
        y = tl.load(b + (start + k)[:, None] * 64 + i[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)
