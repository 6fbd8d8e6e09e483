"""Low-rank adapters for tokens of different requests: shrink by split-K, expand into slices, each with its own weights."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def mm_k(a_ptr, b_ptr, ak_stride, bk_stride, offset_k, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
         EVEN_K: tl.constexpr, SPLIT_K: tl.constexpr, CAST_TYPE: tl.constexpr, b_dtype: tl.constexpr):
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K * SPLIT_K)):
        if EVEN_K:
            tiled_a = tl.load(a_ptr)
            tiled_b = tl.load(b_ptr)
        else:
            tiled_a = tl.load(a_ptr, mask=offset_k[None, :] < K - k * (BLOCK_K * SPLIT_K), other=0)
            tiled_b = tl.load(b_ptr, mask=offset_k[:, None] < K - k * (BLOCK_K * SPLIT_K), other=0)
        if CAST_TYPE:
            tiled_a = tiled_a.to(b_dtype)
        accumulator += tl.dot(tiled_a, tiled_b)
        a_ptr += BLOCK_K * SPLIT_K * ak_stride
        b_ptr += BLOCK_K * SPLIT_K * bk_stride
    return accumulator


@triton.jit
def _lora_kernel(input_ptr, lora_ptr, out_ptr, M, N, K: tl.constexpr, token_indices, num_tokens_per_lora, lora_token_start, lora_ids, scaling,
                 stride_im, stride_ik, stride_ln, stride_lr, stride_lk, stride_om, stride_on, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                 BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr, SPLIT_K: tl.constexpr, ADD_INPUTS: tl.constexpr, CAST_TYPE: tl.constexpr):
    cta_n_num = tl.cdiv(N, BLOCK_N)
    cta_m_num = tl.cdiv(M, BLOCK_M)
    pid_sk_m_n = tl.program_id(axis=0)
    pid_sk = pid_sk_m_n % SPLIT_K
    pid_m = (pid_sk_m_n // SPLIT_K) % cta_m_num
    pid_n = pid_sk_m_n // (SPLIT_K * cta_m_num) % cta_n_num
    lora_idx = tl.program_id(axis=1)
    lora_id = tl.load(lora_ids + lora_idx)
    if lora_id == -1:
        # early exit for requests without an adapter
        return
    lora_m_size = tl.load(num_tokens_per_lora + lora_idx)
    cta_m_offset = pid_m * BLOCK_M
    if cta_m_offset >= lora_m_size:
        return
    cta_m_len = min(BLOCK_M, lora_m_size - cta_m_offset)
    start = tl.load(lora_token_start + lora_idx)
    offset_m = tl.arange(0, BLOCK_M) % cta_m_len
    ram = tl.load(token_indices + start + cta_m_offset + offset_m)
    rbn = tl.max_contiguous(tl.multiple_of((tl.arange(0, BLOCK_N) + pid_n * BLOCK_N) % N, BLOCK_N), BLOCK_N)
    offset_k = pid_sk * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptr = input_ptr + ram[:, None] * stride_im + offset_k[None, :] * stride_ik
    b_ptr = lora_ptr + lora_id * stride_ln + offset_k[:, None] * stride_lk + rbn[None, :] * stride_lr
    accumulator = mm_k(a_ptr, b_ptr, stride_ik, stride_lk, offset_k, K, BLOCK_M, BLOCK_N, BLOCK_K, EVEN_K, SPLIT_K, CAST_TYPE,
                       lora_ptr.dtype.element_ty)
    accumulator *= scaling
    offset_cn = tl.arange(0, BLOCK_N) + pid_n * BLOCK_N
    c_ptr = out_ptr + ram[:, None] * stride_om + offset_cn[None, :] * stride_on
    c_mask = (tl.arange(0, BLOCK_M)[:, None] < cta_m_len) & (offset_cn[None, :] < N)
    if ADD_INPUTS:
        accumulator += tl.load(c_ptr, mask=c_mask, other=0.0)
    if SPLIT_K == 1:
        tl.store(c_ptr, accumulator, mask=c_mask)
    else:
        tl.atomic_add(c_ptr, accumulator, mask=c_mask, sem="relaxed")


def apply(x, weights, out, groups, scaling, split_k, add):
    """`groups`: for each adapter its number, or -1, and the tokens that use it."""
    ids, tokens = [g[0] for g in groups], [g[1] for g in groups]
    counts = [len(t) for t in tokens]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    put = lambda values: torch.tensor(values, dtype=torch.int32, device=x.device)
    M, N, K = max(counts), weights.shape[1], weights.shape[2]
    grid = (split_k * triton.cdiv(M, 16) * triton.cdiv(N, 16), len(groups))
    _lora_kernel[grid](x, weights, out, M, N, K, put(sum(tokens, [])), put(counts), put(starts), put(ids), scaling, *x.stride(), *weights.stride(),
                       *out.stride(), BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, EVEN_K=K % (16 * split_k) == 0, SPLIT_K=split_k, ADD_INPUTS=add,
                       CAST_TYPE=x.dtype != weights.dtype)
    return out


def check_shrink_and_expand(device):
    groups = [(1, [0, 3, 4]), (-1, [2]), (0, [1] + list(range(5, 25)))]
    x = normal(25, 70, device=device, dtype=torch.float16)
    A, B = normal(2, 8, 70, device=device, dtype=torch.float16, seed=1), normal(2, 40, 16, device=device, dtype=torch.float16, seed=2)
    small = apply(x, A, torch.zeros(25, 16, device=device), groups, 0.5, 2, False)
    y = normal(25, 40, device=device, dtype=torch.float16, seed=3)
    start = wide(y)
    apply(small, B, y, groups, 1.0, 1, True)
    expected_small, expected = torch.zeros(25, 16, dtype=torch.float64), start.clone()
    for adapter, tokens in groups:
        if adapter >= 0:
            expected_small[tokens, :8] = 0.5 * wide(x)[tokens] @ wide(A)[adapter].T
            expected[tokens] += wide(small)[tokens] @ wide(B)[adapter].T
    close(small, expected_small, error=1e-6)
    close(y, expected, error=2e-3)
