"""out = x + y for matrices of any strides, over a grid of two axes."""
import tegula as triton
import tegula.language as tl


@triton.jit
def add_2d_kernel(x_ptr, y_ptr, out_ptr, rows, columns,
                  x_row, x_column, y_row, y_column, out_row, out_column,
                  BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_column, mask=mask)
    y = tl.load(y_ptr + r[:, None] * y_row + c[None, :] * y_column, mask=mask)
    tl.store(out_ptr + r[:, None] * out_row + c[None, :] * out_column, x + y, mask=mask)


def add_2d(x, y, out, block_r=16, block_c=64):
    rows, columns = x.shape
    grid = (triton.cdiv(rows, block_r), triton.cdiv(columns, block_c))
    add_2d_kernel[grid](x, y, out, rows, columns, *x.stride(), *y.stride(), *out.stride(),
                        BLOCK_R=block_r, BLOCK_C=block_c)
    return out
