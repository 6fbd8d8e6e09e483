"""Convolution of images as a product whose rows are gathered on the way; max and average pooling."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def conv2d_forward_kernel(input_pointer, weight_pointer, output_pointer, bias_pointer, in_n, input_height, input_width, out_c, out_height,
                          out_width, in_c, weight_height: tl.constexpr, weight_width: tl.constexpr, stride_height: tl.constexpr,
                          stride_width: tl.constexpr, padding_height: tl.constexpr, padding_width: tl.constexpr,
                          dilation: tl.constexpr, BLOCK_NI_HO_WO: tl.constexpr, BLOCK_CI: tl.constexpr, BLOCK_CO: tl.constexpr):
    pid_ni_ho_wo = tl.program_id(0)
    pid_co = tl.program_id(1)
    ni_ho_wo_offset = pid_ni_ho_wo * BLOCK_NI_HO_WO + tl.arange(0, BLOCK_NI_HO_WO)
    ni_ho_offset = ni_ho_wo_offset // out_width
    in_n_point_value = ni_ho_offset // out_height
    output_height_point_value = ni_ho_offset % out_height
    output_width_point_value = ni_ho_wo_offset % out_width
    output_c_offset = pid_co * BLOCK_CO + tl.arange(0, BLOCK_CO)

    accum = tl.zeros((BLOCK_NI_HO_WO, BLOCK_CO), dtype=tl.float32)
    BLOCK_CI_COUNT = (in_c + BLOCK_CI - 1) // BLOCK_CI
    for hwc in range(weight_height * weight_width * BLOCK_CI_COUNT):
        c = (hwc % BLOCK_CI_COUNT) * BLOCK_CI
        hw = hwc // BLOCK_CI_COUNT
        h = hw // weight_width
        w = hw % weight_width
        input_c_offset = c + tl.arange(0, BLOCK_CI)
        input_height_offset = h * dilation - padding_height + stride_height * output_height_point_value
        input_width_offset = w * dilation - padding_width + stride_width * output_width_point_value
        curr_input_pointer = (input_pointer + ((in_n_point_value * in_c)[:, None] + input_c_offset[None, :]) * input_height * input_width +
                              (input_height_offset * input_width + input_width_offset)[:, None])
        curr_weight_pointer = (weight_pointer + (output_c_offset[None, :] * in_c + input_c_offset[:, None]) * weight_height * weight_width +
                               h * weight_width + w)
        input_mask = ((in_n_point_value < in_n)[:, None] & (input_c_offset < in_c)[None, :] & (0 <= input_height_offset)[:, None] &
                      (input_height_offset < input_height)[:, None] & (0 <= input_width_offset)[:, None] &
                      (input_width_offset < input_width)[:, None])
        weight_mask = (input_c_offset < in_c)[:, None] & (output_c_offset < out_c)[None, :]
        input_block = tl.load(curr_input_pointer, mask=input_mask)
        weight_block = tl.load(curr_weight_pointer, mask=weight_mask)
        accum += tl.dot(input_block, weight_block, allow_tf32=False)
    bias = tl.load(bias_pointer + output_c_offset, mask=output_c_offset < out_c)
    accum += bias[None, :].to(tl.float32)
    output_pointer += ((in_n_point_value[:, None] * out_c + output_c_offset[None, :]) * out_height +
                       output_height_point_value[:, None]) * out_width + output_width_point_value[:, None]
    output_mask = (in_n_point_value < in_n)[:, None] & (output_c_offset < out_c)[None, :]
    tl.store(output_pointer, accum, mask=output_mask)


def conv2d(x, w, b, stride, padding, dilation):
    n, ci, h, wd = x.shape
    co, _, kh, kw = w.shape
    ho = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    wo = (wd + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    out = torch.empty(n, co, ho, wo, dtype=x.dtype, device=x.device)
    grid = lambda META: (triton.cdiv(n * ho * wo, META["BLOCK_NI_HO_WO"]), triton.cdiv(co, META["BLOCK_CO"]))
    conv2d_forward_kernel[grid](x, w, out, b, n, h, wd, co, ho, wo, ci, kh, kw, stride, stride, padding, padding, dilation,
                                BLOCK_NI_HO_WO=32, BLOCK_CI=16, BLOCK_CO=16)
    return out


@triton.jit
def pool2d_kernel(x_ptr, out_ptr, index_ptr, H, W, HO, WO, KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
                  PH: tl.constexpr, PW: tl.constexpr, IS_MAX: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = o < HO * WO
    oh, ow = o // WO, o % WO
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    where = tl.full((BLOCK,), -1, tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(0, KH):
        for j in tl.static_range(0, KW):
            h, w = oh * SH - PH + i, ow * SW - PW + j
            ok = inside & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            v = tl.load(x_ptr + plane * H * W + h * W + w, mask=ok, other=float("-inf") if IS_MAX else 0.0)
            if IS_MAX:
                better = v > best
                best = tl.where(better, v, best)
                where = tl.where(better, h * W + w, where)
            else:
                total += v
    if IS_MAX:
        tl.store(out_ptr + plane * HO * WO + o, best, mask=inside)
        tl.store(index_ptr + plane * HO * WO + o, where, mask=inside)
    else:
        tl.store(out_ptr + plane * HO * WO + o, total / (KH * KW), mask=inside)


def check_convolution(device):
    for stride, padding, dilation in ((1, 1, 1), (2, 0, 1), (1, 2, 2)):
        x, w, b = normal(2, 5, 9, 11, device=device), normal(7, 5, 3, 3, device=device, seed=1), normal(7, device=device, seed=2)
        close(conv2d(x, w, b, stride, padding, dilation), torch.nn.functional.conv2d(wide(x), wide(w), wide(b), stride, padding, dilation), error=2e-6)


def check_pooling(device):
    x = normal(2, 3, 9, 10, device=device)
    ho, wo = 5, 5
    for is_max in (True, False):
        out, index = torch.empty(2, 3, ho, wo, device=device), torch.empty(2, 3, ho, wo, dtype=torch.int64, device=device)
        pool2d_kernel[(6, 1)](x, out, index, 9, 10, ho, wo, 3, 3, SH=2, SW=2, PH=1, PW=1, IS_MAX=is_max, BLOCK=32)
        if is_max:
            value, place = torch.nn.functional.max_pool2d(wide(x), 3, 2, 1, return_indices=True)
            close(out, value, error=0)
            assert torch.equal(index.cpu(), place)
        else:
            close(out, torch.nn.functional.avg_pool2d(wide(x), 3, 2, 1), error=1e-6)
