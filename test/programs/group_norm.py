"""Group and instance normalization of images, with statistics by Welford over tiles of two dimensions."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def combine_welford(m2_1, mean_1, n_1, m2_2, mean_2, n_2):
    n = n_1 + n_2
    delta = mean_2 - mean_1
    f = tl.where(n > 0, n_2 / tl.where(n > 0, n, 1), 0)
    return m2_1 + m2_2 + delta * delta * n_1 * f, mean_1 + delta * f, n


@triton.heuristics(values={"BLOCK_HW": lambda nargs: triton.next_power_of_2(nargs["hw"])})
@triton.jit
def group_norm_forward_kernel(input_ptr, skip_ptr, gamma_ptr, beta_ptr, output_ptr, mean_ptr, rstd_ptr, c, hw, num_groups, eps,
                              C_G: tl.constexpr, GROUP_SIZE: tl.constexpr, BLOCK_HW: tl.constexpr, HAS_AFFINE: tl.constexpr):
    group = tl.program_id(0)
    pid_batch = tl.program_id(1)
    channels = tl.arange(0, GROUP_SIZE)
    inside_c = channels < C_G
    cols = tl.arange(0, BLOCK_HW)
    at = (pid_batch * c + group * C_G + channels)[:, None] * hw + cols[None, :]
    mask = inside_c[:, None] & (cols < hw)[None, :]
    x = tl.load(input_ptr + at, mask=mask, other=0.0).to(tl.float32)
    if skip_ptr is not None:
        x += tl.load(skip_ptr + at, mask=mask, other=0.0)
    one = mask.to(tl.float32)
    m2, mean, n = tl.reduce((tl.zeros_like(x), x, one), axis=1, combine_fn=combine_welford)
    m2, mean, n = tl.reduce((m2, mean, n), 0, combine_welford)
    rstd = tl.rsqrt(m2 / (C_G * hw) + eps)
    y = (x - mean) * rstd
    if HAS_AFFINE:
        gamma = tl.load(gamma_ptr + group * C_G + channels, mask=inside_c)
        beta = tl.load(beta_ptr + group * C_G + channels, mask=inside_c, other=0.0)
        y = y * gamma[:, None] + beta[:, None]
    tl.store(output_ptr + at, y, mask=mask)
    tl.store(mean_ptr + pid_batch * num_groups + group, mean)
    tl.store(rstd_ptr + pid_batch * num_groups + group, rstd)


def group_norm(x, groups, gamma=None, beta=None, skip=None, eps=1e-5):
    n, c, h, w = x.shape
    out = torch.empty_like(x)
    mean, rstd = torch.empty(n, groups, device=x.device), torch.empty(n, groups, device=x.device)
    group_norm_forward_kernel[(groups, n)](x, skip, gamma, beta, out, mean, rstd, c, h * w, groups, eps, C_G=c // groups,
                                           GROUP_SIZE=triton.next_power_of_2(c // groups), HAS_AFFINE=gamma is not None)
    return out, mean, rstd


def check_affine(device):
    x, gamma, beta = normal(2, 6, 5, 7, device=device), normal(6, device=device, seed=1), normal(6, device=device, seed=2)
    for groups in (1, 2, 6):
        out, mean, _ = group_norm(x, groups, gamma, beta)
        close(out, torch.nn.functional.group_norm(wide(x), groups, wide(gamma), wide(beta)), error=2e-6)
        close(mean, wide(x).reshape(2, groups, -1).mean(-1), error=1e-6)


def check_residual(device):
    x, skip = normal(1, 4, 6, 6, device=device, dtype=torch.float16), normal(1, 4, 6, 6, device=device, dtype=torch.float16, seed=1)
    out, _, _ = group_norm(x, 2, skip=skip)
    close(out, torch.nn.functional.group_norm(wide(x) + wide(skip), 2), error=2e-3)
