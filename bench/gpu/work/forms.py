"""Products and attention as people write them down first: loads within products, masks in each trip, factors that are computed, turned or scaled
beside the loop."""
import tegula as triton
import tegula.language as tl


@triton.jit
def attend_kernel(q_ptr, k_ptr, v_ptr, o_ptr, slope_ptr, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
                  CAUSAL: tl.constexpr):
    """Attention with distances as bias; `q` is scaled ahead of the loop, and K and V are loaded where they are multiplied."""
    head = tl.program_id(1)
    rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, HEAD)
    q_ptr += head * length * HEAD
    k_ptr += head * length * HEAD
    v_ptr += head * length * HEAD
    slope = tl.load(slope_ptr + head)
    q = (tl.load(q_ptr + rows[:, None] * HEAD + d[None, :]) * scale).to(k_ptr.dtype.element_ty)
    best, total = tl.full([BLOCK_M], float("-inf"), tl.float32), tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_M if CAUSAL else length, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        s = tl.dot(q, tl.load(k_ptr + columns[None, :] * HEAD + d[:, None]))
        s -= slope * tl.abs(rows[:, None] - columns[None, :])
        if CAUSAL:
            s = tl.where(rows[:, None] >= columns[None, :], s, float("-inf"))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        sums = sums * shrink[:, None] + tl.dot(p.to(v_ptr.dtype.element_ty), tl.load(v_ptr + columns[:, None] * HEAD + d[None, :]))
        best = better
    tl.store(o_ptr + head * length * HEAD + rows[:, None] * HEAD + d[None, :], (sums / total[:, None]).to(o_ptr.dtype.element_ty))


def attend(q, k, v, slope, o, causal, block_m=64, block_n=64, **options):
    heads, length, head = q.shape
    attend_kernel[(length // block_m, heads)](q, k, v, o, slope, length, 1.44269504 * head ** -0.5, block_m, block_n, head, causal, **options)


@triton.jit
def eight_bits_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """Attention of 8-bit floats, V by columns: the weights become 8-bit floats, too, and pass through shared memory."""
    head = tl.program_id(1)
    rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, HEAD)
    base = head * length * HEAD
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + d[None, :])
    scale = tl.load(scale_ptr + head)
    best, total = tl.full([BLOCK_M], float("-inf"), tl.float32), tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in range(0, length, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        s = tl.dot(q, tl.load(k_ptr + base + columns[None, :] * HEAD + d[:, None])) * scale
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + base + d[None, :] * length + columns[:, None])
        sums = sums * shrink[:, None] + tl.dot(p.to(q.dtype), v)
        best = better
    tl.store(o_ptr + base + rows[:, None] * HEAD + d[None, :], (sums / total[:, None]).to(o_ptr.dtype.element_ty))


def eight_bits(q, k, v, scale, o, block_m=64, block_n=64, **options):
    heads, length, head = q.shape
    eight_bits_kernel[(length // block_m, heads)](q, k, v, o, scale, length, block_m, block_n, head, **options)


@triton.jit
def backward_kernel(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                    HEAD: tl.constexpr):
    """Causal attention backwards in one kernel: a block of columns a program, its part of dq added by atomics; weights and scores are turned."""
    head = tl.program_id(1)
    columns, d = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    base = head * length * HEAD
    k = tl.load(k_ptr + base + columns[:, None] * HEAD + d[None, :])
    v = tl.load(v_ptr + base + columns[:, None] * HEAD + d[None, :])
    dk, dv = tl.zeros([BLOCK_N, HEAD], tl.float32), tl.zeros([BLOCK_N, HEAD], tl.float32)
    for start in range(tl.program_id(0) * BLOCK_N // BLOCK_M * BLOCK_M, length, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        at = base + rows[:, None] * HEAD + d[None, :]
        q, do = tl.load(q_ptr + at), tl.load(do_ptr + at)
        p = tl.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.44269504) - tl.load(lse_ptr + head * length + rows)[:, None])
        p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do)
        dp = tl.dot(do, tl.trans(v)) - tl.load(delta_ptr + head * length + rows)[:, None]
        ds = (p * dp * scale).to(q.dtype)
        dk += tl.dot(tl.trans(ds), q)
        tl.atomic_add(dq_ptr + at, tl.dot(ds, k), sem="relaxed")
    at = base + columns[:, None] * HEAD + d[None, :]
    tl.store(dk_ptr + at, dk.to(dk_ptr.dtype.element_ty))
    tl.store(dv_ptr + at, dv.to(dv_ptr.dtype.element_ty))


