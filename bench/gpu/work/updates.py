"""Optimizers, embeddings, quantization, norms of images, recurrences, counts: what runs beside products in training."""
import tegula as triton
import tegula.language as tl


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, n, rate, beta1, beta2, eps, decay, correction1, correction2, BLOCK: tl.constexpr):
    """One step of Adam with decoupled decay, weights in bf16 and moments in f32, all in place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(p_ptr + at, mask=inside).to(tl.float32)
    g = tl.load(g_ptr + at, mask=inside).to(tl.float32)
    m = tl.load(m_ptr + at, mask=inside)
    v = tl.load(v_ptr + at, mask=inside)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p * (1 - rate * decay) - rate * (m / correction1) / (tl.sqrt(v / correction2) + eps)
    tl.store(p_ptr + at, p.to(tl.bfloat16), mask=inside)
    tl.store(m_ptr + at, m, mask=inside)
    tl.store(v_ptr + at, v, mask=inside)


def adam(p, g, m, v, block=1024, **options):
    n = p.numel()
    adam_kernel[(triton.cdiv(n, block),)](p, g, m, v, n, 1e-2, 0.9, 0.999, 1e-8, 0.1, 0.1, 0.001, BLOCK=block, **options)


@triton.jit
def embedding_gradient_kernel(dy_ptr, index_ptr, dw_ptr, columns, BLOCK: tl.constexpr):
    """Adds the gradient of a token to the row of its word."""
    token = tl.program_id(0)
    word = tl.load(index_ptr + token)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    dy = tl.load(dy_ptr + token * columns + at, mask=inside, other=0.0)
    tl.atomic_add(dw_ptr + word * columns + at, dy.to(tl.float32), mask=inside, sem="relaxed")


def embedding_gradient(dy, index, dw, block=1024, **options):
    tokens, columns = dy.shape
    embedding_gradient_kernel[(tokens, triton.cdiv(columns, block))](dy, index, dw, columns, BLOCK=block, **options)


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    """A row as bytes with one scale."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x)), 1e-10) / 127.0
    q = x / scale
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(q_ptr + row * columns + at, q, mask=inside)
    tl.store(scale_ptr + row, scale)


def quantize(x, q, scale, **options):
    quantize_kernel[(x.shape[0],)](x, q, scale, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), **options)


@triton.jit
def quantize_blocks_kernel(x_ptr, q_ptr, scale_ptr, n, GROUP: tl.constexpr, GROUPS: tl.constexpr):
    """Groups of 128 neighbours as f8 with one scale each."""
    at = tl.program_id(0) * GROUPS * GROUP + tl.arange(0, GROUPS)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1) / 448.0, 1e-12)
    tl.store(q_ptr + at, (x / scale[:, None]).to(q_ptr.dtype.element_ty), mask=at < n)
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    tl.store(scale_ptr + group, scale, mask=group * GROUP < n)


def quantize_blocks(x, q, scale, groups=8, **options):
    n, group = x.numel(), x.numel() // scale.numel()
    quantize_blocks_kernel[(triton.cdiv(n, groups * group),)](x, q, scale, n, GROUP=group, GROUPS=groups, **options)


