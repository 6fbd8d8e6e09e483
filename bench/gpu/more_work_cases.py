"""More problems of bench/gpu/work: products with more around them, attention of servers, updates and recurrences."""
import math

import torch
import torch.nn.functional as F

from work_problem import F8, Work, empty, normal, options, whole

BF16, F32 = torch.bfloat16, torch.float32

# --- products with more around them --------------------------------------------------------------


def make_gate_up(g, m, n, k):
    return {"x": normal(g, m, k), "gate": normal(g, k, n, scale=k**-0.5), "up": normal(g, k, n, scale=k**-0.5), "out": empty(g, m, n)}


def gate_up(s):
    x = s["x"].double()
    return [F.silu(x @ s["gate"].double()) * (x @ s["up"].double())]


def make_weight_gradient(g, tokens, k, n):
    return {"x": normal(g, tokens, k, dtype=BF16), "dy": normal(g, tokens, n, dtype=BF16), "dw": empty(g, k, n, dtype=F32)}


def make_low_rank(g, m, n, k, rank):
    return {"x": normal(g, m, k), "w": normal(g, k, n, scale=k**-0.5), "a": normal(g, k, rank, scale=k**-0.5), "b": normal(g, rank, n),
            "out": empty(g, m, n)}


def low_rank(s):
    x, w, a, b = (s[name].double() for name in "xwab")
    return [x @ w + 0.5 * (x @ a) @ b]


def make_convolution(g, batch, size, channels, filters, window=3):
    return {"x": normal(g, batch, size, size, channels), "w": normal(g, filters, window, window, channels, scale=0.1),
            "bias": normal(g, filters), "out": empty(g, batch, size, size, filters)}


