"""Layer normalisation of each row with scale and bias; keeps mean and 1/deviation for a backward pass."""
import tegula as triton
import tegula.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, rstd_ptr,
                     x_stride, out_stride, n_columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * x_stride
    out_ptr += row * out_stride

    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_columns

    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
        centred = tl.where(columns < n_columns, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)

    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=mask)
        bias = tl.load(bias_ptr + columns, mask=mask)
        tl.store(out_ptr + columns, (x - mean) * rstd * weight + bias, mask=mask)


def layernorm(x, weight, bias, out, mean, rstd, eps=1e-5, block=128, **options):
    rows, columns = x.shape
    layernorm_kernel[(rows,)](x, weight, bias, out, mean, rstd, x.stride(0), out.stride(0), columns, eps,
                              BLOCK=block, **options)
    return out
