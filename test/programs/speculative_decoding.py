"""Rejection sampling of drafted tokens, as serving engines do it: flags carried through a loop over drafts."""
import torch
import triton
import triton.language as tl

from beside import same

PLACEHOLDER = -1
PLACEHOLDER_TOKEN_ID: tl.constexpr = PLACEHOLDER


@triton.jit(do_not_specialize=["max_spec_len"])
def rejection_greedy_sample_kernel(output_token_ids_ptr, cu_num_draft_tokens_ptr, draft_token_ids_ptr, target_argmax_ptr, bonus_token_ids_ptr,
                                   is_greedy_ptr, max_spec_len):
    req_idx = tl.program_id(0)
    is_greedy = True if is_greedy_ptr is None else tl.load(is_greedy_ptr + req_idx)
    if not is_greedy:
        # Early exit for non-greedy sampling requests.
        return
    start_idx = 0 if req_idx == 0 else tl.load(cu_num_draft_tokens_ptr + req_idx - 1)
    end_idx = tl.load(cu_num_draft_tokens_ptr + req_idx)
    num_draft_tokens = end_idx - start_idx
    rejected = False
    for pos in range(num_draft_tokens):
        if not rejected:
            draft_token_id = tl.load(draft_token_ids_ptr + start_idx + pos)
            target_argmax_id = tl.load(target_argmax_ptr + start_idx + pos)
            tl.store(output_token_ids_ptr + req_idx * (max_spec_len + 1) + pos, target_argmax_id)
            if draft_token_id != target_argmax_id:
                rejected = True
    if not rejected:
        bonus_token_id = tl.load(bonus_token_ids_ptr + req_idx)
        tl.store(output_token_ids_ptr + req_idx * (max_spec_len + 1) + num_draft_tokens, bonus_token_id)


@triton.jit(do_not_specialize=["max_spec_len"])
def rejection_random_sample_kernel(output_token_ids_ptr, cu_num_draft_tokens_ptr, draft_token_ids_ptr, draft_probs_ptr, target_probs_ptr,
                                   bonus_token_ids_ptr, recovered_token_ids_ptr, uniform_probs_ptr, max_spec_len, vocab_size,
                                   NO_DRAFT_PROBS: tl.constexpr):
    req_idx = tl.program_id(0)
    start_idx = 0 if req_idx == 0 else tl.load(cu_num_draft_tokens_ptr + req_idx - 1)
    end_idx = tl.load(cu_num_draft_tokens_ptr + req_idx)
    rejected = False
    for pos in range(end_idx - start_idx):
        if not rejected:
            draft_token_id = tl.load(draft_token_ids_ptr + start_idx + pos)
            if NO_DRAFT_PROBS:
                draft_prob = 1
            else:
                draft_prob = tl.load(draft_probs_ptr + (start_idx + pos) * vocab_size + draft_token_id)
            target_prob = tl.load(target_probs_ptr + (start_idx + pos) * vocab_size + draft_token_id)
            uniform_prob = tl.load(uniform_probs_ptr + start_idx + pos)
            if draft_prob > 0 and target_prob / draft_prob >= uniform_prob:
                token_id = draft_token_id
            else:
                rejected = True
                token_id = tl.load(recovered_token_ids_ptr + start_idx + pos)
            tl.store(output_token_ids_ptr + req_idx * (max_spec_len + 1) + pos, token_id)
    if not rejected:
        tl.store(output_token_ids_ptr + req_idx * (max_spec_len + 1) + end_idx - start_idx, tl.load(bonus_token_ids_ptr + req_idx))


@triton.jit(do_not_specialize=["replace_from", "replace_to"])
def expand_kernel(output_ptr, input_ptr, cu_num_tokens_ptr, replace_from, replace_to, MAX_NUM_TOKENS: tl.constexpr):
    req_idx = tl.program_id(0)
    if req_idx == 0:
        start_idx = 0
    else:
        start_idx = tl.load(cu_num_tokens_ptr + req_idx - 1)
    end_idx = tl.load(cu_num_tokens_ptr + req_idx)
    src_val = tl.load(input_ptr + req_idx)
    src_val = tl.where(src_val == replace_from, replace_to, src_val)
    offset = tl.arange(0, MAX_NUM_TOKENS)
    tl.store(output_ptr + start_idx + offset, src_val, mask=offset < end_idx - start_idx)


def check_greedy(device):
    counts, most = [3, 0, 2, 4], 4
    ends = torch.tensor(counts).cumsum(0).int()
    draft = torch.tensor([5, 6, 7, 1, 2, 9, 9, 9, 8], dtype=torch.int32)
    target = torch.tensor([5, 6, 7, 1, 3, 9, 4, 9, 8], dtype=torch.int64)
    bonus = torch.tensor([100, 101, 102, 103], dtype=torch.int32)
    for greedy in (None, torch.tensor([True, True, False, True])):
        out = torch.full((4, most + 1), PLACEHOLDER, dtype=torch.int32, device=device)
        rejection_greedy_sample_kernel[(4,)](out, ends.to(device), draft.to(device), target.to(device), bonus.to(device),
                                             greedy if greedy is None else greedy.to(device), most, num_warps=1)
        right = torch.tensor([[5, 6, 7, 100, -1], [101, -1, -1, -1, -1], [1, 3, -1, -1, -1], [9, 4, -1, -1, -1]])
        if greedy is not None:
            right[2] = -1
        same(out, right)


def check_random(device):
    counts, vocab = [2, 3], 4
    ends = torch.tensor(counts).cumsum(0).int().to(device)
    draft = torch.tensor([0, 1, 2, 3, 0], dtype=torch.int32, device=device)
    q, p = torch.full((5, vocab), 0.25, device=device), torch.full((5, vocab), 0.2, device=device)
    p[3] = 0.0
    u = torch.tensor([0.1, 0.9, 0.7, 0.5, 0.1], device=device)
    recovered, bonus = torch.arange(50, 55, dtype=torch.int32, device=device), torch.tensor([90, 91], dtype=torch.int32, device=device)
    out = torch.full((2, 4), -1, dtype=torch.int32, device=device)
    rejection_random_sample_kernel[(2,)](out, ends, draft, q, p, bonus, recovered, u, 3, vocab, NO_DRAFT_PROBS=False)
    same(out, torch.tensor([[0, 51, -1, -1], [2, 53, -1, -1]]))
    out.fill_(-1)
    rejection_random_sample_kernel[(2,)](out, ends, draft, None, p, bonus, recovered, u * 0.2, 3, vocab, NO_DRAFT_PROBS=True)
    same(out, torch.tensor([[0, 1, 90, -1], [2, 53, -1, -1]]))


def check_expansion(device):
    ends = torch.tensor([2, 2, 7], dtype=torch.int32, device=device)
    out = torch.zeros(7, dtype=torch.float32, device=device)
    expand_kernel[(3,)](out, torch.tensor([0.5, 9.0, 1.0], device=device), ends, 1.0, 3.0, MAX_NUM_TOKENS=8)
    same(out, torch.tensor([0.5, 0.5, 3, 3, 3, 3, 3]))
