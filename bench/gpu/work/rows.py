"""The kernels between the products of a model: losses, norms and their gradients, rotations, choices, sums of columns."""
import tegula as triton
import tegula.language as tl


@triton.jit
def cross_entropy_kernel(x_ptr, stride, target_ptr, loss_ptr, count, columns, BLOCK: tl.constexpr):
    """Loss of a row, and its gradient in place of the logits; the row is read twice."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    target = tl.load(target_ptr + row)
    chosen = tl.load(x_ptr + target).to(tl.float32)
    m, l = float("-inf"), 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        gradient = (tl.exp(x - m) / l - tl.where(at == target, 1.0, 0.0)) / count
        tl.store(x_ptr + at, gradient.to(x_ptr.dtype.element_ty), mask=at < columns)
    tl.store(loss_ptr + row, m + tl.log(l) - chosen)


def cross_entropy(x, target, loss, block=32768, **options):
    cross_entropy_kernel[(x.shape[0],)](x, x.stride(0), target, loss, x.shape[0], x.shape[1], BLOCK=block, **options)


@triton.jit
def rms_norm_backward_kernel(dy_ptr, x_ptr, w_ptr, rstd_ptr, dx_ptr, dw_ptr, rows, columns, per_program, BLOCK: tl.constexpr):
    """Gradient of x, and a share of that of the weights for each program."""
    pid = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    w = tl.load(w_ptr + at, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(pid * per_program, min((pid + 1) * per_program, rows)):
        x = tl.load(x_ptr + row * columns + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * columns + at, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        scaled = dy * w
        dx = rstd * (scaled - x * (rstd * rstd * tl.sum(scaled * x) / columns))
        dw += dy * x * rstd
        tl.store(dx_ptr + row * columns + at, dx.to(dx_ptr.dtype.element_ty), mask=inside)
    tl.store(dw_ptr + pid * columns + at, dw, mask=inside)


def rms_norm_backward(dy, x, w, rstd, dx, dw, **options):
    rows, columns = x.shape
    rms_norm_backward_kernel[(dw.shape[0],)](dy, x, w, rstd, dx, dw, rows, columns, triton.cdiv(rows, dw.shape[0]),
                                             BLOCK=triton.next_power_of_2(columns), **options)


@triton.jit
def swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, columns, BLOCK: tl.constexpr):
    """Gradients of silu(a) * b in place of a and b."""
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    dc = tl.load(dc_ptr + row + at, mask=inside, other=0)
    a = tl.load(a_ptr + row + at, mask=inside, other=0).to(tl.float32)
    b = tl.load(b_ptr + row + at, mask=inside, other=0)
    gate = tl.sigmoid(a)
    silu = a * gate
    tl.store(a_ptr + row + at, (dc * (silu * (1 - gate) + gate) * b).to(a_ptr.dtype.element_ty), mask=inside)
    tl.store(b_ptr + row + at, (dc * silu).to(b_ptr.dtype.element_ty), mask=inside)


def swiglu_backward(dc, a, b, **options):
    swiglu_backward_kernel[(a.shape[0],)](dc, a, b, a.shape[1], BLOCK=triton.next_power_of_2(a.shape[1]), **options)


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, length, heads, HEAD: tl.constexpr, HEADS: tl.constexpr):
    """Both halves of every head of a token, rotated in place."""
    token = tl.program_id(0).to(tl.int64)
    half = tl.arange(0, HEAD // 2)
    head = tl.arange(0, HEADS)
    at = token * heads * HEAD + head[:, None] * HEAD + half[None, :]
    used = head[:, None] < heads
    cos = tl.load(cos_ptr + token % length * (HEAD // 2) + half)
    sin = tl.load(sin_ptr + token % length * (HEAD // 2) + half)
    first = tl.load(x_ptr + at, mask=used, other=0)
    second = tl.load(x_ptr + at + HEAD // 2, mask=used, other=0)
    tl.store(x_ptr + at, first * cos - second * sin, mask=used)
    tl.store(x_ptr + at + HEAD // 2, second * cos + first * sin, mask=used)


def rotary(x, cos, sin, **options):
    """x: tokens x heads x head; cos, sin: length x head / 2."""
    tokens, heads, head = x.shape
    rotary_kernel[(tokens,)](x, cos, sin, cos.shape[0], heads, HEAD=head, HEADS=triton.next_power_of_2(heads), **options)


@triton.jit
def gating_kernel(x_ptr, weight_ptr, index_ptr, experts, TOP: tl.constexpr, BLOCK: tl.constexpr):
    """Softmax over experts, the TOP largest of it one after another, and their shares of the sum."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * experts + at, mask=at < experts, other=float("-inf")).to(tl.float32)
    p = tl.exp(x - tl.max(x))
    p = p / tl.sum(p)
    total = 0.0
    for i in tl.static_range(TOP):
        best, where = tl.max(p, axis=0, return_indices=True)
        tl.store(weight_ptr + row * TOP + i, best)
        tl.store(index_ptr + row * TOP + i, where)
        total += best
        p = tl.where(at == where, -1.0, p)
    chosen = tl.arange(0, TOP)
    tl.debug_barrier()
    weights = tl.load(weight_ptr + row * TOP + chosen)
    tl.store(weight_ptr + row * TOP + chosen, weights / total)


def gating(x, weight, index, **options):
    gating_kernel[(x.shape[0],)](x, weight, index, x.shape[1], TOP=weight.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), **options)


@triton.jit
def sorted_rows_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at)
    tl.store(out_ptr + row * columns + at, tl.sort(x))


def sorted_rows(x, out, **options):
    sorted_rows_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=x.shape[1], **options)


@triton.jit
def column_sums_kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    col = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(tl.program_id(1) * ROWS, rows, ROWS * tl.num_programs(1)):
        row = start + tl.arange(0, ROWS)
        total += tl.load(x_ptr + row[:, None] * columns + col[None, :], mask=(row[:, None] < rows) & (col[None, :] < columns), other=0.0)
    tl.atomic_add(out_ptr + col, tl.sum(total, 0), mask=col < columns)


def column_sums(x, out, parts=16, rows=64, columns=64, **options):
    out.zero_()
    column_sums_kernel[(triton.cdiv(x.shape[1], columns), parts)](x, out, *x.shape, ROWS=rows, COLUMNS=columns, **options)


@triton.jit
def transposed_kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row[:, None] * columns + col[None, :], mask=(row[:, None] < rows) & (col[None, :] < columns))
    tl.store(out_ptr + col[:, None] * rows + row[None, :], tl.trans(x), mask=(col[:, None] < columns) & (row[None, :] < rows))


def transposed(x, out, rows=64, columns=64, **options):
    transposed_kernel[(triton.cdiv(x.shape[0], rows), triton.cdiv(x.shape[1], columns))](x, out, *x.shape, ROWS=rows, COLUMNS=columns,
                                                                                       **options)


@triton.jit
def running_sums_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """Inclusive sums along a row, block by block."""
    row = tl.program_id(0).to(tl.int64) * columns
    before = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < columns, other=0.0).to(tl.float32)
        tl.store(out_ptr + row + at, before + tl.cumsum(x, 0), mask=at < columns)
        before += tl.sum(x)


def running_sums(x, out, block=4096, **options):
    running_sums_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block, **options)
