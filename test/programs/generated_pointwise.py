"""Kernels as torch.compile writes them: pointwise, a persistent reduction, a looped reduction by Welford's method."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from beside import close, normal, wide


@triton.jit
def triton_poi_fused_gelu_add_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xnumel = 300
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x2 = xindex
    x0 = (xindex % 30)
    x1 = xindex // 30
    tmp0 = tl.load(in_ptr0 + (x2), xmask)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy='evict_last')
    tmp2 = tmp0 + tmp1
    tmp3 = 0.5
    tmp4 = tmp2 * tmp3
    tmp5 = 0.7071067811865476
    tmp6 = tmp2 * tmp5
    tmp7 = libdevice.erf(tmp6)
    tmp8 = 1.0
    tmp9 = tmp7 + tmp8
    tmp10 = tmp4 * tmp9
    tmp11 = x1
    tmp12 = tl.full([1], 5, tl.int64)
    tmp13 = tmp11 < tmp12
    tmp14 = tl.where(tmp13, tmp10, -tmp10)
    tl.store(out_ptr0 + (x2), tmp14, xmask)


@triton.jit
def triton_per_fused_softmax_1(in_ptr0, out_ptr2, xnumel, r0_numel, XBLOCK: tl.constexpr):
    r0_numel = 77
    R0_BLOCK: tl.constexpr = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = r0_index < r0_numel
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_1 + 77 * x0), r0_mask & xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(r0_mask & xmask, tmp1, float("-inf"))
    tmp4 = tl.max(tmp3, 1)[:, None]
    tmp5 = tmp0 - tmp4
    tmp6 = libdevice.exp(tmp5)
    tmp7 = tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK])
    tmp9 = tl.where(r0_mask & xmask, tmp7, 0)
    tmp10 = tl.sum(tmp9, 1)[:, None].to(tl.float32)
    tmp11 = (tmp6 / tmp10)
    tl.store(out_ptr2 + (r0_1 + 77 * x0), tmp11, r0_mask & xmask)


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    new_weight = weight_1 + weight_2
    w2_over_w = tl.where(new_weight == 0.0, 0.0, weight_2 / new_weight)
    return (mean_1 + delta * w2_over_w, m2_1 + m2_2 + delta * delta * weight_1 * w2_over_w, new_weight)


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    if first_iteration:
        new_weight = tl.full(weight.shape, 1, weight.dtype)
        new_mean = value
        new_m2 = tl.zeros_like(m2)
    else:
        delta = value - mean
        new_weight = weight + 1
        new_mean = mean + delta / new_weight
        new_m2 = m2 + delta * (value - new_mean)
    return new_mean, new_m2, new_weight


@triton.jit
def triton_red_fused_native_layer_norm_2(in_ptr0, out_ptr0, out_ptr1, out_ptr2, xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = xindex
    tmp2_mean = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    tmp2_m2 = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    tmp2_weight = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, eviction_policy='evict_last', other=0.0)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp2_mean_next, tmp2_m2_next, tmp2_weight_next = welford_reduce(tmp1, tmp2_mean, tmp2_m2, tmp2_weight, False)
        tmp2_mean = tl.where(r0_mask & xmask, tmp2_mean_next, tmp2_mean)
        tmp2_m2 = tl.where(r0_mask & xmask, tmp2_m2_next, tmp2_m2)
        tmp2_weight = tl.where(r0_mask & xmask, tmp2_weight_next, tmp2_weight)
    tmp3, tmp4, tmp5 = tl.reduce((tmp2_mean, tmp2_m2, tmp2_weight), 1, welford_combine)
    tmp2 = tmp3[:, None]
    tmp6 = tmp4[:, None]
    tmp7 = tmp5[:, None]
    tl.store(out_ptr0 + (x0), tmp2, xmask)
    tmp8 = tmp6 / r0_numel
    tmp9 = 1e-05
    tmp10 = tmp8 + tmp9
    tmp11 = libdevice.rsqrt(tmp10)
    tl.store(out_ptr1 + (x0), tmp11, xmask)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp12 = tl.load(in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, eviction_policy='evict_first', other=0.0)
        tmp14 = (tmp12 - tmp2) * tmp11
        tl.store(out_ptr2 + (r0_index + r0_numel * x0), tmp14, r0_mask & xmask)


def check_pointwise(device):
    x, b = normal(10, 30, device=device), normal(30, device=device, seed=1)
    out = torch.empty_like(x)
    triton_poi_fused_gelu_add_0[(3,)](x, b, out, 300, XBLOCK=128, num_warps=4, num_stages=1)
    y = torch.nn.functional.gelu(wide(x) + wide(b))
    close(out, torch.where(torch.arange(10)[:, None] < 5, y, -y), error=1e-6)


def check_persistent_reduction(device):
    x = normal(9, 77, device=device, scale=4)
    out = torch.empty_like(x)
    triton_per_fused_softmax_1[(5,)](x, out, 9, 77, XBLOCK=2, num_warps=2)
    close(out, torch.softmax(wide(x), 1), error=1e-6)


def check_welford(device):
    x = normal(6, 150, device=device) * 3 + 100
    mean, rstd, y = torch.empty(6, device=device), torch.empty(6, device=device), torch.empty_like(x)
    triton_red_fused_native_layer_norm_2[(3,)](x, mean, rstd, y, 6, 150, XBLOCK=2, R0_BLOCK=32)
    close(mean, wide(x).mean(1), error=1e-6)
    close(y, torch.nn.functional.layer_norm(wide(x), (150,)), error=2e-5)
