"""Products with more around them: two weights at once, gathered rows, a convolution, low-rank updates, gradients of weights."""
import tegula as triton
import tegula.language as tl


@triton.jit
def gate_up_kernel(x_ptr, gate_ptr, up_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """silu(x @ gate) * (x @ up), the rows of x read once for both."""
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    gate_sum = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    up_sum = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        inside = ks < K - k
        x = tl.load(x_ptr + rows[:, None] * K + (k + ks)[None, :], mask=(rows[:, None] < M) & inside[None, :], other=0.0)
        at = (k + ks)[:, None] * N + columns[None, :]
        there = inside[:, None] & (columns[None, :] < N)
        gate_sum += tl.dot(x, tl.load(gate_ptr + at, mask=there, other=0.0))
        up_sum += tl.dot(x, tl.load(up_ptr + at, mask=there, other=0.0))
    y = gate_sum * tl.sigmoid(gate_sum) * up_sum
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], y.to(out_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


def gate_up(x, gate, up, out, block_m=64, block_n=64, block_k=32, **options):
    (m, k), n = x.shape, gate.shape[1]
    gate_up_kernel[(triton.cdiv(n, block_n), triton.cdiv(m, block_m))](
        x, gate, up, out, m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def weight_gradient_kernel(x_ptr, dy_ptr, dw_ptr, tokens, K, N, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_T: tl.constexpr):
    """dw = transposed x @ dy: the tiles of x are loaded as they lie and turned."""
    k_block = tl.program_id(0)
    n_block = tl.program_id(1)
    ks = k_block * BLOCK_K + tl.arange(0, BLOCK_K)
    ns = n_block * BLOCK_N + tl.arange(0, BLOCK_N)
    ts = tl.arange(0, BLOCK_T)
    x_at = x_ptr + ts[:, None] * K + ks[None, :]
    dy_at = dy_ptr + ts[:, None] * N + ns[None, :]
    acc = tl.zeros((BLOCK_K, BLOCK_N), dtype=tl.float32)
    for t in range(0, tokens, BLOCK_T):
        left = ts[:, None] < tokens - t
        x = tl.load(x_at, mask=left & (ks[None, :] < K), other=0.0)
        dy = tl.load(dy_at, mask=left & (ns[None, :] < N), other=0.0)
        acc = tl.dot(tl.trans(x), dy, acc)
        x_at += BLOCK_T * K
        dy_at += BLOCK_T * N
    tl.store(dw_ptr + ks[:, None] * N + ns[None, :], acc, mask=(ks[:, None] < K) & (ns[None, :] < N))


def weight_gradient(x, dy, dw, block_k=64, block_n=64, block_t=32, **options):
    (tokens, k), n = x.shape, dy.shape[1]
    weight_gradient_kernel[(triton.cdiv(k, block_k), triton.cdiv(n, block_n))](
        x, dy, dw, tokens, k, n, BLOCK_K=block_k, BLOCK_N=block_n, BLOCK_T=block_t, **options)


@triton.jit
def low_rank_kernel(x_ptr, w_ptr, a_ptr, b_ptr, out_ptr, M, N, K, scale, RANK: tl.constexpr, BLOCK_M: tl.constexpr,
                    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """x @ w + scale * (x @ a) @ b, with a and b of few columns and rows."""
    pid = tl.program_id(0)
    columns_of_blocks = tl.cdiv(N, BLOCK_N)
    rows = (pid // columns_of_blocks) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid % columns_of_blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    ranks = tl.arange(0, RANK)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    low = tl.zeros((BLOCK_M, RANK), tl.float32)
    for start in range(0, tl.cdiv(K, BLOCK_K)):
        ks = start * BLOCK_K + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + (rows % M)[:, None] * K + ks[None, :], mask=ks[None, :] < K, other=0.0)
        w = tl.load(w_ptr + ks[:, None] * N + (columns % N)[None, :], mask=ks[:, None] < K, other=0.0)
        a = tl.load(a_ptr + ks[:, None] * RANK + ranks[None, :], mask=ks[:, None] < K, other=0.0)
        acc = tl.dot(x, w, acc)
        low = tl.dot(x, a, low)
    b = tl.load(b_ptr + ranks[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
    acc += scale * tl.dot(low.to(b.dtype), b)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


def low_rank(x, w, a, b, out, scale=0.5, block_m=64, block_n=64, block_k=32, **options):
    (m, k), n = x.shape, w.shape[1]
    low_rank_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
        x, w, a, b, out, m, n, k, scale, RANK=a.shape[1], BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def convolution_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, batch, height, width, channels, filters, HEIGHT: tl.constexpr,
                       WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """A convolution with zeros around and stride 1 as a product; images and filters have channels innermost."""
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = pixels % width
    row = pixels // width % height
    image = pixels // (width * height)
    outputs = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for dy in range(HEIGHT):
        for dx in range(WIDTH):
            y = row + dy - HEIGHT // 2
            x = column + dx - WIDTH // 2
            inside = (image < batch) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            at = ((image * height + y) * width + x) * channels
            for start in range(0, channels, BLOCK_K):
                c = start + tl.arange(0, BLOCK_K)
                a = tl.load(x_ptr + at[:, None] + c[None, :], mask=inside[:, None] & (c[None, :] < channels), other=0.0)
                b = tl.load(w_ptr + ((outputs[None, :] * HEIGHT + dy) * WIDTH + dx) * channels + c[:, None],
                            mask=(outputs[None, :] < filters) & (c[:, None] < channels), other=0.0)
                acc = tl.dot(a, b, acc)
    acc += tl.load(bias_ptr + outputs, mask=outputs < filters, other=0.0)[None, :]
    tl.store(out_ptr + pixels[:, None] * filters + outputs[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=(image < batch)[:, None] & (outputs[None, :] < filters))


def convolution(x, w, bias, out, block_m=64, block_n=32, block_k=32, **options):
    batch, height, width, channels = x.shape
    filters, tall, wide, _ = w.shape
    convolution_kernel[(triton.cdiv(batch * height * width, block_m), triton.cdiv(filters, block_n))](
        x, w, bias, out, batch, height, width, channels, filters, HEIGHT=tall, WIDTH=wide,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def windows_kernel(x_ptr, w_ptr, out_ptr, batch, channels, height, width, filters, SIDE: tl.constexpr, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The same of images and filters with channels outermost: flat indices of pixels and of a window's elements are taken apart."""
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column, row, image = pixels % width, pixels // width % height, pixels // (width * height)
    outputs = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = channels * SIDE * SIDE
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, steps, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        y = row[:, None] + (k // SIDE % SIDE)[None, :] - SIDE // 2
        x = column[:, None] + (k % SIDE)[None, :] - SIDE // 2
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width) & (k < steps)[None, :] & (image < batch)[:, None]
        at = ((image[:, None] * channels + (k // (SIDE * SIDE))[None, :]) * height + y) * width + x
        a = tl.load(x_ptr + at, mask=inside, other=0.0)
        b = tl.load(w_ptr + outputs[None, :] * steps + k[:, None], mask=(outputs < filters)[None, :] & (k < steps)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    at = ((image[:, None] * filters + outputs[None, :]) * height + row[:, None]) * width + column[:, None]
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=(image < batch)[:, None] & (outputs < filters)[None, :])


def windows(x, w, out, block_m=64, block_n=64, block_k=64, **options):
    batch, channels, height, width = x.shape
    windows_kernel[(triton.cdiv(batch * height * width, block_m), triton.cdiv(w.shape[0], block_n))](
        x, w, out, batch, channels, height, width, w.shape[0], SIDE=w.shape[2], BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def gathered_kernel(x_ptr, index_ptr, w_ptr, out_ptr, rows_count, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows of x, chosen by an index, times w."""
    at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    chosen = tl.load(index_ptr + at, mask=at < rows_count, other=0)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    x_at = x_ptr + chosen[:, None] * K + ks[None, :]
    w_at = w_ptr + ks[:, None] * N + columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        acc += tl.dot(tl.load(x_at, mask=ks[None, :] + k < K, other=0.0),
                      tl.load(w_at, mask=(ks[:, None] + k < K) & (columns[None, :] < N), other=0.0))
        x_at += BLOCK_K
        w_at += BLOCK_K * N
    tl.store(out_ptr + at[:, None] * N + columns[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=(at[:, None] < rows_count) & (columns[None, :] < N))


def gathered(x, index, w, out, block_m=64, block_n=64, block_k=32, **options):
    rows, (k, n) = index.shape[0], w.shape
    gathered_kernel[(triton.cdiv(rows, block_m), triton.cdiv(n, block_n))](
        x, index, w, out, rows, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def residual_kernel(a_ptr, b_ptr, bias_ptr, residual_ptr, out_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, EVEN_K: tl.constexpr):
    """residual + max(a @ b + bias, 0)², by groups of rows; strides as arguments, masks of K only where they are needed."""
    pid = tl.program_id(0)
    m_blocks = tl.cdiv(M, BLOCK_M)
    n_blocks = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP * n_blocks)
    first = group * GROUP
    size = tl.minimum(m_blocks - first, GROUP)
    pid_m = first + pid % (GROUP * n_blocks) % size
    pid_n = pid % (GROUP * n_blocks) // size
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_at = a_ptr + ram[:, None] * stride_am + rk[None, :] * stride_ak
    b_at = b_ptr + rk[:, None] * stride_bk + rbn[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K), 0, -1):
        if EVEN_K:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            left = K - (tl.cdiv(K, BLOCK_K) - k) * BLOCK_K
            a = tl.load(a_at, mask=rk[None, :] < left, other=0.0)
            b = tl.load(b_at, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(a, b)
        a_at += BLOCK_K * stride_ak
        b_at += BLOCK_K * stride_bk
    acc = tl.maximum(acc + tl.load(bias_ptr + rbn)[None, :], 0.0)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    at = rm[:, None] * N + rn[None, :]
    acc = acc * acc + tl.load(residual_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=inside)


def residual(a, b, bias, residual, out, block_m=64, block_n=64, block_k=32, group=8, **options):
    (m, k), n = a.shape, b.shape[1]
    residual_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
        a, b, bias, residual, out, m, n, k, *a.stride(), *b.stride(), BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k,
        GROUP=group, EVEN_K=k % block_k == 0, **options)


@triton.jit
def softmax_of_product_kernel(x_ptr, w_ptr, out_ptr, M, K, N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    """softmax(x @ w) with all columns in one tile: a router's scores."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, N)
    acc = tl.zeros((BLOCK_M, N), tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + ks[:, None] * N + columns[None, :], mask=ks[:, None] < K, other=0.0)
        acc = tl.dot(x, w, acc)
    e = tl.exp(acc - tl.max(acc, axis=1, keep_dims=True))
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], e / tl.sum(e, axis=1, keep_dims=True), mask=rows[:, None] < M)


def softmax_of_product(x, w, out, block_m=64, block_k=32, **options):
    (m, k), n = x.shape, w.shape[1]
    softmax_of_product_kernel[(triton.cdiv(m, block_m),)](x, w, out, m, k, N=n, BLOCK_M=block_m, BLOCK_K=block_k, **options)
