"""c = a @ b by tiles, in grouped order: programs that run near each other share rows of a and columns of b."""
import tegula as triton
import tegula.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K,
                  a_row, a_column, b_row, b_column, c_row, c_column,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_in_group = GROUP * tiles_n
    first_m = (pid // tiles_in_group) * GROUP
    group_m = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (pid % tiles_in_group) % group_m
    tile_n = (pid % tiles_in_group) // group_m

    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * a_row + k[None, :] * a_column
    b_ptrs = b_ptr + k[:, None] * b_row + n[None, :] * b_column

    accumulator = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * a_column
        b_ptrs += BLOCK_K * b_row

    c_ptrs = c_ptr + m[:, None] * c_row + n[None, :] * c_column
    tl.store(c_ptrs, accumulator, mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b, c, block_m=64, block_n=64, block_k=64, group=8):
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
                        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP=group)
    return c
