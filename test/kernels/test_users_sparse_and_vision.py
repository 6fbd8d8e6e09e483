"""Kernels on sparse data and on images as their users write them."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


def normal(*shape, seed=0, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def close(actual, expected, tolerance):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance)


def sparse_mask(rows, columns, density, seed):
    return torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) < density


# --- rows of a sparse matrix: product with a dense one, and the products that it keeps ---------


@triton.jit
def sparse_product_kernel(indptr, indices, values, dense, out, columns, stride_d, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr):
    row, n = tl.program_id(0), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    start, stop = tl.load(indptr + row), tl.load(indptr + row + 1)
    acc = tl.zeros([BLOCK_N], dtype=out.dtype.element_ty)
    while start < stop:
        k = start + tl.arange(0, BLOCK_K)
        column = tl.load(indices + k, mask=k < stop, other=0)
        value = tl.load(values + k, mask=k < stop, other=0)
        tile = tl.load(dense + column[:, None] * stride_d + n[None, :], mask=(k < stop)[:, None] & (n < columns)[None, :], other=0)
        acc += tl.sum(value[:, None] * tile, axis=0)
        start += BLOCK_K
    tl.store(out + row * columns + n, acc, mask=n < columns)


@pytest.mark.parametrize("dtype, index", [(torch.float64, torch.int64), (torch.float32, torch.int32)], ids=str)
@pytest.mark.parametrize("density", [0.0, 0.4])
def test_sparse_times_dense(target, dtype, index, density):
    a = normal(9, 33, seed=1, dtype=dtype) * sparse_mask(9, 33, density, 2)
    csr, dense = a.to_sparse_csr(), normal(33, 60, seed=3, dtype=dtype)[:, 5:45]
    out = torch.full((9, 40), float("nan"), dtype=dtype)
    sparse_product_kernel[(9, triton.cdiv(40, 32))](csr.crow_indices().to(index), csr.col_indices().to(index), csr.values(), dense, out, 40,
                                                    dense.stride(0), BLOCK_K=8, BLOCK_N=32)
    close(out, a.double() @ dense.double(), 1e-5)


@triton.jit
def kept_products_kernel(a, b, rows, columns, out, count, K, BLOCK_E: tl.constexpr, BLOCK_K: tl.constexpr):
    e = tl.program_id(0) * BLOCK_E + tl.arange(0, BLOCK_E)
    i, j = tl.load(rows + e, e < count, 0), tl.load(columns + e, e < count, 0)
    acc = tl.zeros((BLOCK_E,), tl.float32)
    for k0 in tl.range(0, K, BLOCK_K, num_stages=3):
        k = k0 + tl.arange(0, BLOCK_K)
        on = (e < count)[:, None] & (k < K)[None, :]
        x = tl.load(a + i[:, None] * K + k[None, :], on, 0.0)
        y = tl.load(b + j[:, None] * K + k[None, :], on, 0.0)
        acc += tl.sum(x.to(tl.float32) * y.to(tl.float32), 1)
    tl.store(out + e, acc, e < count)


@triton.jit
def segment_softmax_kernel(x, starts, out, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    start, stop = tl.load(starts + segment), tl.load(starts + segment + 1)
    if start == stop:
        return
    peak, total = float("-inf"), 0.0
    for at in range(start, stop, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < stop, other=float("-inf"))
        new = tl.maximum(peak, tl.max(v, 0))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(v - new), 0)
        peak = new
    for at in range(start, stop, BLOCK):
        i = at + tl.arange(0, BLOCK)
        tl.store(out + i, tl.exp(tl.load(x + i, mask=i < stop) - peak) / total, mask=i < stop)


def test_attention_along_edges(target):
    nodes, K = 12, 20
    edges = sparse_mask(nodes, nodes, 0.4, 1)
    edges[5] = False
    rows, columns = (index.int() for index in edges.nonzero(as_tuple=True))
    starts = torch.nn.functional.pad(edges.sum(1).cumsum(0), (1, 0)).int()
    a, b = normal(nodes, K, seed=2, dtype=torch.bfloat16), normal(nodes, K, seed=3, dtype=torch.float16)
    count = len(rows)
    scores, weights = torch.full((count,), float("nan")), torch.full((count,), float("nan"))
    kept_products_kernel[(triton.cdiv(count, 16),)](a, b, rows, columns, scores, count, K, BLOCK_E=16, BLOCK_K=16)
    segment_softmax_kernel[(nodes,)](scores, starts, weights, BLOCK=4)
    full = (a.double() @ b.double().T).masked_fill(~edges, float("-inf"))
    close(scores, full[edges], 1e-5)
    close(weights, full.softmax(-1)[edges], 1e-5)


# --- blocks of a sparse matrix, with the table of blocks made by a kernel ----------------------


@triton.jit
def block_sparse_kernel(values, column_of, row_starts, b, c, N, stride_bk, stride_bn, BLOCK: tl.constexpr, BLOCK_N: tl.constexpr,
                        dtype: tl.constexpr):
    row, pid_n = tl.program_id(0), tl.program_id(1)
    i, n = tl.arange(0, BLOCK), pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    start, stop = tl.load(row_starts + row), tl.load(row_starts + row + 1)
    a_ptrs = values + start * BLOCK * BLOCK + i[:, None] * BLOCK + i[None, :]
    acc = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float32)
    for at in range(start, stop):
        k = tl.load(column_of + at) * BLOCK + i
        tile = tl.load(b + k[:, None] * stride_bk + n[None, :] * stride_bn, mask=(n < N)[None, :], other=0.0)
        acc = tl.dot(tl.load(a_ptrs).to(dtype), tile.to(dtype), acc=acc)
        a_ptrs += BLOCK * BLOCK
    tl.store(c + (row * BLOCK + i)[:, None] * N + n[None, :], acc, mask=(n < N)[None, :])


@pytest.mark.parametrize("stages", [1, 3])
def test_block_sparse_times_dense(target, stages):
    block, rows, columns, N = 16, 3, 5, 40
    kept = sparse_mask(rows, columns, 0.5, 4)
    kept[1] = False
    blocks = normal(rows, columns, block, block, seed=1, dtype=torch.float16)
    column_of = kept.nonzero()[:, 1].int()
    starts = torch.nn.functional.pad(kept.sum(1).cumsum(0), (1, 0)).int()
    b, c = normal(N, columns * block, seed=2, dtype=torch.float16).T, torch.full((rows * block, N), float("nan"))
    block_sparse_kernel[(rows, triton.cdiv(N, 32))](blocks[kept], column_of, starts, b, c, N, *b.stride(), BLOCK=block, BLOCK_N=32,
                                                    dtype=tl.float16, num_stages=stages)
    a = (blocks * kept[..., None, None]).permute(0, 2, 1, 3).reshape(rows * block, columns * block)
    close(c, a.double() @ b.double(), 2e-3)


# --- bags and rows of many lengths -------------------------------------------------------------

POOLING = tl.constexpr({"sum": 0, "mean": 1, "max": 2})


@triton.jit
def bag_kernel(table, indices, offsets, weights, out, count, bags, DIM: tl.constexpr, BLOCK: tl.constexpr, MODE: tl.constexpr):
    bag, d = tl.program_id(0), tl.arange(0, BLOCK)
    start = tl.load(offsets + bag)
    stop = tl.load(offsets + bag + 1, mask=bag + 1 < bags, other=count)
    acc = tl.full([BLOCK], float("-inf") if POOLING[MODE] == 2 else 0.0, tl.float32)
    for i in range(start, stop):
        row = tl.load(table + tl.load(indices + i) * DIM + d, mask=d < DIM, other=0.0).to(tl.float32)
        if weights is not None:
            row *= tl.load(weights + i)
        if POOLING[MODE] == 2:
            acc = tl.maximum(acc, row)
        else:
            acc += row
    if POOLING[MODE] == 1:
        acc /= max(stop - start, 1)
    tl.store(out + bag * DIM + d, tl.where(stop > start, acc, 0.0), mask=d < DIM)


@pytest.mark.parametrize("mode, weighted", [("sum", True), ("mean", False), ("max", False)])
def test_bags_of_embeddings(target, mode, weighted):
    table, indices = normal(19, 12, seed=1, dtype=torch.bfloat16), torch.randint(0, 19, (11,), generator=torch.Generator().manual_seed(2))
    offsets, weights = torch.tensor([0, 3, 3, 7]), torch.rand(11) if weighted else None
    out = torch.full((4, 12), float("nan"))
    bag_kernel[(4,)](table, indices, offsets, weights, out, 11, 4, DIM=12, BLOCK=16, MODE=mode)
    expected = torch.nn.functional.embedding_bag(indices, table.double(), offsets, mode=mode,
                                                 per_sample_weights=None if weights is None else weights.double())
    close(out, expected, 1e-5)


@triton.jit
def padded_kernel(values, starts, out, lengths, most, D, padding, BLOCK_L: tl.constexpr, BLOCK_D: tl.constexpr, BACK: tl.constexpr):
    batch = tl.program_id(0)
    i, d = tl.program_id(1) * BLOCK_L + tl.arange(0, BLOCK_L), tl.arange(0, BLOCK_D)
    start = tl.load(starts + batch)
    length = tl.minimum(tl.load(starts + batch + 1) - start, most)
    jagged = values + (start + i)[:, None] * D + d[None, :]
    dense = out + (batch * most + i)[:, None] * D + d[None, :]
    has = (i < length)[:, None] & (d < D)[None, :]
    if BACK:
        tl.store(jagged, tl.load(dense, mask=has), mask=has)
    else:
        tl.store(dense, tl.load(jagged, mask=has, other=padding), mask=(i < most)[:, None] & (d < D)[None, :])
        if tl.program_id(1) == 0:
            tl.store(lengths + batch, length)


@pytest.mark.parametrize("dtype, padding", [(torch.int8, -3), (torch.bool, False), (torch.float16, 0.5)], ids=str)
def test_jagged_rows_to_padded_and_back(target, dtype, padding):
    starts, D, most = torch.tensor([0, 2, 2, 9, 10]), 6, 5
    values = (normal(10, D, seed=1) * 9).to(dtype)
    dense, lengths = torch.zeros(4, most, D, dtype=dtype), torch.zeros(4, dtype=torch.int64)
    padded_kernel[(4, triton.cdiv(most, 4))](values, starts, dense, lengths, most, D, padding, BLOCK_L=4, BLOCK_D=8, BACK=False)
    parts = [values[a:b][:most] for a, b in zip(starts, starts[1:])]
    for row, part in zip(dense, parts):
        expected = torch.full((most, D), padding, dtype=dtype)
        expected[:len(part)] = part
        assert torch.equal(row, expected)
    assert lengths.tolist() == [2, 0, 5, 1]
    back = values.clone().zero_()
    padded_kernel[(4, triton.cdiv(most, 4))](back, starts, dense, lengths, most, D, padding, BLOCK_L=4, BLOCK_D=8, BACK=True)
    assert torch.equal(back[:7], values[:7]) and not back[7:9].any() and torch.equal(back[9:], values[9:])


# --- images ------------------------------------------------------------------------------------


@triton.jit
def depthwise_kernel(x, w, bias, out, H, W, OH, OW, C: tl.constexpr, KERNEL: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr,
                     DILATION: tl.constexpr, ACT: tl.constexpr, BLOCK: tl.constexpr):
    plane, at = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh, ow = at // OW, at % OW
    acc = tl.zeros([BLOCK], tl.float32)
    if bias is not None:
        acc += tl.load(bias + plane % C)
    for ky in tl.static_range(KERNEL[0]):
        for kx in tl.static_range(KERNEL[1]):
            y, z = oh * STRIDE[0] - PADDING[0] + ky * DILATION, ow * STRIDE[1] - PADDING[1] + kx * DILATION
            on = (0 <= y) & (y < H) & (0 <= z) & (z < W) & (at < OH * OW)
            acc += tl.load(x + (plane * H + y) * W + z, mask=on, other=0.0) * tl.load(w + ((plane % C) * KERNEL[0] + ky) * KERNEL[1] + kx)
    tl.store(out + plane * OH * OW + at, ACT(acc), mask=at < OH * OW)


@triton.jit
def hard_swish(x):
    return x * tl.minimum(tl.maximum(x + 3, 0.0), 6.0) / 6


@triton.jit
def unchanged(x):
    return x


@pytest.mark.parametrize("kernel, stride, padding, dilation, act", [((3, 3), (1, 1), (1, 1), 1, hard_swish), ((5, 2), (2, 3), (2, 0), 2, unchanged)])
def test_depthwise_convolution(target, kernel, stride, padding, dilation, act):
    x, w, bias = normal(2, 3, 13, 11, seed=1, dtype=torch.float16), normal(3, 1, *kernel, seed=2, dtype=torch.float16), normal(3, seed=3)
    expected = torch.nn.functional.conv2d(x.double(), w.double(), bias.double(), stride, padding, dilation, groups=3)
    out = torch.full(expected.shape, float("nan"))
    OH, OW = out.shape[2:]
    depthwise_kernel[(6, triton.cdiv(OH * OW, 64))](x, w, bias, out, 13, 11, OH, OW, C=3, KERNEL=kernel, STRIDE=stride, PADDING=padding,
                                                    DILATION=dilation, ACT=act, BLOCK=64)
    close(out, torch.nn.functional.hardswish(expected) if act is hard_swish else expected, 1e-3)


@triton.jit
def bilinear(plane, y, x, H, W, on):
    y0, x0 = tl.floor(y), tl.floor(x)
    total = tl.zeros(y.shape, tl.float32)
    for corner in tl.static_range(4):
        cy, cx = y0 + corner // 2, x0 + corner % 2
        weight = (1 - tl.abs(y - cy)) * (1 - tl.abs(x - cx))
        inside = on & (cy >= 0) & (cy < H) & (cx >= 0) & (cx < W)
        total += weight * tl.load(plane + cy.to(tl.int32) * W + cx.to(tl.int32), mask=inside, other=0.0)
    return total


@triton.jit
def roi_kernel(x, boxes, out, C, H, W, scale, ratio: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr, BLOCK: tl.constexpr):
    box, channel = tl.program_id(0), tl.program_id(1)
    image = tl.load(boxes + box * 5).to(tl.int32)
    x1, y1 = tl.load(boxes + box * 5 + 1) * scale - 0.5, tl.load(boxes + box * 5 + 2) * scale - 0.5
    x2, y2 = tl.load(boxes + box * 5 + 3) * scale - 0.5, tl.load(boxes + box * 5 + 4) * scale - 0.5
    bin_h, bin_w = (y2 - y1) / PH, (x2 - x1) / PW
    at = tl.arange(0, BLOCK)
    ph, pw = at // PW, at % PW
    plane = x + (image * C + channel) * H * W
    acc = tl.zeros([BLOCK], tl.float32)
    for iy in range(ratio):
        for ix in range(ratio):
            y = y1 + ph * bin_h + (iy + 0.5) * bin_h / ratio
            z = x1 + pw * bin_w + (ix + 0.5) * bin_w / ratio
            acc += bilinear(plane, y, z, H, W, at < PH * PW)
    tl.store(out + (box * C + channel) * PH * PW + at, acc / (ratio * ratio), mask=at < PH * PW)


def test_regions_of_interest(target):
    x, boxes = normal(2, 3, 10, 12, seed=1), torch.tensor([[0, 1.0, 2.0, 9.0, 8.0], [1, 4.2, 1.1, 15.9, 6.6]])
    PH, PW, ratio, scale = 3, 2, 2, 0.6
    out = torch.full((2, 3, PH, PW), float("nan"))
    roi_kernel[(2, 3)](x, boxes, out, 3, 10, 12, scale, ratio=ratio, PH=PH, PW=PW, BLOCK=8)
    for box, row in zip(boxes, out):
        x1, y1, x2, y2 = (box[1:].double() * scale - 0.5).tolist()
        ys = y1 + (torch.arange(PH * ratio).double() + 0.5) * (y2 - y1) / (PH * ratio)
        xs = x1 + (torch.arange(PW * ratio).double() + 0.5) * (x2 - x1) / (PW * ratio)
        grid = torch.stack(torch.meshgrid(2 * (xs + 0.5) / 12 - 1, 2 * (ys + 0.5) / 10 - 1, indexing="xy"), -1)
        sampled = torch.nn.functional.grid_sample(x[int(box[0])][None].double(), grid[None], align_corners=False)
        close(row, torch.nn.functional.avg_pool2d(sampled, ratio)[0], 1e-4)


@triton.jit
def suppress_kernel(boxes, keep, n, threshold, BLOCK: tl.constexpr):
    """Non-maximum suppression of boxes in the order of their scores; one program."""
    j = tl.arange(0, BLOCK)
    x1, y1, x2, y2 = [tl.load(boxes + 4 * j + side, mask=j < n, other=0.0) for side in (0, 1, 2, 3)]
    area = (x2 - x1) * (y2 - y1)
    alive = j < n
    for i in range(n):
        is_this = j == i
        if tl.sum((alive & is_this).to(tl.int32)) == 1:
            a, b, c, d = tl.load(boxes + 4 * i), tl.load(boxes + 4 * i + 1), tl.load(boxes + 4 * i + 2), tl.load(boxes + 4 * i + 3)
            shared = tl.maximum(tl.minimum(x2, c) - tl.maximum(x1, a), 0.0) * tl.maximum(tl.minimum(y2, d) - tl.maximum(y1, b), 0.0)
            overlap = shared / (area + (c - a) * (d - b) - shared)
            alive = alive and (overlap <= threshold or j <= i)
    tl.store(keep + j, alive, mask=j < n)


@pytest.mark.parametrize("n", [1, 45])
def test_suppression_of_boxes(target, n):
    corner, size = torch.rand(n, 2, generator=torch.Generator().manual_seed(1)) * 6, torch.rand(n, 2, generator=torch.Generator().manual_seed(2)) + 2
    boxes, keep = torch.cat([corner, corner + size], 1), torch.zeros(n, dtype=torch.bool)
    suppress_kernel[(1,)](boxes, keep, n, 0.3, BLOCK=64)
    low, high = torch.maximum(boxes[:, None, :2], boxes[None, :, :2]), torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared, area = (high - low).clamp(min=0).prod(-1), size.prod(-1)
    overlap, alive = shared / (area[:, None] + area - shared), torch.ones(n, dtype=torch.bool)
    for i in range(n):
        if alive[i]:
            alive[i + 1:] &= overlap[i, i + 1:] <= 0.3
    assert torch.equal(keep, alive)


@triton.jit
def cubic(t, A: tl.constexpr):
    t = tl.abs(t)
    near = ((A + 2) * t - (A + 3)) * t * t + 1
    far = ((A * t - 5 * A) * t + 8 * A) * t - 4 * A
    return tl.where(t <= 1, near, tl.where(t < 2, far, 0.0))


@triton.jit
def bicubic_kernel(x, out, H, W, OH, OW, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr):
    plane = tl.program_id(2)
    y, z = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y), tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)
    sy, sx = (y + 0.5) * H / OH - 0.5, (z + 0.5) * W / OW - 0.5
    fy, fx = tl.floor(sy), tl.floor(sx)
    acc = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
    for dy in tl.static_range(-1, 3):
        for dx in tl.static_range(-1, 3):
            iy = tl.minimum(tl.maximum(fy.to(tl.int32) + dy, 0), H - 1)
            ix = tl.minimum(tl.maximum(fx.to(tl.int32) + dx, 0), W - 1)
            weight = cubic(sy - fy - dy, -0.75)[:, None] * cubic(sx - fx - dx, -0.75)[None, :]
            acc += weight * tl.load(x + (plane * H + iy[:, None]) * W + ix[None, :])
    tl.store(out + (plane * OH + y[:, None]) * OW + z[None, :], acc, mask=(y < OH)[:, None] & (z < OW)[None, :])


@triton.jit
def pixel_shuffle_kernel(x, out, C, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """[C R R, H, W] to [C, H R, W R], by a change of shape in registers along the columns."""
    c, h, w = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    for i in tl.static_range(R):
        tl.static_assert(R == 2)
        left = tl.load(x + (((c * R + i) * R + 0) * H + h) * W + w, mask=w < W)
        right = tl.load(x + (((c * R + i) * R + 1) * H + h) * W + w, mask=w < W)
        at = tl.arange(0, 2 * BLOCK)
        tl.store(out + (c * H * R + h * R + i) * W * R + at, tl.join(left, right).reshape(2 * BLOCK), mask=at < 2 * W)


@pytest.mark.parametrize("size", [(3, 5), (13, 21)])
def test_images_grow(target, size):
    x, (OH, OW) = normal(2, 7, 9, seed=1), size
    out = torch.full((2, OH, OW), float("nan"))
    bicubic_kernel[lambda meta: (triton.cdiv(OH, meta["BLOCK_Y"]), triton.cdiv(OW, meta["BLOCK_X"]), 2)](x, out, 7, 9, OH, OW, BLOCK_Y=8,
                                                                                                        BLOCK_X=16)
    close(out, torch.nn.functional.interpolate(x[None].double(), size=size, mode="bicubic", align_corners=False)[0], 1e-4)
    y, shuffled = normal(8, *size, seed=2, dtype=torch.bfloat16), torch.zeros(2, 2 * OH, 2 * OW, dtype=torch.bfloat16)
    pixel_shuffle_kernel[(2, OH)](y, shuffled, 2, OH, OW, R=2, BLOCK=triton.next_power_of_2(OW))
    assert torch.equal(shuffled, torch.nn.functional.pixel_shuffle(y, 2))