@triton.jit
def group_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, channels, pixels, groups, eps, PER_GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Norm of a group of channels of an image, in two passes over memory; channels are outer."""
    image = tl.program_id(0) // groups
    group = tl.program_id(0) % groups
    base = (image * channels + group * PER_GROUP).to(tl.int64) * pixels
    count = PER_GROUP * pixels
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + at, mask=at < count, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total) / count
    rstd = tl.rsqrt(tl.sum(squares) / count - mean * mean + eps)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < count
        channel = group * PER_GROUP + at // pixels
        x = tl.load(x_ptr + base + at, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * tl.load(w_ptr + channel, mask=inside) + tl.load(b_ptr + channel, mask=inside)
        tl.store(out_ptr + base + at, y.to(out_ptr.dtype.element_ty), mask=inside)


def group_norm(x, w, b, out, groups, block=2048, **options):
    images, channels, height, width = x.shape
    group_norm_kernel[(images * groups,)](x, w, b, out, channels, height * width, groups, 1e-5, PER_GROUP=channels // groups,
                                          BLOCK=block, **options)


@triton.jit
def softmax_gradient_kernel(y_ptr, dy_ptr, dx_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    tl.store(dx_ptr + row * columns + at, (y * (dy - tl.sum(y * dy, 0))).to(dx_ptr.dtype.element_ty), mask=at < columns)


def softmax_gradient(y, dy, dx, **options):
    softmax_gradient_kernel[(y.shape[0],)](y, dy, dx, y.shape[1], BLOCK=triton.next_power_of_2(y.shape[1]), **options)


@triton.jit
def state_space_kernel(u_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, out_ptr, length, width, STATE: tl.constexpr, BLOCK: tl.constexpr):
    """h = exp(delta a) h + delta b u; out = c h, step by step, a tile of states a program."""
    batch = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    s = tl.arange(0, STATE)
    inside = d < width
    a = tl.load(a_ptr + d[:, None] * STATE + s[None, :], mask=inside[:, None], other=0.0)
    h = tl.zeros((BLOCK, STATE), tl.float32)
    for t in range(length):
        at = (batch * length + t) * width + d
        u = tl.load(u_ptr + at, mask=inside, other=0.0).to(tl.float32)
        delta = tl.load(delta_ptr + at, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + (batch * length + t) * STATE + s).to(tl.float32)
        c = tl.load(c_ptr + (batch * length + t) * STATE + s).to(tl.float32)
        h = tl.exp(delta[:, None] * a) * h + (delta * u)[:, None] * b[None, :]
        tl.store(out_ptr + at, tl.sum(h * c[None, :], axis=1).to(out_ptr.dtype.element_ty), mask=inside)


def state_space(u, delta, a, b, c, out, block=32, **options):
    batch, length, width = u.shape
    state_space_kernel[(batch, triton.cdiv(width, block))](u, delta, a, b, c, out, length, width, STATE=a.shape[1], BLOCK=block, **options)


@triton.jit
def joined(decay_left, sum_left, decay_right, sum_right):
    return decay_left * decay_right, sum_right + decay_right * sum_left


@triton.jit
def recurrence_kernel(x_ptr, decay_ptr, out_ptr, length, width, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    """h = decay h + x along time, a block of time at once by an associative scan."""
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    base = tl.program_id(1) * length * width
    carry = tl.zeros((BLOCK_D,), tl.float32)
    for start in range(0, length, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        at = base + t[:, None] * width + d[None, :]
        inside = (t[:, None] < length) & (d[None, :] < width)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        decay = tl.load(decay_ptr + at, mask=inside, other=1.0).to(tl.float32)
        product, h = tl.associative_scan((decay, x), 0, joined)
        h += product * carry[None, :]
        tl.store(out_ptr + at, h.to(out_ptr.dtype.element_ty), mask=inside)
        carry = tl.sum(tl.where((tl.arange(0, BLOCK_T) == BLOCK_T - 1)[:, None], h, 0.0), axis=0)


def recurrence(x, decay, out, block_t=32, block_d=32, **options):
    batch, length, width = x.shape
    recurrence_kernel[(triton.cdiv(width, block_d), batch)](x, decay, out, length, width, BLOCK_T=block_t, BLOCK_D=block_d, **options)


@triton.jit
def count_kernel(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    """Counts of bytes: a histogram of a block, added to the counts of all."""
    total = tl.zeros((BINS,), tl.int32)
    for turn in range(TURNS):
        at = (tl.program_id(0) * TURNS + turn) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.int32)
        total += tl.histogram(x, BINS, mask=at < n)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), total)


def count(x, counts, block=1024, turns=8, **options):
    count_kernel[(triton.cdiv(x.numel(), block * turns),)](x, counts, x.numel(), BINS=counts.numel(), BLOCK=block, TURNS=turns, **options)


@triton.jit
def pool_kernel(x_ptr, out_ptr, index_ptr, height, width, BLOCK: tl.constexpr):
    """The largest of each two by two pixels, and its place in the image."""
    image = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out_width = width // 2
    inside = at < (height // 2) * out_width
    row = at // out_width * 2
    column = at % out_width * 2
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    place = tl.zeros((BLOCK,), tl.int32)
    for dy in tl.static_range(2):
        for dx in tl.static_range(2):
            here = (row + dy) * width + column + dx
            x = tl.load(x_ptr + image * height * width + here, mask=inside, other=float("-inf")).to(tl.float32)
            place = tl.where(x > best, here, place)
            best = tl.maximum(best, x)
    base = image * (height // 2) * out_width
    tl.store(out_ptr + base + at, best.to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(index_ptr + base + at, place, mask=inside)


def pool(x, out, index, block=1024, **options):
    images, height, width = x.shape
    pool_kernel[(triton.cdiv(height * width // 4, block), images)](x, out, index, height, width, BLOCK=block, **options)


@triton.jit
def largest_kernel(x_ptr, index_ptr, columns, BLOCK: tl.constexpr):
    """The place of the largest element of a long row, the first of equals."""
    row = tl.program_id(0)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    place = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        place = tl.where(x > best, at, place)
        best = tl.maximum(x, best)
    top = tl.max(best, 0)
    tl.store(index_ptr + row, tl.min(tl.where(best == top, place, 2147483647), 0))


def largest(x, index, block=4096, **options):
    largest_kernel[(x.shape[0],)](x, index, x.shape[1], BLOCK=block, **options)


@triton.jit
def norm_gradient_kernel(dx_ptr, dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dw_ptr, db_ptr, columns, BLOCK: tl.constexpr):
    """Gradients of a layer norm, those of weight and bias added by atomics."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * columns + at, mask=inside, other=0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(inside, (x - mean) * rstd, 0.0)
    wdy = tl.where(inside, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / columns
    c2 = tl.sum(wdy, axis=0) / columns
    tl.store(dx_ptr + row * columns + at, ((wdy - (xhat * c1 + c2)) * rstd).to(dx_ptr.dtype.element_ty), mask=inside)
    tl.atomic_add(dw_ptr + at, dy * xhat, mask=inside)
    tl.atomic_add(db_ptr + at, dy, mask=inside)


def norm_gradient(dx, dy, x, w, mean, rstd, dw, db, **options):
    rows, columns = x.shape
    norm_gradient_kernel[(rows,)](dx, dy, x, w, mean, rstd, dw, db, columns, BLOCK=triton.next_power_of_2(columns), **options)
