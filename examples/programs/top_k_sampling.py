"""Sampling from the k most likely tokens: the k-th largest logit by bisection, a masked softmax, a draw from its sums."""
import torch
import triton
import triton.language as tl

from beside import close, normal, same, wide


@triton.jit
def kth_largest(x, k, mask, ROUNDS: tl.constexpr):
    lo = tl.min(tl.where(mask, x, float("inf")), axis=0)
    hi = tl.max(tl.where(mask, x, float("-inf")), axis=0)
    for _ in tl.static_range(ROUNDS):
        mid = (lo + hi) * 0.5
        many = tl.sum((mask & (x >= mid)).to(tl.int32), axis=0) >= k
        lo = tl.where(many, mid, lo)
        hi = tl.where(many, hi, mid)
    return lo


@triton.jit(do_not_specialize=["seed"])
def top_k_sample_kernel(logits_ptr, probs_ptr, token_ptr, uniform_ptr, temperature_ptr, k_ptr, seed, stride, vocab,
                        BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < vocab
    temperature = tl.load(temperature_ptr + row)
    k = tl.load(k_ptr + row)
    logits = tl.load(logits_ptr + row * stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    if temperature == 0:
        tl.store(token_ptr + row, tl.argmax(logits, axis=0).to(tl.int64))
        return
    logits = logits / temperature
    threshold = kth_largest(logits, k, mask, 40)
    kept = mask & (logits >= threshold)
    logits = tl.where(kept, logits, -float("inf"))
    p = tl.exp(logits - tl.max(logits, axis=0))
    p = p / tl.sum(p, axis=0)
    tl.store(probs_ptr + row * stride + cols, p, mask=mask)
    u = tl.rand(seed, row)
    tl.store(uniform_ptr + row, u)
    running = tl.cumsum(p, axis=0)
    token = tl.min(tl.where(kept & (running >= u), cols, BLOCK), axis=0)
    tl.store(token_ptr + row, token)


def sample(logits, temperature, k, seed):
    rows, vocab = logits.shape
    probs = torch.zeros(rows, vocab, dtype=torch.float32, device=logits.device)
    tokens = torch.full((rows,), -1, dtype=torch.int64, device=logits.device)
    uniform = torch.zeros(rows, dtype=torch.float32, device=logits.device)
    top_k_sample_kernel[(rows,)](logits, probs, tokens, uniform, temperature, k, seed, logits.stride(0), vocab,
                                 BLOCK=triton.next_power_of_2(vocab))
    return tokens, probs, uniform


@triton.jit
def gumbel_max_kernel(logits_ptr, out_ptr, seeds_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    seed = tl.load(seeds_ptr + row)
    best = -float("inf")
    arg = 0
    for start in tl.range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * vocab + cols, mask=cols < vocab, other=float("-inf"))
        u = tl.rand(seed, cols)
        noise = -tl.log(-tl.log(tl.maximum(u, 1e-20)))
        v, i = tl.max(x + noise, axis=0, return_indices=True)
        if v > best:
            best = v
            arg = start + i
    tl.store(out_ptr + row, arg)


def check_probabilities_and_draws(device):
    logits = normal(6, 200, device=device, scale=2.0)
    temperature = torch.tensor([1.0, 0.5, 0.0, 2.0, 1.0, 1.0], device=device)
    ks = [1, 5, 3, 50, 200, 20]
    tokens, probs, uniform = sample(logits, temperature, torch.tensor(ks, dtype=torch.int32, device=device), 1234)
    tokens, uniform = tokens.cpu(), uniform.cpu()
    assert tokens[2] == logits[2].argmax().item() and len(set(uniform.tolist())) >= 5 and (uniform < 1).all()
    for row, k in enumerate(ks):
        if row == 2:
            continue
        x = wide(logits[row]) / temperature[row].item()
        kept = x >= x.topk(k).values[-1]
        p = torch.softmax(x.masked_fill(~kept, float("-inf")), 0)
        close(probs[row], p, error=1e-6)
        at = int(tokens[row])
        assert kept[at] and p[:at].sum() - 1e-5 <= uniform[row] <= p[:at + 1].sum() + 1e-5


def check_gumbel_draws_likely_tokens(device):
    logits = torch.full((64, 100), -50.0, device=device)
    logits[:, 17], logits[:, 71] = 1.0, 1.0
    out = torch.zeros(64, dtype=torch.int32, device=device)
    gumbel_max_kernel[(64,)](logits, out, torch.arange(64, device=device), 100, BLOCK=32)
    drawn = set(out.tolist())
    assert drawn == {17, 71}, drawn
    again = torch.zeros_like(out)
    gumbel_max_kernel[(64,)](logits, again, torch.arange(64, device=device), 100, BLOCK=32)
    same(out, again)
