"""FlashAttention, forward: softmax(q kᵀ · scale) v with the scores never in memory, causal or not.

Shapes are [heads, length, HEAD], contiguous, heads being batch times heads.
"""
import tegula as triton
import tegula.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length_q, length_k, scale,
                     HEAD: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1)
    q_ptr += head * length_q * HEAD
    out_ptr += head * length_q * HEAD
    k_ptr += head * length_k * HEAD
    v_ptr += head * length_k * HEAD

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + d[None, :], mask=rows[:, None] < length_q, other=0.0)
    scale2 = scale * 1.4426950408889634  # exponentials are powers of two

    largest = tl.full([BLOCK_Q], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, HEAD], tl.float32)

    end = length_k
    if CAUSAL:
        end = min(length_k, (tl.program_id(0) + 1) * BLOCK_Q)
    for start in range(0, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        k = tl.load(k_ptr + columns[None, :] * HEAD + d[:, None], mask=columns[None, :] < length_k, other=0.0)
        scores = tl.dot(q, k) * scale2
        seen = columns[None, :] < length_k
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))

        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_largest[:, None])
        shrink = tl.exp2(largest - new_largest)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + columns[:, None] * HEAD + d[None, :], mask=columns[:, None] < length_k, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        largest = new_largest

    out = acc / total[:, None]
    tl.store(out_ptr + rows[:, None] * HEAD + d[None, :], out, mask=rows[:, None] < length_q)


def attention(q, k, v, out, causal=False, scale=None, block_q=32, block_k=32):
    heads, length_q, head = q.shape
    grid = (triton.cdiv(length_q, block_q), heads)
    attention_kernel[grid](q, k, v, out, length_q, k.shape[1], head ** -0.5 if scale is None else scale,
                           HEAD=head, BLOCK_Q=block_q, BLOCK_K=block_k, CAUSAL=causal)
    return out
