"""The cases of bench/gpu/work/models.py: part `models` of `./x bench gpu`."""
import torch
import torch.nn.functional as F

from more_work_cases import argument_order
from work_problem import Work, empty, normal, options, whole

BF16, F32 = torch.bfloat16, torch.float32


def make_recurrent(g, batch, length, heads, head, scale=1.0):
    return {"q": normal(g, batch, length, heads, head, dtype=BF16, scale=scale), "k": normal(g, batch, length, heads, head, dtype=BF16, scale=scale),
            "v": normal(g, batch, length, heads, head, dtype=BF16), "g": -torch.rand(batch, length, heads, generator=g, device=g.device) * 0.1,
            "beta": torch.rand(batch, length, heads, generator=g, device=g.device), "o": empty(g, batch, length, heads, head, dtype=BF16)}


def gated(s):
    q, k, v, g = (s[name].double() for name in ("q", "k", "v", "g"))
    state, found = torch.zeros(*q[:, 0].shape, v.shape[3], dtype=q.dtype, device=q.device), []
    for t in range(q.shape[1]):
        state = state * g[:, t].exp()[..., None, None] + k[:, t, :, :, None] * v[:, t, :, None, :]
        found.append((q[:, t, :, None, :] @ state)[:, :, 0] * q.shape[3] ** -0.5)
    return [torch.stack(found, 1)]


def delta(s, rows=64):
    q, k, v, beta = (s[name].double().transpose(1, 2).unflatten(2, (-1, rows)) for name in ("q", "k", "v", "beta"))
    below = (k * beta[..., None] @ k.mT).tril(-1)
    inverse = torch.eye(rows, dtype=q.dtype, device=q.device) - below
    inverse = inverse + below @ below @ inverse
    return [((q @ k.mT).tril() @ (inverse @ (v * beta[..., None]))).flatten(2, 3).transpose(1, 2)]


def make_latent(g, batch, heads, latent, rotary, page, pages, splits, length):
    table = torch.randperm(batch * pages, generator=g, device=g.device).reshape(batch, pages).int()
    return {"q": normal(g, batch, heads, latent + rotary, dtype=BF16), "kv": normal(g, batch * pages * page, latent + rotary, dtype=BF16),
            "o": empty(g, batch, heads, splits, latent, dtype=F32), "lse": empty(g, batch, heads, splits, dtype=F32), "table": table,
            "lengths": torch.full((batch,), length, dtype=torch.int32, device=g.device)}


