"""Cross entropy over a vocabulary: the loss and, in place of the logits, their gradient. Ignored targets, label
smoothing, a z-loss and a soft cap, each chosen when the kernel is compiled."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def cross_entropy_kernel(X_ptr, X_stride, Y_ptr, Y_stride, loss_ptr, z_loss_ptr, loss_stride, n_cols, n_non_ignore, ignore_index,
                         lse_square_scale: tl.constexpr, label_smoothing: tl.constexpr, reduction: tl.constexpr, softcap,
                         RETURN_Z_LOSS: tl.constexpr, BLOCK_SIZE: tl.constexpr, HAS_SOFTCAPPING: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    Y_ptr += program_id * Y_stride
    y = tl.load(Y_ptr)
    X_ptr += program_id * X_stride

    if y == ignore_index:
        for i in range(0, n_cols, BLOCK_SIZE):
            X_offsets = i + tl.arange(0, BLOCK_SIZE)
            tl.store(X_ptr + X_offsets, 0.0, mask=X_offsets < n_cols)
        return

    loss_ptr += program_id * loss_stride
    if RETURN_Z_LOSS:
        z_loss_ptr += program_id * loss_stride

    m = float("-inf")
    d = 0.0
    ori_X_y = tl.load(X_ptr + y).cast(tl.float32)
    if HAS_SOFTCAPPING:
        ori_X_y = softcap * tanh(ori_X_y / softcap)

    scaled_x_sum = 0.0
    eps = label_smoothing / n_cols
    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf")).cast(tl.float32)
        if HAS_SOFTCAPPING:
            X_block = softcap * tanh(X_block / softcap)
        block_max = tl.max(X_block)
        if label_smoothing > 0:
            scaled_x_sum += tl.sum(tl.where(X_offsets < n_cols, -eps * X_block, 0.0))
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.where(X_offsets < n_cols, tl.exp(X_block - m_new), 0.0))
        m = m_new
    lse = m + tl.log(d)

    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf")).cast(tl.float32)
        if HAS_SOFTCAPPING:
            intermediate = tanh(X_block / softcap)
            X_block = softcap * intermediate
        X_block = tl.exp(X_block - m) / d
        X_block += 2 * lse_square_scale * lse * X_block
        X_block += -eps
        X_block = tl.where(X_offsets != y, X_block, X_block - (1 - label_smoothing))
        if reduction == "mean":
            X_block = X_block / n_non_ignore
        if HAS_SOFTCAPPING:
            X_block = X_block * (1 - intermediate * intermediate)
        tl.store(X_ptr + X_offsets, X_block, mask=X_offsets < n_cols)

    # all gradients must be written before X[y] is read by another program's neighbour
    tl.debug_barrier()
    loss = lse - ori_X_y
    if label_smoothing > 0:
        smooth_loss = scaled_x_sum + label_smoothing * lse
        loss = loss * (1 - label_smoothing) + smooth_loss
    z_loss = lse_square_scale * lse * lse
    loss += z_loss
    if reduction == "mean":
        z_loss = z_loss / n_non_ignore
        loss = loss / n_non_ignore
    tl.store(loss_ptr, loss)
    if RETURN_Z_LOSS:
        tl.store(z_loss_ptr, z_loss)


def cross_entropy(logits, target, ignore_index=-100, lse_square_scale=0.0, label_smoothing=0.0, reduction="mean", softcap=None,
                  return_z_loss=False):
    BT, V = logits.shape
    loss_1d = torch.zeros(BT, dtype=torch.float32, device=logits.device)
    z_loss_1d = torch.zeros(BT, dtype=torch.float32, device=logits.device) if return_z_loss else None
    n_non_ignore = (target != ignore_index).sum().item()
    cross_entropy_kernel[(BT,)](X_ptr=logits, X_stride=logits.stride(-2), Y_ptr=target, Y_stride=target.stride(-1), loss_ptr=loss_1d,
                                z_loss_ptr=z_loss_1d, loss_stride=loss_1d.stride(-1), n_cols=V, n_non_ignore=n_non_ignore,
                                ignore_index=ignore_index, lse_square_scale=lse_square_scale, label_smoothing=label_smoothing,
                                reduction=reduction, softcap=softcap, RETURN_Z_LOSS=return_z_loss,
                                HAS_SOFTCAPPING=softcap is not None, BLOCK_SIZE=min(128, triton.next_power_of_2(V)), num_warps=4)
    return loss_1d.sum(), z_loss_1d.sum() if return_z_loss else None, logits


def reference(logits, target, ignore_index, scale, smoothing, softcap):
    x = softcap * torch.tanh(logits / softcap) if softcap is not None else logits
    loss = torch.nn.functional.cross_entropy(x, target, ignore_index=ignore_index, label_smoothing=smoothing)
    kept = target != ignore_index
    return loss + scale * (torch.logsumexp(x, -1)[kept]**2).sum() / kept.sum()


def compare(device, dtype=torch.float32, **options):
    target = torch.randint(0, 211, (9,), generator=torch.Generator().manual_seed(3))
    target[[2, 7]] = -100
    logits = normal(9, 211, device=device, dtype=dtype, scale=3.0)
    x = wide(logits).requires_grad_()
    expected = reference(x, target, -100, options.get("lse_square_scale", 0.0), options.get("label_smoothing", 0.0),
                         options.get("softcap"))
    expected.backward()
    loss, _, gradient = cross_entropy(logits, target.to(device), **options)
    close(loss, expected, error=4e-6)
    close(gradient, x.grad, error=1e-6 if dtype == torch.float32 else 1e-3)


def check_plain(device):
    compare(device)
    compare(device, torch.bfloat16)


def check_all_options(device):
    compare(device, lse_square_scale=1e-3, label_smoothing=0.1, softcap=20.0, return_z_loss=True)
