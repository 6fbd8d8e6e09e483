"""A transformer block's tail in one kernel: h = x + residual, LayerNorm(h), dropout. Keeps h."""
import tegula as triton
import tegula.language as tl


@triton.jit
def residual_layernorm_dropout_kernel(x_ptr, residual_ptr, weight_ptr, bias_ptr, sum_ptr, out_ptr,
                                      n_columns, eps, p, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    offsets = row * n_columns + columns

    h = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    h += tl.load(residual_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(sum_ptr + offsets, h, mask=mask)

    mean = tl.sum(h, axis=0) / n_columns
    centred = tl.where(mask, h - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_columns
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    y = centred * tl.rsqrt(variance + eps) * weight + bias

    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, y / (1 - p), 0.0), mask=mask)


def residual_layernorm_dropout(x, residual, weight, bias, h, out, p, seed, eps=1e-5, **options):
    """All matrices are contiguous."""
    rows, columns = x.shape
    residual_layernorm_dropout_kernel[(rows,)](x, residual, weight, bias, h, out, columns, eps, p, seed,
                                               BLOCK=triton.next_power_of_2(columns), **options)
    return out
