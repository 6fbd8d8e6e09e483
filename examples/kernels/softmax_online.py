"""Softmax of wide rows in two passes: maximum and sum together, rescaled as the maximum grows."""
import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_online_kernel(out_ptr, in_ptr, out_stride, in_stride, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    in_ptr += row * in_stride
    out_ptr += row * out_stride

    row_max = float("-inf")
    row_sum = 0.0
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + columns, mask=columns < n_columns, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        row_sum = row_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max

    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        x = tl.load(in_ptr + columns, mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + columns, tl.exp(x - row_max) / row_sum, mask=mask)


def softmax_online(x, out, block=256):
    rows, columns = x.shape
    softmax_online_kernel[(rows,)](out, x, out.stride(0), x.stride(0), columns, BLOCK=block)
    return out