def backward(q, k, v, do, lse, delta, dq, dk, dv, block_m=64, block_n=64, **options):
    heads, length, head = q.shape
    dq.zero_()
    backward_kernel[(length // block_n, heads)](q, k, v, do, dq, dk, dv, lse, delta, length, head ** -0.5, block_m, block_n, head, **options)


@triton.jit
def scores_kernel(q_ptr, k_ptr, w_ptr, s_ptr, length, HEADS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """The scores by which sparse attention chooses: over all heads of a row the sum of relu(q k) times a weight."""
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    if column > row + BLOCK_M - 1:
        return
    rows, columns, d = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    k = tl.load(k_ptr + columns[:, None] * HEAD + d[None, :])
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for head in range(HEADS):
        q = tl.load(q_ptr + (rows * HEADS + head)[:, None] * HEAD + d[None, :])
        total += tl.maximum(tl.dot(q, tl.trans(k)), 0.0) * tl.load(w_ptr + rows * HEADS + head)[:, None]
    tl.store(s_ptr + rows[:, None] * length + columns[None, :], tl.where(rows[:, None] >= columns[None, :], total, 0.0))


def scores(q, k, w, s, block_m=64, block_n=64, **options):
    length, heads, head = q.shape
    s.zero_()
    scores_kernel[(length // block_m, length // block_n)](q, k, w, s, length, heads, block_m, block_n, head, **options)


@triton.jit
def normed_kernel(x_ptr, g_ptr, w_ptr, y_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """RMS norm and product in one: the first factor is weighed in each trip, its squares are summed beside."""
    rows, columns = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums, squares = tl.zeros([BLOCK_M, BLOCK_N], tl.float32), tl.zeros([BLOCK_M], tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + k[None, :]).to(tl.float32)
        squares += tl.sum(x * x, 1)
        x = (x * tl.load(g_ptr + k)[None, :]).to(w_ptr.dtype.element_ty)
        sums += tl.dot(x, tl.load(w_ptr + k[:, None] * N + columns[None, :]))
    y = sums * tl.rsqrt(squares / K + 1e-6)[:, None]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y.to(y_ptr.dtype.element_ty))


def normed(x, g, w, y, block_m=64, block_n=64, block_k=32, **options):
    (m, k), n = x.shape, w.shape[1]
    normed_kernel[(m // block_m, n // block_n)](x, g, w, y, n, k, block_m, block_n, block_k, **options)


@triton.jit
def turned_kernel(a_ptr, b_ptr, bias_ptr, r_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """A product whose first factor lies by columns and is turned as a tile; sums begin with a bias of rows, a residual is added."""
    rows, columns, k = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32) + tl.load(bias_ptr + rows)[:, None]
    for trip in range(K // BLOCK_K):
        a = tl.load(a_ptr + (trip * BLOCK_K + k)[:, None] * M + rows[None, :])
        b = tl.load(b_ptr + (trip * BLOCK_K + k)[:, None] * N + columns[None, :])
        sums += tl.dot(tl.trans(a), b)
    at = rows[:, None] * N + columns[None, :]
    tl.store(c_ptr + at, sums + tl.load(r_ptr + at))


def turned(a, b, bias, r, c, block_m=64, block_n=64, block_k=32, **options):
    (k, m), n = a.shape, b.shape[1]
    turned_kernel[(n // block_n, m // block_m)](a, b, bias, r, c, m, n, k, block_m, block_n, block_k, **options)
