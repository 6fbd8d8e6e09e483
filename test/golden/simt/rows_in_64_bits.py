"""Rows of a trip in 64 bits: one address is computed, and what a thread copies of the other rows lies at constant distances
from it, which are immediates of the copies. Each row had an address of its own, computed in each trip."""
# RUN: tegula compile %s::state --signature 'w=*bf16:16,v=*bf16:16,o=*f32:16,n=i32:16' --options num_warps=2 --target sm_90a --emit ptx | FileCheck %s
import triton
import triton.language as tl


# The second ones stand in the loop; the addresses of those ahead of it are constants away from each other, too.
# CHECK: cp.async.wait_group
# CHECK: cp.async.cg.shared.global [%r[[SLOT:[0-9]+]]], [%rd[[ROW:[0-9]+]]], 16
# CHECK: cp.async.cg.shared.global [%r[[SLOT]]+1024], [%rd[[ROW]]+32768], 16
# CHECK: cp.async.cg.shared.global [%r[[SLOT]]+2048], [%rd[[ROW]]+65536], 16
# CHECK: cp.async.cg.shared.global [%r[[SLOT]]+7168], [%rd[[ROW]]+229376], 16
@triton.jit
def state(w, v, o, n):
    k, c = tl.arange(0, 64), tl.arange(0, 32)
    h = tl.zeros([64, 32], tl.float32)
    for i in range(0, n):
        t = i.to(tl.int64) * 64 + tl.arange(0, 64)
        b_w = tl.load(w + t[:, None] * 2048 + k[None, :], mask=t[:, None] < n * 60, other=0.0)
        b_v = tl.load(v + t[:, None] * 32 + c[None, :], mask=t[:, None] < n * 60, other=0.0)
        h += tl.dot(tl.trans(b_w), b_v)
    tl.store(o + k[:, None] * 32 + c[None, :], h)