def convolution(s, dtype=torch.float64):
    x, w = (s[name].to(dtype).permute(0, 3, 1, 2) for name in "xw")
    return [F.conv2d(x, w, s["bias"].to(dtype), padding=w.shape[-1] // 2).permute(0, 2, 3, 1)]


def make_windows(g, batch, size, channels, filters):
    return {"x": normal(g, batch, channels, size, size), "w": normal(g, filters, channels, 3, 3, scale=0.1),
            "out": empty(g, batch, filters, size, size)}


def windows(s, dtype=torch.float64):
    return [F.conv2d(s["x"].to(dtype), s["w"].to(dtype), padding=1)]


def make_gathered(g, rows, of, n, k):
    return {"x": normal(g, of, k, dtype=BF16), "index": whole(g, 0, of, rows, dtype=torch.int64), "w": normal(g, k, n, dtype=BF16),
            "out": empty(g, rows, n, dtype=BF16)}


def make_residual(g, m, n, k):
    return {"a": normal(g, m, k, dtype=BF16), "b": normal(g, n, k, dtype=BF16, scale=k**-0.5).T, "bias": normal(g, n, dtype=BF16),
            "residual": normal(g, m, n, dtype=BF16), "out": empty(g, m, n, dtype=BF16)}


def residual(s):
    a, b, bias, rest = (s[name].double() for name in ("a", "b", "bias", "residual"))
    return [rest + F.relu(a @ b + bias).square()]


def make_router(g, m, n, k):
    return {"x": normal(g, m, k, dtype=BF16), "w": normal(g, k, n, dtype=BF16, scale=k**-0.5), "out": empty(g, m, n, dtype=F32)}


# --- attention of servers ------------------------------------------------------------------------


def make_paged(g, sequences, length, heads, kv_heads, head, page):
    pages = sequences * -(-length // page)
    table = torch.randperm(pages, generator=g, device=g.device).view(sequences, -1).int()
    lengths = torch.randint(length // 2, length + 1, (sequences,), generator=g, device=g.device).int()
    return {"q": normal(g, sequences, heads, head), "k": normal(g, pages, page, kv_heads, head), "v": normal(g, pages, page, kv_heads, head),
            "table": table, "lengths": lengths, "out": empty(g, sequences, heads, head)}


def paged(s):
    found = []
    for q, pages, length in zip(s["q"].double(), s["table"].long(), s["lengths"].tolist()):
        k, v = (s[name][pages].flatten(0, 1)[:length].double().transpose(0, 1) for name in "kv")
        group = q.shape[0] // k.shape[0]
        found.append(F.scaled_dot_product_attention(q.view(k.shape[0], group, -1), k, v).flatten(0, 1))
    return [torch.stack(found)]


def make_packed(g, lengths, heads, kv_heads, head):
    total = sum(lengths)
    return {"q": normal(g, total, heads, head), "k": normal(g, total, kv_heads, head), "v": normal(g, total, kv_heads, head),
            "starts": torch.tensor([0, *lengths], device=g.device).cumsum(0).int(), "longest": torch.tensor(max(lengths)), "out": empty(g, total, heads, head)}


def packed(window=0, cap=0.0):
    def exact(s):
        found, starts = [], s["starts"].tolist()
        for low, high in zip(starts, starts[1:]):
            heads = []
            for h in range(s["q"].shape[1]):  # one by one: scores of all would not fit
                kv = h // (s["q"].shape[1] // s["k"].shape[1])
                q, k, v = s["q"][low:high, h].double(), s["k"][low:high, kv].double(), s["v"][low:high, kv].double()
                scores = q @ k.T * q.shape[1]**-0.5
                if cap:
                    scores = cap * torch.tanh(scores / cap)
                back = torch.arange(high - low, device=q.device)[:, None] - torch.arange(high - low, device=q.device)[None, :]
                scores.masked_fill_((back < 0) | ((back >= window) if window else False), -math.inf)
                heads.append(scores.softmax(1) @ v)
            found.append(torch.stack(heads, 1))
        return [torch.cat(found)]
    return exact


def call_packed(window=0, cap=0.0):
    return lambda module, s, **c: module.packed(s["q"], s["k"], s["v"], s["starts"], int(s["longest"]), s["out"], window=window, cap=cap, **c)


def make_slots(g, tokens, kv_heads, head, slots):
    slot = torch.randperm(slots, generator=g, device=g.device)[:tokens]
    slot[1::7] = -1
    return {"k": normal(g, tokens, kv_heads, head), "v": normal(g, tokens, kv_heads, head), "slot": slot,
            "k_pages": normal(g, slots, kv_heads, head), "v_pages": normal(g, slots, kv_heads, head)}


def slots(s):
    there = s["slot"] >= 0
    found = []
    for name in "kv":
        pages = s[f"{name}_pages"].double().clone()
        pages[s["slot"][there]] = s[name][there].double()
        found.append(pages)
    return found


# --- updates and recurrences ---------------------------------------------------------------------


def make_adam(g, n):
    return {"p": normal(g, n, dtype=BF16), "g": normal(g, n, dtype=BF16), "m": normal(g, n, dtype=F32, scale=0.1),
            "v": normal(g, n, dtype=F32).square()}


def adam(s):
    p, g, m, v = (s[name].double() for name in "pgmv")
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return [p * (1 - 1e-3) - 1e-2 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8), m, v]


def make_embedding(g, tokens, words, columns):
    return {"dy": normal(g, tokens, columns, dtype=BF16), "index": whole(g, 0, words, tokens, dtype=torch.int64),
            "dw": torch.zeros(words, columns, device=g.device)}


def make_quantized(g, rows, columns):
    return {"x": normal(g, rows, columns, dtype=BF16), "q": empty(g, rows, columns, dtype=torch.int8), "scale": empty(g, rows, dtype=F32)}


def quantized(s):
    x = s["x"].double()
    scale = x.abs().amax(1) / 127
    return [(x / scale[:, None]).round(), scale]


def make_quantized_blocks(g, rows, columns):
    return {"x": normal(g, rows, columns, dtype=BF16), "q": empty(g, rows, columns, dtype=F8), "scale": empty(g, rows, columns // 128, dtype=F32)}


def quantized_blocks(s):
    x = s["x"].float().view(*s["scale"].shape, 128)
    scale = x.abs().amax(2) / 448
    return [(x / scale[..., None]).to(F8), scale]


def make_images(g, images, channels, size):
    return {"x": normal(g, images, channels, size, size), "w": normal(g, channels), "b": normal(g, channels),
            "out": empty(g, images, channels, size, size)}


def make_softmax_gradient(g, rows, columns):
    return {"y": torch.rand(rows, columns, generator=g, device=g.device).softmax(1).to(BF16), "dy": normal(g, rows, columns, dtype=BF16),
            "dx": empty(g, rows, columns, dtype=BF16)}


def softmax_gradient(s):
    y, dy = s["y"].double(), s["dy"].double()
    return [y * (dy - (y * dy).sum(1, keepdim=True))]


def make_state_space(g, batch, length, width, state):
    return {"u": normal(g, batch, length, width, dtype=BF16), "delta": torch.rand(batch, length, width, generator=g, device=g.device).to(BF16),
            "a": -torch.rand(width, state, generator=g, device=g.device), "b": normal(g, batch, length, state, dtype=BF16),
            "c": normal(g, batch, length, state, dtype=BF16), "out": empty(g, batch, length, width, dtype=BF16)}


def state_space(s):
    u, delta, a, b, c = (s[name].double() for name in ("u", "delta", "a", "b", "c"))
    h, found = torch.zeros(u.shape[0], *a.shape, dtype=a.dtype, device=a.device), []
    for t in range(u.shape[1]):
        step = delta[:, t, :, None]
        h = (step * a).exp() * h + step * u[:, t, :, None] * b[:, t, None, :]
        found.append((h * c[:, t, None, :]).sum(2))
    return [torch.stack(found, 1)]


def make_recurrence(g, batch, length, width):
    return {"x": normal(g, batch, length, width), "decay": torch.rand(batch, length, width, generator=g, device=g.device).half(),
            "out": empty(g, batch, length, width)}


def recurrence(s):
    x, decay = s["x"].double(), s["decay"].double()
    h, found = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        h = decay[:, t] * h + x[:, t]
        found.append(h)
    return [torch.stack(found, 1)]


def make_pool(g, images, size):
    return {"x": normal(g, images, size, size), "out": empty(g, images, size // 2, size // 2),
            "index": empty(g, images, size // 2, size // 2, dtype=torch.int32)}


def pooled(s):
    return [part[:, 0] for part in F.max_pool2d(s["x"].double()[:, None], 2, return_indices=True)]


def make_norm_gradient(g, rows, columns):
    x = normal(g, rows, columns, dtype=BF16)
    return {"x": x, "dy": normal(g, rows, columns, dtype=BF16), "w": normal(g, columns, dtype=BF16), "mean": x.float().mean(1),
            "rstd": (x.float().var(1, correction=0) + 1e-5).rsqrt(), "dx": torch.empty_like(x),
            "dw": torch.zeros(columns, device=g.device), "db": torch.zeros(columns, device=g.device)}


def norm_gradient(s):
    x, w, b = s["x"].double().requires_grad_(), s["w"].double().requires_grad_(), torch.zeros_like(s["w"], dtype=torch.float64).requires_grad_()
    F.layer_norm(x, w.shape, w, b, 1e-5).backward(s["dy"].double())
    return [x.grad, w.grad, b.grad]


TILES = [dict(block_m=128, block_n=128, block_k=64, **options(8, 3)), dict(block_m=64, block_n=128, block_k=64, **options(4, 3)),
         dict(block_m=128, block_n=256, block_k=64, **options(8, 3))]
ROWS = [options(4), options(8), options(16)]


def argument_order(function, *names):
    return lambda module, s, **c: getattr(module, function)(*(s[name] for name in names), **c)


WORK = [
    Work("gate and up with SiLU", "fused", argument_order("gate_up", "x", "gate", "up", "out"), make_gate_up, ("out",), gate_up,
         dict(m=35, n=40, k=72, config=dict(block_m=32, block_n=32, block_k=32)), {"4096x4096x4096": dict(m=4096, n=4096, k=4096)}, TILES[:2]),
    Work("gradient of weights", "fused", argument_order("weight_gradient", "x", "dy", "dw"), make_weight_gradient, ("dw",),
         lambda s: [s["x"].double().T @ s["dy"].double()], dict(tokens=70, k=40, n=48, config=dict(block_k=32, block_n=32, block_t=32)),
         {"8192 tokens, 4096x4096": dict(tokens=8192, k=4096, n=4096)},
         [dict(block_k=128, block_n=128, block_t=64, **options(8, 3)), dict(block_k=128, block_n=256, block_t=64, **options(8, 3))],
         library={"torch": lambda s: torch.mm(s["x"].T, s["dy"])}),
    Work("low rank beside weights", "fused", argument_order("low_rank", "x", "w", "a", "b", "out"), make_low_rank, ("out",), low_rank,
         dict(m=35, n=40, k=72, rank=16, config=dict(block_m=32, block_n=32, block_k=32)),
         {"4096, rank 16": dict(m=4096, n=4096, k=4096, rank=16)}, TILES[:2]),
    Work("convolution 3x3", "fused", argument_order("convolution", "x", "w", "bias", "out"), make_convolution, ("out",), convolution,
         dict(batch=2, size=7, channels=20, filters=24, config=dict(block_m=32, block_n=32, block_k=32)),
         {"32x56x56, 128 to 128": dict(batch=32, size=56, channels=128, filters=128)}, TILES[:2],
         library={"torch": lambda s: convolution(s, torch.float16)[0]}),
    Work("windows of flat indices", "fused", argument_order("windows", "x", "w", "out"), make_windows, ("out",), windows,
         dict(batch=2, size=16, channels=5, filters=24, config=dict(block_m=32, block_n=32, block_k=32)),
         {"8x64x64, 64 to 64": dict(batch=8, size=64, channels=64, filters=64)},
         [dict(block_m=64, block_n=64, block_k=64, **options(4, 2)), dict(block_m=128, block_n=64, block_k=32, **options(8, 2))],
         library={"torch": lambda s: windows(s, torch.float16)[0]}),
    Work("gathered rows", "fused", argument_order("gathered", "x", "index", "w", "out"), make_gathered, ("out",),
         lambda s: [s["x"][s["index"]].double() @ s["w"].double()],
         dict(rows=35, of=20, n=40, k=72, config=dict(block_m=32, block_n=32, block_k=32)),
         {"4096 of 16384 rows, 4096x2048": dict(rows=4096, of=16384, n=2048, k=4096)}, TILES[:2]),
    Work("residual, square of ReLU", "fused", argument_order("residual", "a", "b", "bias", "residual", "out"), make_residual, ("out",),
         residual, dict(m=64, n=64, k=64, config=dict(block_m=32, block_n=32, block_k=32)), {"4096": dict(m=4096, n=4096, k=4096)}, TILES),
    Work("scores of a router", "fused", argument_order("softmax_of_product", "x", "w", "out"), make_router, ("out",),
         lambda s: [(s["x"].double() @ s["w"].double()).softmax(1)], dict(m=20, n=32, k=70, config=dict(block_m=16, block_k=32)),
         {"16384x128x4096": dict(m=16384, n=128, k=4096)},
         [dict(block_m=64, block_k=64, **options(4, 3)), dict(block_m=128, block_k=64, **options(8, 3))]),
    Work("decoding over pages", "serving", argument_order("paged", "q", "k", "v", "table", "lengths", "out"), make_paged, ("out",), paged,
         dict(sequences=3, length=40, heads=4, kv_heads=2, head=16, page=16, config={}),
         {"256 x 2K, 32 of 8 heads": dict(sequences=256, length=2048, heads=32, kv_heads=8, head=128, page=16),
          "pages of 64": dict(sequences=256, length=2048, heads=32, kv_heads=8, head=128, page=64)},
         [options(4, 2), options(2, 3), options(4, 3)]),
    Work("sequences in a row", "serving", call_packed(), make_packed, ("out",), packed(),
         dict(lengths=[5, 40, 17], heads=4, kv_heads=2, head=16, config=dict(block_m=16, block_n=16)),
         {"8 of 300 to 4000, 32 of 8 heads": dict(lengths=[300, 4000, 1024, 777, 2048, 3333, 512, 1500], heads=32, kv_heads=8, head=128)},
         [dict(block_m=128, block_n=64, **options(8, 3)), dict(block_m=64, block_n=64, **options(4, 3))]),
    Work("a window of keys", "serving", call_packed(window=1000), make_packed, ("out",), packed(window=1000),
         dict(lengths=[40], heads=2, kv_heads=1, head=16, config=dict(block_m=16, block_n=16)),
         {"8K, 16 heads of 64": dict(lengths=[8192], heads=16, kv_heads=16, head=64)},
         [dict(block_m=128, block_n=64, **options(4, 3)), dict(block_m=128, block_n=64, **options(8, 3))]),
    Work("capped scores", "serving", call_packed(cap=30.0), make_packed, ("out",), packed(cap=30.0),
         dict(lengths=[40], heads=2, kv_heads=1, head=16, config=dict(block_m=16, block_n=16)),
         {"4K, 16 of 8 heads of 128": dict(lengths=[4096], heads=16, kv_heads=8, head=128)},
         [dict(block_m=128, block_n=64, **options(8, 3)), dict(block_m=64, block_n=64, **options(4, 3))]),
    Work("keys and values into slots", "serving", argument_order("cache", "k", "v", "k_pages", "v_pages", "slot"), make_slots,
         ("k_pages", "v_pages"), slots, dict(tokens=10, kv_heads=2, head=16, slots=20, config={}),
         {"16384 tokens, 8x128": dict(tokens=16384, kv_heads=8, head=128, slots=20000)}, [options(4), options(2), options(1)],
         kept=("k_pages", "v_pages")),
    Work("Adam", "updates", argument_order("adam", "p", "g", "m", "v"), make_adam, ("p", "m", "v"), adam, dict(n=1000, config=dict(block=256)),
         {"2^25": dict(n=1 << 25)}, [dict(block=1024, **options(4)), dict(block=2048, **options(8)), dict(block=4096, **options(8))],
         kept=("p", "m", "v")),
    Work("gradient of an embedding", "updates", argument_order("embedding_gradient", "dy", "index", "dw"), make_embedding, ("dw",),
         lambda s: [torch.zeros_like(s["dw"], dtype=torch.float64).index_add_(0, s["index"], s["dy"].double())],
         dict(tokens=20, words=6, columns=50, config=dict(block=32)), {"8192 tokens, 32000x2048": dict(tokens=8192, words=32000, columns=2048)},
         [dict(block=1024, **options(4)), dict(block=2048, **options(4)), dict(block=2048, **options(8))], kept=("dw",)),
    Work("rows as bytes", "updates", argument_order("quantize", "x", "q", "scale"), make_quantized, ("q", "scale"), quantized,
         dict(rows=5, columns=100, config={}), {"8192x8192": dict(rows=8192, columns=8192)}, ROWS),
    Work("groups of 128 as f8", "updates", argument_order("quantize_blocks", "x", "q", "scale"), make_quantized_blocks, ("q", "scale"),
         quantized_blocks, dict(rows=5, columns=256, config=dict(groups=4)), {"8192x8192": dict(rows=8192, columns=8192)},
         [dict(groups=8, **options(4)), dict(groups=16, **options(4)), dict(groups=32, **options(8))]),
    Work("group norm", "updates", lambda module, s, **c: module.group_norm(s["x"], s["w"], s["b"], s["out"], s["x"].shape[1] // 4, **c),
         make_images, ("out",), lambda s: [F.group_norm(s["x"].double(), s["x"].shape[1] // 4, s["w"].double(), s["b"].double())],
         dict(images=2, channels=8, size=5, config=dict(block=64)), {"32x256x64x64": dict(images=32, channels=256, size=64)},
         [dict(block=2048, **options(8)), dict(block=4096, **options(8)), dict(block=1024, **options(4))],
         library={"torch": lambda s: F.group_norm(s["x"], s["x"].shape[1] // 4, s["w"], s["b"])}),
    Work("gradient of softmax", "updates", argument_order("softmax_gradient", "y", "dy", "dx"), make_softmax_gradient, ("dx",),
         softmax_gradient, dict(rows=5, columns=100, config={}), {"16384x2048": dict(rows=16384, columns=2048)}, ROWS),
    Work("state space, step by step", "updates", argument_order("state_space", "u", "delta", "a", "b", "c", "out"), make_state_space,
         ("out",), state_space, dict(batch=2, length=20, width=24, state=8, config=dict(block=16)),
         {"8 x 2K x 4096, 16": dict(batch=8, length=2048, width=4096, state=16)},
         [dict(block=32, **options(1)), dict(block=64, **options(4)), dict(block=32, **options(4))]),
    Work("recurrence by scans", "updates", argument_order("recurrence", "x", "decay", "out"), make_recurrence, ("out",), recurrence,
         dict(batch=2, length=40, width=24, config=dict(block_t=16, block_d=16)), {"8 x 4K x 2048": dict(batch=8, length=4096, width=2048)},
         [dict(block_t=32, block_d=32, **options(4)), dict(block_t=64, block_d=16, **options(4)), dict(block_t=128, block_d=32, **options(8))]),
    Work("counts of bytes", "updates", argument_order("count", "x", "counts"),
         lambda g, n: {"x": whole(g, 0, 256, n, dtype=torch.uint8), "counts": torch.zeros(256, dtype=torch.int32, device=g.device)},
         ("counts",), lambda s: [torch.bincount(s["x"].long(), minlength=256)], dict(n=3000, config=dict(block=256, turns=2)),
         {"2^26": dict(n=1 << 26)}, [dict(block=2048, turns=16, **options(4)), dict(block=4096, turns=16, **options(8))], kept=("counts",)),
    Work("largest of two by two", "updates", argument_order("pool", "x", "out", "index"), make_pool, ("out", "index"), pooled,
         dict(images=2, size=10, config=dict(block=32)), {"2048x112x112": dict(images=2048, size=112)},
         [dict(block=1024, **options(4)), dict(block=512, **options(4)), dict(block=2048, **options(8))]),
    Work("largest of long rows", "updates", argument_order("largest", "x", "index"),
         lambda g, rows, columns: {"x": normal(g, rows, columns, dtype=F32), "index": empty(g, rows, dtype=torch.int32)}, ("index",),
         lambda s: [s["x"].argmax(1)], dict(rows=4, columns=1000, config=dict(block=128)), {"4096x32000": dict(rows=4096, columns=32000)},
         [dict(block=4096, **options(8)), dict(block=8192, **options(8)), dict(block=2048, **options(4))],
         library={"torch": lambda s: s["x"].argmax(1)}),
    Work("layer norm backward by atomics", "updates", argument_order("norm_gradient", "dx", "dy", "x", "w", "mean", "rstd", "dw", "db"),
         make_norm_gradient, ("dx", "dw", "db"), norm_gradient, dict(rows=6, columns=100, config={}),
         {"4096x4096": dict(rows=4096, columns=4096)}, ROWS, kept=("dw", "db")),
]
