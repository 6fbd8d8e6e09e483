"""Softmax of each row, a row in one tile."""
import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, out_stride, in_stride, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(in_ptr + row * in_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_stride + columns, y, mask=mask)


def softmax(x, out, **options):
    rows, columns = x.shape
    softmax_kernel[(rows,)](out, x, out.stride(0), x.stride(0), columns,
                            BLOCK=triton.next_power_of_2(columns), **options)
    return out
