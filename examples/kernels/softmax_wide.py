"""Softmax of rows that are wider than a tile, in three passes over the row: maximum, sum, result."""
import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_wide_kernel(out_ptr, in_ptr, out_stride, in_stride, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    in_ptr += row * in_stride
    out_ptr += row * out_stride

    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + columns, mask=columns < n_columns, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, x)
    row_max = tl.max(largest, axis=0)

    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + columns, mask=columns < n_columns, other=float("-inf")).to(tl.float32)
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=0)

    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        x = tl.load(in_ptr + columns, mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + columns, tl.exp(x - row_max) / row_sum, mask=mask)


def softmax_wide(x, out, block=256, **options):
    rows, columns = x.shape
    softmax_wide_kernel[(rows,)](out, x, out.stride(0), x.stride(0), columns, BLOCK=block,
                              **options)
    return out
