"""All pairs: Euclidean distances by broadcasting and by products, nearest centres, overlaps of boxes and suppression."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def cdist_kernel(x_ptr, y_ptr, out_ptr, M, N, D, P: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, D, BD):
        d = start + tl.arange(0, BD)
        x = tl.load(x_ptr + m[:, None] * D + d[None, :], mask=(m[:, None] < M) & (d[None, :] < D), other=0.0)
        y = tl.load(y_ptr + n[:, None] * D + d[None, :], mask=(n[:, None] < N) & (d[None, :] < D), other=0.0)
        diff = tl.abs(x[:, None, :] - y[None, :, :])
        if P == 1:
            acc += tl.sum(diff, axis=2)
        elif P == 2:
            acc += tl.sum(diff * diff, axis=-1)
        else:
            acc = tl.maximum(acc, tl.max(diff, axis=2))
    if P == 2:
        acc = tl.sqrt(acc)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def assign_kernel(x_ptr, centre_ptr, label_ptr, dist_ptr, M, K: tl.constexpr, D: tl.constexpr, BM: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < M, other=0.0)
    c = tl.load(centre_ptr + k[:, None] * D + d[None, :])
    xc = tl.dot(x, tl.trans(c), input_precision="ieee")
    dist = tl.sum(x * x, 1)[:, None] - 2 * xc + tl.sum(c * c, 1)[None, :]
    best, label = tl.min(dist, axis=1, return_indices=True)
    tl.store(label_ptr + m, label, mask=m < M)
    tl.store(dist_ptr + m, best, mask=m < M)


@triton.jit
def iou(ax0, ay0, ax1, ay1, bx0, by0, bx1, by1):
    w = tl.maximum(tl.minimum(ax1, bx1) - tl.maximum(ax0, bx0), 0.0)
    h = tl.maximum(tl.minimum(ay1, by1) - tl.maximum(ay0, by0), 0.0)
    inter = w * h
    return inter / ((ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - inter)


@triton.jit
def suppress_kernel(boxes, kept, n, threshold, N: tl.constexpr):
    """Boxes are sorted by score; one program goes from the best to the worst."""
    i = tl.arange(0, N)
    inside = i < n
    x0 = tl.load(boxes + i * 4, inside, 0.0)
    y0 = tl.load(boxes + i * 4 + 1, inside, 0.0)
    x1 = tl.load(boxes + i * 4 + 2, inside, 0.0)
    y1 = tl.load(boxes + i * 4 + 3, inside, 0.0)
    alive = inside
    for k in range(n):
        is_alive = tl.max((alive & (i == k)).to(tl.int32), axis=0)
        if is_alive != 0:
            b = boxes + k * 4
            over = iou(x0, y0, x1, y1, tl.load(b), tl.load(b + 1), tl.load(b + 2), tl.load(b + 3)) > threshold
            alive = alive & ~(over & (i > k))
    tl.store(kept + i, alive, inside)


def check_distances(device):
    x, y = normal(20, 11, device=device), normal(13, 11, device=device, seed=1)
    for p in (1, 2, float("inf")):
        out = torch.empty(20, 13, device=device)
        cdist_kernel[(3, 2)](x, y, out, 20, 13, 11, P=p if p < 3 else 3, BM=8, BN=8, BD=4)
        close(out, torch.cdist(wide(x), wide(y), p), error=1e-6)


def check_nearest(device):
    x, centres = normal(50, 16, device=device), normal(16, 16, device=device, seed=1)
    label, dist = torch.empty(50, dtype=torch.int32, device=device), torch.empty(50, device=device)
    assign_kernel[(4,)](x, centres, label, dist, 50, K=16, D=16, BM=16)
    best = torch.cdist(wide(x), wide(centres)).pow(2).min(1)
    same(label, best.indices)
    close(dist, best.values, error=3e-6)


def check_suppression(device):
    at = integers(0, 40, (25, 2), device=device).float()
    boxes = torch.cat([at, at + integers(5, 25, (25, 2), device=device, seed=1)], 1).contiguous()
    kept = torch.zeros(25, dtype=torch.bool, device=device)
    suppress_kernel[(1,)](boxes, kept, 25, 0.31, N=32)
    b, alive = wide(boxes), [True] * 25
    for k in range(25):
        for j in range(k + 1, 25):
            if alive[k] and alive[j]:
                w, h = ((torch.minimum(b[k, 2:], b[j, 2:]) - torch.maximum(b[k, :2], b[j, :2])).clamp(min=0)).tolist()
                areas = [((q[2] - q[0]) * (q[3] - q[1])).item() for q in (b[k], b[j])]
                alive[j] = w * h / (sum(areas) - w * h) <= 0.31
    assert kept.tolist() == alive
