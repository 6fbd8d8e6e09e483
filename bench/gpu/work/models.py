"""Kernels of models that were written to see how ones nobody has tuned for do: recurrent attention by chunks, latent attention, bytes as weights,
convolutions, activations, coordinates by division."""
import tegula as triton
import tegula.language as tl


@triton.jit
def gated_kernel(q_ptr, k_ptr, v_ptr, g_ptr, o_ptr, length, scale, HEADS: tl.constexpr, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr,
                 COLUMNS: tl.constexpr):
    """Linear attention whose state decays by exp(g) a step: products within a chunk of rows, the state from chunk to chunk."""
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    first = batch * length * HEADS + head
    rows, column = tl.arange(0, ROWS), tl.program_id(0) * COLUMNS
    causal = rows[:, None] >= rows[None, :]
    state = tl.zeros([K, COLUMNS], dtype=tl.float32)
    for start in range(0, length, ROWS):
        q = tl.load(tl.make_block_ptr(q_ptr + first * K, (length, K), (HEADS * K, 1), (start, 0), (ROWS, K), (1, 0)), boundary_check=(0, 1))
        k = tl.load(tl.make_block_ptr(k_ptr + first * K, (K, length), (1, HEADS * K), (0, start), (K, ROWS), (0, 1)), boundary_check=(0, 1))
        v = tl.load(tl.make_block_ptr(v_ptr + first * V, (length, V), (HEADS * V, 1), (start, column), (ROWS, COLUMNS), (1, 0)), boundary_check=(0, 1))
        decay = tl.cumsum(tl.load(g_ptr + first + (start + rows) * HEADS, mask=start + rows < length, other=0.0), 0)
        last = tl.sum(tl.where(rows == ROWS - 1, decay, 0.0), 0)
        within = tl.dot(q, k) * tl.exp(tl.where(causal, decay[:, None] - decay[None, :], 0.0))
        out = tl.dot(tl.where(causal, within, 0.0).to(v.dtype), v) + tl.dot(q, state.to(q.dtype)) * tl.exp(decay)[:, None]
        state = state * tl.exp(last) + tl.dot(k, (v * tl.exp(last - decay)[:, None]).to(k.dtype))
        o = tl.make_block_ptr(o_ptr + first * V, (length, V), (HEADS * V, 1), (start, column), (ROWS, COLUMNS), (1, 0))
        tl.store(o, (out * scale).to(o_ptr.dtype.element_ty), boundary_check=(0, 1))


