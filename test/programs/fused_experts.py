"""A mixture of experts: softmax and top-k of the router, tokens aligned by expert, the experts' product."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def topk_softmax_kernel(logits, weights, ids, n_experts, TOPK: tl.constexpr, RENORM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    x = tl.load(logits + row * n_experts + e, mask=e < n_experts, other=float("-inf"))
    x = tl.softmax(x.to(tl.float32))
    total = 0.0
    for k in tl.static_range(TOPK):
        best = tl.argmax(x, axis=0, tie_break_left=True)
        w = tl.max(x, axis=0)
        tl.store(weights + row * TOPK + k, w)
        tl.store(ids + row * TOPK + k, best)
        total += w
        x = tl.where(e == best, float("-inf"), x)
    if RENORM:
        k = tl.arange(0, 16)
        tl.debug_barrier()
        w = tl.load(weights + row * TOPK + k, mask=k < TOPK, other=0)
        tl.store(weights + row * TOPK + k, w / total, mask=k < TOPK)


@triton.jit
def moe_align_block_size_stage1(topk_ids_ptr, tokens_cnts_ptr, num_experts: tl.constexpr, numel: tl.constexpr, tokens_per_thread: tl.constexpr):
    pid = tl.program_id(0)
    start_idx = pid * tokens_per_thread
    off_c = (pid + 1) * num_experts
    for i in range(tokens_per_thread):
        if start_idx + i < numel:
            idx = tl.load(topk_ids_ptr + start_idx + i)
            token_cnt = tl.load(tokens_cnts_ptr + off_c + idx)
            tl.store(tokens_cnts_ptr + off_c + idx, token_cnt + 1)


@triton.jit
def moe_align_block_size_stage2(tokens_cnts_ptr, num_experts: tl.constexpr):
    pid = tl.program_id(0)
    last_cnt = 0
    for i in range(1, num_experts + 1):
        token_cnt = tl.load(tokens_cnts_ptr + i * num_experts + pid)
        last_cnt = last_cnt + token_cnt
        tl.store(tokens_cnts_ptr + i * num_experts + pid, last_cnt)


@triton.jit
def moe_align_block_size_stage3(total_tokens_post_pad_ptr, tokens_cnts_ptr, cumsum_ptr, num_experts: tl.constexpr, block_size: tl.constexpr):
    last_cumsum = 0
    off_cnt = num_experts * num_experts
    for i in range(1, num_experts + 1):
        token_cnt = tl.load(tokens_cnts_ptr + off_cnt + i - 1)
        last_cumsum = last_cumsum + tl.cdiv(token_cnt, block_size) * block_size
        tl.store(cumsum_ptr + i, last_cumsum)
    tl.store(total_tokens_post_pad_ptr, last_cumsum)


@triton.jit
def moe_align_block_size_stage4(topk_ids_ptr, sorted_token_ids_ptr, expert_ids_ptr, tokens_cnts_ptr, cumsum_ptr, num_experts: tl.constexpr,
                                block_size: tl.constexpr, numel: tl.constexpr, tokens_per_thread: tl.constexpr):
    pid = tl.program_id(0)
    start_idx = tl.load(cumsum_ptr + pid)
    end_idx = tl.load(cumsum_ptr + pid + 1)
    for i in range(start_idx, end_idx, block_size):
        tl.store(expert_ids_ptr + i // block_size, pid)
    start_idx = pid * tokens_per_thread
    off_t = pid * num_experts
    for i in range(start_idx, tl.minimum(start_idx + tokens_per_thread, numel)):
        expert_id = tl.load(topk_ids_ptr + i)
        token_cnt = tl.load(tokens_cnts_ptr + off_t + expert_id)
        rank_post_pad = token_cnt + tl.load(cumsum_ptr + expert_id)
        tl.store(sorted_token_ids_ptr + rank_post_pad, i)
        tl.store(tokens_cnts_ptr + off_t + expert_id, token_cnt + 1)


@triton.jit
def write_zeros_to_output(c_ptr, stride_cm, stride_cn, pid_n, N, offs_token, token_mask, BLOCK_SIZE_M, BLOCK_SIZE_N, compute_type):
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=compute_type)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_token[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, accumulator, mask=token_mask[:, None] & (offs_cn[None, :] < N))


@triton.jit
def fused_moe_kernel(a_ptr, b_ptr, c_ptr, topk_weights_ptr, sorted_token_ids_ptr, expert_ids_ptr, num_tokens_post_padded_ptr, N, K, EM,
                     num_valid_tokens, stride_am, stride_ak, stride_be, stride_bk, stride_bn, stride_cm, stride_cn,
                     BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr,
                     MUL_ROUTED_WEIGHT: tl.constexpr, top_k: tl.constexpr, compute_type: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(EM, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    num_tokens_post_padded = tl.load(num_tokens_post_padded_ptr)
    if pid_m * BLOCK_SIZE_M >= num_tokens_post_padded:
        return
    offs_token_id = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M).to(tl.int64)
    offs_token = tl.load(sorted_token_ids_ptr + offs_token_id)
    token_mask = offs_token < num_valid_tokens
    off_experts = tl.load(expert_ids_ptr + pid_m).to(tl.int64)
    if off_experts == -1:
        write_zeros_to_output(c_ptr, stride_cm, stride_cn, pid_n, N, offs_token, token_mask, BLOCK_SIZE_M, BLOCK_SIZE_N, compute_type)
        return
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N).to(tl.int64)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_token[:, None] // top_k * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + off_experts * stride_be + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=token_mask[:, None] & (offs_k[None, :] < K - k * BLOCK_SIZE_K), other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if MUL_ROUTED_WEIGHT:
        moe_weight = tl.load(topk_weights_ptr + offs_token, mask=token_mask, other=0)
        accumulator = accumulator * moe_weight[:, None]
    accumulator = accumulator.to(compute_type)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_token[:, None] + stride_cn * offs_cn[None, :]
    c_mask = token_mask[:, None] & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator, mask=c_mask)


def align(topk_ids, block_size, num_experts):
    numel = topk_ids.numel()
    most = numel + num_experts * (block_size - 1)
    device = topk_ids.device
    sorted_ids = torch.full((most,), numel, dtype=torch.int32, device=device)
    expert_ids = torch.full((triton.cdiv(most, block_size),), -1, dtype=torch.int32, device=device)
    total = torch.empty(1, dtype=torch.int32, device=device)
    tokens_cnts = torch.zeros((num_experts + 1, num_experts), dtype=torch.int32, device=device)
    cumsum = torch.zeros((num_experts + 1,), dtype=torch.int32, device=device)
    tokens_per_thread = triton.cdiv(numel, num_experts)
    grid = (num_experts,)
    moe_align_block_size_stage1[grid](topk_ids, tokens_cnts, num_experts, numel, tokens_per_thread)
    moe_align_block_size_stage2[grid](tokens_cnts, num_experts)
    moe_align_block_size_stage3[(1,)](total, tokens_cnts, cumsum, num_experts, block_size)
    moe_align_block_size_stage4[grid](topk_ids, sorted_ids, expert_ids, tokens_cnts, cumsum, num_experts, block_size, numel, tokens_per_thread)
    return sorted_ids, expert_ids, total


def fused_moe(x, w, logits, top_k):
    tokens, experts = x.shape[0], w.shape[0]
    weights = torch.empty(tokens, top_k, device=x.device)
    ids = torch.empty(tokens, top_k, dtype=torch.int32, device=x.device)
    topk_softmax_kernel[(tokens,)](logits, weights, ids, experts, TOPK=top_k, RENORM=True, BLOCK=triton.next_power_of_2(experts))
    sorted_ids, expert_ids, total = align(ids, 16, experts)
    c = torch.zeros(tokens, top_k, w.shape[1], dtype=x.dtype, device=x.device)
    EM = sorted_ids.shape[0]
    grid = lambda META: (triton.cdiv(EM, META["BLOCK_SIZE_M"]) * triton.cdiv(w.shape[1], META["BLOCK_SIZE_N"]),)
    fused_moe_kernel[grid](x, w, c, weights, sorted_ids, expert_ids, total, w.shape[1], w.shape[2], EM // 16 * 16, ids.numel(), x.stride(0),
                           x.stride(1), w.stride(0), w.stride(2), w.stride(1), c.stride(1), c.stride(2), BLOCK_SIZE_M=16, BLOCK_SIZE_N=32,
                           BLOCK_SIZE_K=32, GROUP_SIZE_M=2, MUL_ROUTED_WEIGHT=True, top_k=top_k,
                           compute_type=tl.float16 if x.dtype == torch.float16 else tl.bfloat16)
    return c.sum(1), weights, ids


def check_two_experts_of_five(device):
    tokens, experts, n, k, top_k = 11, 5, 40, 50, 2
    x, w = normal(tokens, k, device=device, dtype=torch.float16), normal(experts, n, k, device=device, dtype=torch.float16, seed=1, scale=0.3)
    logits = normal(tokens, experts, device=device, seed=2)
    y, weights, ids = fused_moe(x, w, logits, top_k)
    p, best = torch.softmax(wide(logits), 1).topk(top_k)
    p = p / p.sum(1, keepdim=True)
    close(weights, p, error=1e-6)
    assert torch.equal(ids.cpu().long(), best)
    expected = torch.einsum("tk,tenk,te->tn", wide(x), wide(w)[best], p)
    close(y, expected, error=3e-3)
