"""Products of quantized factors: 8-bit floats with scales of blocks, 4-bit weights with scales of groups, bytes with scales of rows."""
import tegula as triton
import tegula.language as tl


@triton.jit
def block_scaled_kernel(a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, M, N, K, stride_am, stride_bn, stride_cm, stride_asm,
                        stride_bsn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """c = a @ b.T; a scale for 128 elements of a row of a, and one for 128x128 elements of b."""
    pid = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP * num_n
    first_m = pid // in_group * GROUP
    rows = min(num_m - first_m, GROUP)
    pid_m, pid_n = first_m + pid % in_group % rows, pid % in_group // rows
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + offs_n[None, :] * stride_bn + offs_k[:, None]
    a_scales = a_scale_ptr + offs_m * stride_asm
    b_scales = b_scale_ptr + offs_n // 128 * stride_bsn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        at = k * BLOCK_K // 128
        acc += tl.dot(a, b) * tl.load(a_scales + at)[:, None] * tl.load(b_scales + at)[None, :]
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def block_scaled(a, b, a_scale, b_scale, c, block_m=128, block_n=128, block_k=128, **options):
    m, k = a.shape
    n = b.shape[0]
    block_scaled_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
        a, b, c, a_scale, b_scale, m, n, k, a.stride(0), b.stride(0), c.stride(0), a_scale.stride(0), b_scale.stride(0),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP=8, **options)


@triton.jit
def four_bit_kernel(a_ptr, packed_ptr, scale_ptr, c_ptr, M, N, K, stride_am, stride_pk, stride_sg, stride_cm, GROUP_SIZE: tl.constexpr,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = a @ ((w - 8) * scale); eight rows of w lie in a word, a scale serves GROUP_SIZE rows of a column."""
    pid_m, pid_n = tl.program_id(1), tl.program_id(0)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    packed_ptrs = packed_ptr + (offs_k // 8)[:, None] * stride_pk + offs_n[None, :]
    shifts = (offs_k % 8 * 4)[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=offs_m[:, None] < M, other=0.0)
        words = tl.load(packed_ptrs)
        scales = tl.load(scale_ptr + k // GROUP_SIZE * stride_sg + offs_n)
        w = (((words >> shifts) & 15) - 8).to(a.dtype) * scales[None, :]
        acc = tl.dot(a, w, acc)
        a_ptrs += BLOCK_K
        packed_ptrs += BLOCK_K // 8 * stride_pk
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], acc.to(c_ptr.dtype.element_ty), mask=offs_m[:, None] < M)


def four_bit(a, packed, scale, c, block_m=16, block_n=64, block_k=64, **options):
    m, k = a.shape
    n = packed.shape[1]
    four_bit_kernel[(n // block_n, triton.cdiv(m, block_m))](
        a, packed, scale, c, m, n, k, a.stride(0), packed.stride(0), scale.stride(0), c.stride(0), GROUP_SIZE=k // scale.shape[0],
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, **options)


@triton.jit
def row_scaled_bytes_kernel(a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, M, N, K, stride_am, stride_bn, stride_cm,
                            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = (a @ b.T) * a_scale * b_scale, of bytes."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    in_m, in_n = offs_m < M, offs_n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        inside = k + offs_k < K
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + (k + offs_k)[None, :], mask=in_m[:, None] & inside[None, :], other=0)
        b = tl.load(b_ptr + offs_n[None, :] * stride_bn + (k + offs_k)[:, None], mask=in_n[None, :] & inside[:, None], other=0)
        acc += tl.dot(a, b)
    a_scale = tl.load(a_scale_ptr + offs_m, mask=in_m, other=0.0)
    b_scale = tl.load(b_scale_ptr + offs_n, mask=in_n, other=0.0)
    c = acc.to(tl.float32) * a_scale[:, None] * b_scale[None, :]
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], c.to(c_ptr.dtype.element_ty), mask=in_m[:, None] & in_n[None, :])


def row_scaled_bytes(a, b, a_scale, b_scale, c, block_m=128, block_n=128, block_k=128, **options):
    m, k = a.shape
    n = b.shape[0]
    row_scaled_bytes_kernel[(triton.cdiv(m, block_m), triton.cdiv(n, block_n))](
        a, b, c, a_scale, b_scale, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=block_m, BLOCK_N=block_n,
        BLOCK_K=block_k, **options)
