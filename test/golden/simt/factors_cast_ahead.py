"""Loads that factors are cast from run as far ahead as they were asked to where a program has a multiprocessor's registers for itself, and shared memory need not have room for two."""
# RUN: tegula compile %s::cast --signature 'a=*bf16:16,b=*f16:16,c=*f32:16,K=i32:16,BM=128,BN=256' --num-warps 8 --num-stages 3 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::cast --signature 'a=*bf16:16,b=*f16:16,c=*f32:16,K=i32:16,BM=64,BN=64' --num-warps 4 --num-stages 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TWO
import triton
import triton.language as tl

# CHECK-DAG: simt.alloc at {{[0-9]+}} : <128x64xbf16, {{.*}}, 3>
# CHECK-DAG: simt.alloc at {{[0-9]+}} : <64x256xf16, {{.*}}, 3>
# Two programs of small tiles share a multiprocessor.
# TWO: module attributes {simt.shared_bytes = {{[0-9]?[0-9]?[0-9][0-9][0-9]}} : i64


@triton.jit
def cast(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, 64)
    sum = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k)[:, None] * BN + n[None, :])
        sum = tl.dot(x, y.to(tl.bfloat16), sum)
    tl.store(c + m[:, None] * BN + n[None, :], sum)
