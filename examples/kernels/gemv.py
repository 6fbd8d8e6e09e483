"""y = w @ x, a matrix times one vector (a linear layer at batch size 1): bound by reading w once."""
import tegula as triton
import tegula.language as tl


@triton.jit
def gemv_kernel(w_ptr, x_ptr, y_ptr, N, K, w_stride, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    w_ptrs = w_ptr + rows[:, None] * w_stride + k[None, :]

    products = tl.zeros([BLOCK_N, BLOCK_K], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inside = k < K - start
        x = tl.load(x_ptr + start + k, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptrs + start, mask=(rows[:, None] < N) & inside[None, :], other=0.0,
                    eviction_policy="evict_first").to(tl.float32)
        products += w * x[None, :]

    tl.store(y_ptr + rows, tl.sum(products, axis=1), mask=rows < N)


def gemv(w, x, y, block_n=4, block_k=512, **options):
    """`w` is [N, K], its rows contiguous; sums are f32."""
    N, K = w.shape
    gemv_kernel[(triton.cdiv(N, block_n),)](w, x, y, N, K, w.stride(0), BLOCK_N=block_n, BLOCK_K=block_k, **options)
    return y