def gated(q, k, v, g, o, rows=64, columns=64, **options):
    batch, length, heads, head = q.shape
    gated_kernel[(v.shape[3] // columns, batch * heads)](q, k, v, g, o, length, head ** -0.5, heads, head, v.shape[3], rows, columns, **options)


@triton.jit
def delta_kernel(q_ptr, k_ptr, v_ptr, beta_ptr, o_ptr, length, HEADS: tl.constexpr, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr):
    """The part of the delta rule that stays within a chunk, its inverse by two terms: six products of one load each, no loop."""
    batch, head = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    i = tl.arange(0, ROWS)
    at = (batch * length + tl.program_id(0) * ROWS + i) * HEADS + head
    k = tl.load(k_ptr + at[:, None] * K + tl.arange(0, K)[None, :])
    v = tl.load(v_ptr + at[:, None] * V + tl.arange(0, V)[None, :])
    beta = tl.load(beta_ptr + at)
    below = tl.dot((k * beta[:, None]).to(k.dtype), tl.trans(k))
    below = tl.where(i[:, None] > i[None, :], below, 0.0)
    inverse = tl.where(i[:, None] == i[None, :], 1.0, 0.0) - below
    inverse += tl.dot(tl.dot(below.to(k.dtype), below.to(k.dtype)).to(k.dtype), inverse.to(k.dtype))
    new = tl.dot(inverse.to(v.dtype), (v * beta[:, None]).to(v.dtype))
    q = tl.load(q_ptr + at[:, None] * K + tl.arange(0, K)[None, :])
    scores = tl.where(i[:, None] >= i[None, :], tl.dot(q, tl.trans(k)), 0.0)
    tl.store(o_ptr + at[:, None] * V + tl.arange(0, V)[None, :], tl.dot(scores.to(v.dtype), new.to(v.dtype)).to(o_ptr.dtype.element_ty))


def delta(q, k, v, beta, o, rows=64, **options):
    batch, length, heads, head = q.shape
    delta_kernel[(length // rows, batch * heads)](q, k, v, beta, o, length, heads, head, v.shape[3], rows, **options)


@triton.jit
def latent_kernel(q_ptr, kv_ptr, o_ptr, lse_ptr, table_ptr, length_ptr, scale, most_pages, HEADS: tl.constexpr, LATENT: tl.constexpr,
                  ROTARY: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr, PAGE: tl.constexpr, SPLITS: tl.constexpr):
    """Decoding over pages of latents, which are keys and values at once; `ROTARY` more columns are keys only."""
    batch, part = tl.program_id(0), tl.program_id(2)
    rows = batch * HEADS + tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    latent, rotary = tl.arange(0, LATENT), tl.arange(0, ROTARY)
    length = tl.load(length_ptr + batch)
    q = tl.load(q_ptr + rows[:, None] * (LATENT + ROTARY) + latent[None, :])
    turned = tl.load(q_ptr + rows[:, None] * (LATENT + ROTARY) + LATENT + rotary[None, :])
    each = tl.cdiv(length, SPLITS)
    end = tl.minimum(each * (part + 1), length)
    largest = tl.zeros([BLOCK_H], tl.float32) - float("inf")
    total = tl.zeros([BLOCK_H], tl.float32)
    sums = tl.zeros([BLOCK_H, LATENT], tl.float32)
    for start in range(each * part, end, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        page = tl.load(table_ptr + batch * most_pages + at // PAGE, mask=at < end, other=0)
        row = page * PAGE + at % PAGE
        k = tl.load(kv_ptr + row[None, :] * (LATENT + ROTARY) + latent[:, None], mask=at[None, :] < end, other=0.0)
        s = tl.dot(q, k)
        s += tl.dot(turned, tl.load(kv_ptr + row[None, :] * (LATENT + ROTARY) + LATENT + rotary[:, None], mask=at[None, :] < end, other=0.0))
        s = tl.where(at[None, :] < end, s * scale, float("-inf"))
        above = tl.maximum(largest, tl.max(s, 1))
        p = tl.exp(s - above[:, None])
        shrink = tl.exp(largest - above)
        sums = sums * shrink[:, None] + tl.dot(p.to(k.dtype), tl.trans(k))
        total = total * shrink + tl.sum(p, 1)
        largest = above
    tl.store(o_ptr + (rows[:, None] * SPLITS + part) * LATENT + latent[None, :], sums / total[:, None])
    tl.store(lse_ptr + rows * SPLITS + part, largest + tl.log(total))


def latent(q, kv, o, lse, table, lengths, page, rotary, block_h=16, block_n=32, **options):
    batch, heads, width = q.shape
    latent_kernel[(batch, heads // block_h, o.shape[2])](
        q, kv, o, lse, table, lengths, width ** -0.5, table.shape[1], HEADS=heads, LATENT=width - rotary, ROTARY=rotary, BLOCK_H=block_h,
        BLOCK_N=block_n, PAGE=page, SPLITS=o.shape[2], **options)


@triton.jit
def byte_weights_kernel(a_ptr, w_ptr, scale_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = a @ (w * scale of its row).T, w of 8 bits."""
    rows = tl.program_id(0) % tl.cdiv(M, BLOCK_M) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) // tl.cdiv(M, BLOCK_M) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs, w_ptrs = a_ptr + rows[:, None] * K + inner[None, :], w_ptr + columns[None, :] * K + inner[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=rows[:, None] < M, other=0.0)
        total += tl.dot(a, tl.load(w_ptrs, mask=columns[None, :] < N, other=0).to(a.dtype))
        a_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    total *= tl.load(scale_ptr + columns, mask=columns < N, other=0.0)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


def byte_weights(a, w, scale, c, block_m=16, block_n=32, block_k=32, **options):
    (m, k), n = a.shape, w.shape[0]
    byte_weights_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](a, w, scale, c, m, n, k, block_m, block_n, block_k, **options)


@triton.jit
def causal_kernel(x_ptr, w_ptr, bias_ptr, o_ptr, length, width, TAPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """SiLU of a convolution along time, each column by taps of its own."""
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(2) * length
    total = tl.zeros((ROWS, COLUMNS), tl.float32) + tl.load(bias_ptr + columns).to(tl.float32)[None, :]
    for tap in tl.static_range(TAPS):
        at = rows - (TAPS - 1) + tap
        x = tl.load(x_ptr + (first + at)[:, None] * width + columns[None, :], mask=(at >= 0)[:, None] & (at < length)[:, None], other=0.0)
        total += x.to(tl.float32) * tl.load(w_ptr + columns * TAPS + tap).to(tl.float32)[None, :]
    total *= tl.sigmoid(total)
    tl.store(o_ptr + (first + rows)[:, None] * width + columns[None, :], total.to(o_ptr.dtype.element_ty), mask=(rows < length)[:, None])


def causal(x, w, bias, o, rows=32, columns=32, **options):
    batch, length, width = x.shape
    causal_kernel[(triton.cdiv(length, rows), width // columns, batch)](x, w, bias, o, length, width, w.shape[1], rows, columns, **options)


@triton.jit
def gelu_kernel(x_ptr, o_ptr, n, BY_TANH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    if BY_TANH:
        y = 0.5 * x * (1 + tl.extra.cuda.libdevice.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    else:
        y = 0.5 * x * (1 + tl.erf(x * 0.70710678118))
    tl.store(o_ptr + i, y.to(o_ptr.dtype.element_ty), mask=i < n)


def gelu(x, o, by_tanh, block=256, **options):
    gelu_kernel[(triton.cdiv(o.numel(), block),)](x, o, o.numel(), by_tanh, block, **options)


@triton.jit
def strided_kernel(x_ptr, y_ptr, o_ptr, n, size1, size2, size3, x0, x1, x2, x3, y0, y1, y2, y3, BLOCK: tl.constexpr):
    """gelu(x) * y + x of tensors of four dimensions in whatever order, as a compiler of graphs writes it."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d3, d2, d1, d0 = i % size3, i // size3 % size2, i // (size3 * size2) % size1, i // (size3 * size2 * size1)
    x = tl.load(x_ptr + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3, mask=i < n).to(tl.float32)
    y = tl.load(y_ptr + d0 * y0 + d1 * y1 + d2 * y2 + d3 * y3, mask=i < n).to(tl.float32)
    tl.store(o_ptr + i, (0.5 * x * (1 + tl.erf(x * 0.70710678118)) * y + x).to(o_ptr.dtype.element_ty), mask=i < n)


def strided(x, y, o, block=256, **options):
    strided_kernel[(triton.cdiv(o.numel(), block),)](x, y, o, o.numel(), *o.shape[1:], *x.stride(), *y.stride(), block, **options)


@triton.jit
def enlarged_kernel(x_ptr, o_ptr, height, width, n, BLOCK: tl.constexpr):
    """Twice the size, bilinear."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, image = i % (2 * width), i // (2 * width) % (2 * height), i // (4 * height * width)
    y, x = tl.maximum((row + 0.5) * 0.5 - 0.5, 0.0), tl.maximum((column + 0.5) * 0.5 - 0.5, 0.0)
    top, left = y.to(tl.int32), x.to(tl.int32)
    bottom, right = tl.minimum(top + 1, height - 1), tl.minimum(left + 1, width - 1)
    down, across = y - top, x - left
    base = x_ptr + image * height * width
    above = tl.load(base + top * width + left, mask=i < n) * (1 - across) + tl.load(base + top * width + right, mask=i < n) * across
    below = tl.load(base + bottom * width + left, mask=i < n) * (1 - across) + tl.load(base + bottom * width + right, mask=i < n) * across
    tl.store(o_ptr + i, above * (1 - down) + below * down, mask=i < n)


def enlarged(x, o, block=256, **options):
    _, height, width = x.shape
    enlarged_kernel[(triton.cdiv(o.numel(), block),)](x, o, height, width, o.numel(), block, **options)
