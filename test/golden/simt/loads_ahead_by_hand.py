"""Operands that are loaded a trip ahead by hand run ahead as copies, as if they were loaded in their own trip."""
# RUN: tegula compile %s::walks --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --print-after load-in-own-trip -o /dev/null 2>&1 | FileCheck %s --check-prefix=OWN
# RUN: tegula compile %s::walks --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=COPIES
# RUN: tegula explain %s::walks --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula explain %s::stores --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_90a | FileCheck %s --check-prefix=STORES
import triton
import triton.language as tl


# The masks' scalar is carried; the addresses are carried anyway.
# OWN: scf.for
# OWN-NEXT: tt.splat %{{.*}} : i32
# OWN: tt.load
# OWN: tt.load
# OWN: tt.dot
# OWN-NOT: tt.load
# OWN: scf.yield

# COPIES: scf.for
# COPIES: simt.async_copy {{.*}}simt.width = 8
# COPIES: simt.async_copy {{.*}}simt.width = 8
# COPIES: simt.dot_async

# SAID-COUNT-2: an operand that was loaded a trip ahead is loaded in its own
# SAID: 2 loads run 2 trips ahead
@triton.jit
def walks(a, b, c, K):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    a_ptrs, b_ptrs = a + m[:, None] * K + k[None, :], b + k[:, None] * 64 + m[None, :]
    x, y = tl.load(a_ptrs, mask=k[None, :] < K, other=0.0), tl.load(b_ptrs, mask=k[:, None] < K, other=0.0)
    for i in range(32, K + 32, 32):
        a_ptrs += 32
        b_ptrs += 32 * 64
        next_x = tl.load(a_ptrs, mask=k[None, :] < K - i, other=0.0)
        next_y = tl.load(b_ptrs, mask=k[:, None] < K - i, other=0.0)
        acc = tl.dot(x, y, acc)
        x, y = next_x, next_y
    tl.store(c + m[:, None] * 64 + m[None, :], acc)


# STORES-NOT: loaded in its own
@triton.jit
def stores(a, b, c, K):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    for i in range(32, K + 32, 32):
        acc = tl.dot(x, tl.load(b + (i - 32 + k)[:, None] * 64 + m[None, :]), acc)
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        tl.store(c + m[:, None] * 64 + m[None, :], acc)


# Addresses and masks that are computed anew differ by scalars, which are 0 ahead of the loop.
# RUN: tegula explain %s::anew --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_90a | FileCheck %s --check-prefix=ANEW
# ANEW: loaded in its own
# ANEW: 2 loads run 2 trips ahead
@triton.jit
def anew(a, b, c, K):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
    for i in range(0, K, 32):
        y = tl.load(b + (i + k)[:, None] * 64 + m[None, :])
        acc = tl.dot(x, y, acc)
        x = tl.load(a + m[:, None] * K + (i + 32 + k)[None, :], mask=(i + 32 + k)[None, :] < K, other=0.0)
    tl.store(c + m[:, None] * 64 + m[None, :], acc)
