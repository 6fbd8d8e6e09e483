"""The cases of bench/gpu/work/forms.py: part `forms` of `./x bench gpu`."""
import torch

from more_work_cases import argument_order
from work_problem import Work, empty, normal, options

BF16, F16, F32, F8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn
LOG2E = 1.44269504


def make_attend(g, heads, length, head):
    q, k, v = (normal(g, heads, length, head) for _ in range(3))
    return {"q": q, "k": k, "v": v, "slope": torch.rand(heads, generator=g, device=g.device) / 16, "o": empty(g, heads, length, head)}


def attend(s, is_causal):
    q, k, v = (s[name].double() for name in ("q", "k", "v"))
    at = torch.arange(q.shape[1], device=q.device)
    scores = (q * (LOG2E * q.shape[2] ** -0.5)).half().double() @ k.mT - s["slope"].double()[:, None, None] * (at[:, None] - at).abs()
    if is_causal:
        scores = scores.masked_fill(at[:, None] < at, -torch.inf)
    return [torch.softmax(scores / LOG2E, 2) @ v]


def make_eight_bits(g, heads, length, head):
    q, k, v = (normal(g, heads, length, head, dtype=F32).to(F8) for _ in range(3))
    return {"q": q, "k": k, "v": v.view(torch.uint8).mT.contiguous().view(F8), "scale": torch.rand(heads, generator=g, device=g.device) / 8,
            "o": empty(g, heads, length, head, dtype=BF16)}


def eight_bits(s):
    q, k, v = (s[name].float() for name in ("q", "k", "v"))
    weights = torch.softmax(q.double() @ k.double().mT * (s["scale"].double()[:, None, None] / LOG2E), 2)
    return [weights @ v.double().mT]


def make_backward(g, heads, length, head):
    s = {name: normal(g, heads, length, head) for name in ("q", "k", "v", "do")}
    scores, weights = causal_weights(s)
    lse = torch.logsumexp(scores, 2) * LOG2E
    delta = ((weights @ s["v"].double()) * s["do"].double()).sum(2)
    return {**s, "lse": lse.float(), "delta": delta.float(), "dq": empty(g, heads, length, head, dtype=F32), "dk": empty(g, heads, length, head),
            "dv": empty(g, heads, length, head)}


def causal_weights(s):
    q, k = s["q"].double(), s["k"].double()
    scores = (q @ k.mT * q.shape[2] ** -0.5).masked_fill(torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device).triu(1), -torch.inf)
    return scores, torch.softmax(scores, 2)


def backward(s):
    q, k, v, do = (s[name].double() for name in ("q", "k", "v", "do"))
    weights = causal_weights(s)[1]
    ds = weights * (do @ v.mT - s["delta"].double()[:, :, None]) * q.shape[2] ** -0.5
    return [ds @ k, ds.mT @ q, weights.mT @ do]


def make_scores(g, length, heads, head):
    return {"q": normal(g, length, heads, head, dtype=BF16), "k": normal(g, length, head, dtype=BF16), "w": normal(g, length, heads, dtype=F32),
            "s": empty(g, length, length, dtype=F32)}


def scores(s):
    each = torch.einsum("ihd,jd->ijh", s["q"].double(), s["k"].double()).relu()
    return [(each * s["w"].double()[:, None]).sum(2).tril()]


def make_normed(g, m, n, k):
    return {"x": normal(g, m, k, dtype=BF16), "g": normal(g, k, dtype=F32), "w": normal(g, k, n, dtype=BF16, scale=k ** -0.5), "y": empty(g, m, n, dtype=BF16)}


def normed(s):
    x = s["x"].double()
    return [(x * s["g"].double()) @ s["w"].double() * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6)]


def make_turned(g, m, n, k):
    return {"a": normal(g, k, m, dtype=BF16), "b": normal(g, k, n, dtype=BF16), "bias": normal(g, m, dtype=BF16), "r": normal(g, m, n, dtype=BF16),
            "c": empty(g, m, n, dtype=F32)}


def turned(s):
    return [s["a"].double().T @ s["b"].double() + s["bias"].double()[:, None] + s["r"].double()]


BLOCKS = [dict(block_m=128, block_n=64, **options(4, 3)), dict(block_m=128, block_n=64, **options(8, 3)), dict(block_m=64, block_n=64, **options(4, 3)),
          dict(block_m=128, block_n=128, **options(8, 2))]
TILES = [dict(block_m=128, block_n=128, block_k=64, **options(8, 3)), dict(block_m=128, block_n=128, block_k=32, **options(4, 4)),
         dict(block_m=128, block_n=256, block_k=64, **options(8, 3))]


def attend_case(is_causal):
    return Work(f"attention with distances, {'causal' if is_causal else 'full'}", "forms",
                lambda module, s, **config: module.attend(s["q"], s["k"], s["v"], s["slope"], s["o"], is_causal, **config), make_attend, ("o",),
                lambda s: attend(s, is_causal), dict(heads=2, length=128, head=64, config={}),
                {f"32 x 4K, head {head}": dict(heads=32, length=4096, head=head) for head in (64, 128)}, BLOCKS)


WORK = [
    attend_case(False),
    attend_case(True),
    Work("attention of 8 bits", "forms", argument_order("eight_bits", "q", "k", "v", "scale", "o"), make_eight_bits, ("o",), eight_bits,
         dict(heads=2, length=128, head=64, config={}), {f"16 x 4K, head {head}": dict(heads=16, length=4096, head=head) for head in (64, 128)}, BLOCKS,
         allowed=5e-2),
    Work("attention backwards by atomics", "forms", argument_order("backward", "q", "k", "v", "do", "lse", "delta", "dq", "dk", "dv"), make_backward,
         ("dq", "dk", "dv"), backward, dict(heads=2, length=128, head=64, config={}),
         {f"16 x 2K, head {head}": dict(heads=16, length=2048, head=head) for head in (64, 128)},
         [dict(block_m=64, block_n=64, **options(4, 2)), dict(block_m=64, block_n=128, **options(8, 2)), dict(block_m=128, block_n=128, **options(8, 1))]),
    Work("scores of an indexer", "forms", argument_order("scores", "q", "k", "w", "s"), make_scores, ("s",), scores,
         dict(length=128, heads=3, head=64, config={}), {"2K, 64 heads of 128": dict(length=2048, heads=64, head=128)},
         [dict(block_m=128, block_n=128, **options(8, 3)), dict(block_m=64, block_n=128, **options(4, 3)), dict(block_m=128, block_n=64, **options(4, 3))]),
    Work("norm and product in one", "forms", argument_order("normed", "x", "g", "w", "y"), make_normed, ("y",), normed,
         dict(m=64, n=128, k=96, config={}), {"4096x4096x4096": dict(m=4096, n=4096, k=4096)}, TILES),
    Work("turned factor, bias and residual", "forms", argument_order("turned", "a", "b", "bias", "r", "c"), make_turned, ("c",), turned,
         dict(m=64, n=128, k=96, config={}), {"4096x4096x4096": dict(m=4096, n=4096, k=4096)}, TILES),
]
