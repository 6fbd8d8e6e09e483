"""Many products in one launch: rows that are sent to experts, batches of small matrices, one sum shared by programs."""
import tegula as triton
import tegula.language as tl


@triton.jit
def experts_kernel(x_ptr, w_ptr, c_ptr, sorted_ptr, expert_ptr, weight_ptr, N, K, tokens, stride_xm, stride_we, stride_wn, stride_cm,
                   TOP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """c[i] = weight[i] * x[i // TOP] @ w[expert of i].T; rows are sorted by expert and filled up to whole blocks."""
    pid = tl.program_id(0)
    num_n = tl.cdiv(N, BLOCK_N)
    num_m = tl.num_programs(0) // num_n
    in_group = GROUP * num_n
    first_m = pid // in_group * GROUP
    height = min(num_m - first_m, GROUP)
    pid_m, pid_n = first_m + pid % in_group % height, pid % in_group // height
    rows = tl.load(sorted_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))
    used = rows < tokens
    expert = tl.load(expert_ptr + pid_m).to(tl.int64)
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (rows // TOP)[:, None] * stride_xm + offs_k[None, :]
    w_ptrs = w_ptr + expert * stride_we + offs_n[None, :] * stride_wn + offs_k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        x = tl.load(x_ptrs, mask=used[:, None] & (offs_k[None, :] < K - k * BLOCK_K), other=0.0)
        w = tl.load(w_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    acc *= tl.load(weight_ptr + rows, mask=used, other=0.0)[:, None]
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + rows[:, None] * stride_cm + offs_n[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=used[:, None] & (offs_n[None, :] < N))


def experts(x, w, c, order, expert, weight, top, block_m, block_n=128, block_k=64, **options):
    n, k = w.shape[1:]
    experts_kernel[(len(expert) * triton.cdiv(n, block_n),)](
        x, w, c, order, expert, weight, n, k, c.shape[0], x.stride(0), w.stride(0), w.stride(1), c.stride(0), TOP=top,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP=8, **options)


@triton.jit
def small_batch_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One small product a program."""
    pid = tl.program_id(0).to(tl.int64)
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + pid * M * K + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + pid * K * N + k[:, None] * N + n[None, :])
    tl.store(c_ptr + pid * M * N + m[:, None] * N + n[None, :], tl.dot(a, b).to(c_ptr.dtype.element_ty))


def small_batch(a, b, c, **options):
    small_batch_kernel[(a.shape[0],)](a, b, c, M=a.shape[1], N=b.shape[2], K=a.shape[2], **options)


@triton.jit
def list_kernel(a_table, b_table, c_table, size_table, count, PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                BLOCK_K: tl.constexpr):
    """Products of a list: addresses and sizes (m, n, k) lie in device memory, tiles of all of them go round the programs."""
    tile = tl.program_id(0)
    before = 0
    for g in range(count):
        m = tl.load(size_table + 3 * g)
        n = tl.load(size_table + 3 * g + 1)
        k = tl.load(size_table + 3 * g + 2)
        tiles_n = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * tiles_n
        a_ptr = tl.load(a_table + g).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(b_table + g).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(c_table + g).to(tl.pointer_type(tl.float16))
        while tile < before + tiles:
            offs_m = (tile - before) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = (tile - before) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            offs_k = tl.arange(0, BLOCK_K)
            a_ptrs = a_ptr + offs_m[:, None] * k + offs_k[None, :]
            b_ptrs = b_ptr + offs_k[:, None] * n + offs_n[None, :]
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for _ in range(0, tl.cdiv(k, BLOCK_K)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
                a_ptrs += BLOCK_K
                b_ptrs += BLOCK_K * n
            tl.store(c_ptr + offs_m[:, None] * n + offs_n[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        before += tiles


def of_a_list(a_table, b_table, c_table, size_table, programs=132, block_m=128, block_n=128, block_k=64, **options):
    list_kernel[(programs,)](a_table, b_table, c_table, size_table, len(a_table), PROGRAMS=programs, BLOCK_M=block_m, BLOCK_N=block_n,
                             BLOCK_K=block_k, **options)


@triton.jit
def added_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                 BLOCK_K: tl.constexpr, SPLIT: tl.constexpr):
    """c += a @ b; SPLIT programs share K and add what they have by atomics."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    offs_k = part * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
    in_m, in_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(part * BLOCK_K, K, BLOCK_K * SPLIT):
        a = tl.load(a_ptrs, mask=in_m & (k + tl.arange(0, BLOCK_K) < K)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_n & (k + tl.arange(0, BLOCK_K) < K)[:, None], other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * SPLIT
        b_ptrs += BLOCK_K * SPLIT * stride_bk
    tl.atomic_add(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], acc, mask=in_m & in_n)


def added(a, b, c, split=8, block_m=64, block_n=64, block_k=64, **options):
    c.zero_()
    added_kernel[(triton.cdiv(a.shape[0], block_m), triton.cdiv(b.shape[1], block_n), split)](
        a, b, c, a.shape[0], b.shape[1], a.shape[1], a.stride(0), b.stride(0), c.stride(0), BLOCK_M=block_m, BLOCK_N=block_n,
        BLOCK_K=block_k, SPLIT=split, **options)