def latent(s):
    splits, width = s["o"].shape[2:]
    outs, sums = [], []
    for q, table, length in zip(s["q"].double(), s["table"], s["lengths"].tolist()):
        keys = s["kv"].double().unflatten(0, (s["table"].numel(), -1))[table.long()].flatten(0, 1)[:length]
        scores = q @ keys.T * q.shape[1] ** -0.5
        each = -(-length // splits)
        parts = [(scores[:, i:i + each], keys[i:i + each, :width]) for i in range(0, length, each)]
        outs.append(torch.stack([part.softmax(1) @ values for part, values in parts], 1))
        sums.append(torch.stack([part.logsumexp(1) for part, values in parts], 1))
    return [torch.stack(outs), torch.stack(sums)]


def make_bytes(g, m, n, k):
    return {"a": normal(g, m, k, dtype=BF16), "w": whole(g, -127, 128, n, k, dtype=torch.int8),
            "scale": torch.rand(n, generator=g, device=g.device) / 127, "c": empty(g, m, n, dtype=BF16)}


def make_causal(g, batch, length, width):
    return {"x": normal(g, batch, length, width, dtype=BF16), "w": normal(g, width, 4, dtype=BF16), "bias": normal(g, width, dtype=BF16),
            "o": empty(g, batch, length, width, dtype=BF16)}


def causal(s):
    x = F.pad(s["x"].double().mT, (3, 0))
    return [F.silu(F.conv1d(x, s["w"].double()[:, None], s["bias"].double(), groups=x.shape[1])).mT]


def make_strided(g, n, c, h, w, is_last):
    x = normal(g, n, c, h, w, dtype=BF16)
    y = normal(g, c, dtype=BF16)
    x, y = (x.permute(0, 2, 3, 1), y.expand(n, h, w, c)) if is_last else (x, y[:, None, None].expand(n, c, h, w))
    return {"x": x, "y": y, "o": empty(g, *x.shape, dtype=BF16)}


def strided(s):
    x, y = s["x"].double(), s["y"].double()
    return [F.gelu(x) * y + x]


def gelu_case(by_tanh):
    return Work(f"GELU by {'tanh' if by_tanh else 'erf'}", "models", lambda module, s, **config: module.gelu(s["x"], s["o"], by_tanh, **config),
                lambda g, n: {"x": normal(g, n, dtype=BF16), "o": empty(g, n, dtype=BF16)}, ("o",),
                lambda s: [F.gelu(s["x"].double(), approximate="tanh" if by_tanh else "none")], dict(n=1000, config=dict(block=256)),
                {"2^26": dict(n=1 << 26)}, [dict(block=1024, **options(4)), dict(block=2048, **options(8)), dict(block=4096, **options(8))])


LINES = [dict(block=512, **options(4)), dict(block=1024, **options(4)), dict(block=2048, **options(8))]
WORK = [
    Work("gated linear attention by chunks", "models", argument_order("gated", "q", "k", "v", "g", "o"), make_recurrent, ("o",), gated,
         dict(batch=1, length=40, heads=2, head=32, config=dict(rows=16, columns=16)), {"8 x 4K, 16 of 128": dict(batch=8, length=4096, heads=16, head=128)},
         [dict(rows=64, columns=64, **options(4, 2)), dict(rows=64, columns=128, **options(8, 2)), dict(rows=32, columns=64, **options(4, 3))]),
    Work("delta rule within chunks", "models", argument_order("delta", "q", "k", "v", "beta", "o"), make_recurrent, ("o",), delta,
         dict(batch=1, length=128, heads=2, head=32, scale=0.1, config=dict(num_warps=4)),
         {"4 x 4K, 16 of 128": dict(batch=4, length=4096, heads=16, head=128, scale=0.1)}, [options(4), options(8)]),
    Work("latent attention over pages", "models", lambda module, s, **config: module.latent(
        s["q"], s["kv"], s["o"], s["lse"], s["table"], s["lengths"], s["kv"].shape[0] // s["table"].numel(), s["q"].shape[2] - s["o"].shape[3], **config),
         make_latent, ("o", "lse"), latent, dict(batch=2, heads=16, latent=32, rotary=16, page=8, pages=5, splits=2, length=37, config=dict(block_h=16, block_n=16)),
         {"64 x 4000, 128 heads": dict(batch=64, heads=128, latent=512, rotary=64, page=64, pages=64, splits=4, length=4000)},
         [dict(block_h=16, block_n=32, **options(4, 2)), dict(block_h=64, block_n=32, **options(8, 2)), dict(block_h=64, block_n=64, **options(8, 1))]),
    Work("bytes as weights", "models", argument_order("byte_weights", "a", "w", "scale", "c"), make_bytes, ("c",),
         lambda s: [s["a"].double() @ (s["w"].double() * s["scale"].double()[:, None]).T], dict(m=20, n=40, k=64, config={}),
         {"4096x4096x4096": dict(m=4096, n=4096, k=4096), "16x4096x4096": dict(m=16, n=4096, k=4096)},
         [dict(block_m=128, block_n=128, block_k=64, **options(4, 3)), dict(block_m=128, block_n=256, block_k=64, **options(8, 3)),
          dict(block_m=16, block_n=64, block_k=128, **options(4, 4)), dict(block_m=16, block_n=32, block_k=256, **options(4, 3))]),
    Work("causal convolution", "models", argument_order("causal", "x", "w", "bias", "o"), make_causal, ("o",), causal,
         dict(batch=2, length=37, width=64, config={}), {"4 x 4K x 4096": dict(batch=4, length=4096, width=4096)},
         [dict(rows=64, columns=64, **options(4)), dict(rows=16, columns=128, **options(4)), dict(rows=8, columns=256, **options(4))]),
    gelu_case(True),
    gelu_case(False),
    Work("strides of four dimensions", "models", argument_order("strided", "x", "y", "o"), make_strided, ("o",), strided,
         dict(n=2, c=6, h=5, w=7, is_last=True, config=dict(block=128)),
         {"32x64x56x56, channels last": dict(n=32, c=64, h=56, w=56, is_last=True), "32x64x56x56": dict(n=32, c=64, h=56, w=56, is_last=False)}, LINES),
    Work("bilinear, twice the size", "models", argument_order("enlarged", "x", "o"),
         lambda g, images, height, width: {"x": normal(g, images, height, width, dtype=F32), "o": empty(g, images, 2 * height, 2 * width, dtype=F32)}, ("o",),
         lambda s: [F.interpolate(s["x"].double()[None], scale_factor=2, mode="bilinear")[0]], dict(images=2, height=5, width=7, config=dict(block=64)),
         {"2048x64x64": dict(images=2048, height=64, width=64)}, LINES),
]
