"""Kernels that stand beside plain products and softmax in what people run (bench/gpu/work), as cases of `./x bench gpu`.

A `Work` is one problem: its tensors, the call, the exact result. Two users: the part `work` of run.py takes large sizes on a GPU,
test/kernels/test_work.py small ones on every target. References are computed in f64.
"""
import math
from pathlib import Path

import torch
import torch.nn.functional as F

import form_cases
import model_cases
import more_work_cases
import sources
from rounds import MADE, Case
from work_problem import F8, Work, empty, normal, options, whole

FOLDER = Path(__file__).resolve().parent / "work"


# --- products ------------------------------------------------------------------------------------


def make_block_scaled(g, m, n, k):
    return {"a": normal(g, m, k, dtype=F8), "b": normal(g, n, k, dtype=F8),
            "a_scale": torch.rand(m, k // 128, generator=g, device=g.device) + 0.5,
            "b_scale": torch.rand(-(-n // 128), k // 128, generator=g, device=g.device) + 0.5, "c": empty(g, m, n, dtype=torch.bfloat16)}


def block_scaled(s):
    a = s["a"].double() * s["a_scale"].double().repeat_interleave(128, 1)
    b_scale = s["b_scale"].double().repeat_interleave(128, 0)[:s["b"].shape[0]].repeat_interleave(128, 1)
    return [a @ (s["b"].double() * b_scale).T]


def make_four_bit(g, m, n, k, group=128):
    return {"a": normal(g, m, k), "packed": whole(g, -2**31, 2**31, k // 8, n), "scale": normal(g, k // group, n, scale=0.05),
            "c": empty(g, m, n)}


def four_bit(s):
    words, scale = s["packed"].long(), s["scale"].double()
    w = torch.stack([(words >> shift) & 15 for shift in range(0, 32, 4)], 1).flatten(0, 1).double() - 8
    return [s["a"].double() @ (w * scale.repeat_interleave(w.shape[0] // scale.shape[0], 0))]


def make_bytes(g, m, n, k):
    return {"a": whole(g, -127, 128, m, k, dtype=torch.int8), "b": whole(g, -127, 128, n, k, dtype=torch.int8),
            "a_scale": torch.rand(m, generator=g, device=g.device), "b_scale": torch.rand(n, generator=g, device=g.device),
            "c": empty(g, m, n, dtype=torch.bfloat16)}


def row_scaled(s):
    return [s["a"].double() @ s["b"].double().T * s["a_scale"].double()[:, None] * s["b_scale"].double()[None, :]]


def make_experts(g, tokens, n, k, experts, top, block_m):
    """Rows of `order` are numbers of (token, choice), sorted by expert; what fills up a block is their number."""
    choice = torch.rand(tokens, experts, generator=g, device=g.device).topk(top, 1).indices.flatten()
    order, expert = [], []
    for e in range(experts):
        rows = (choice == e).nonzero().flatten()
        blocks = -(-len(rows) // block_m)
        order += [rows, torch.full((blocks * block_m - len(rows),), tokens * top, device=g.device)]
        expert += [e] * blocks
    return {"x": normal(g, tokens, k), "w": normal(g, experts, n, k, scale=k**-0.5), "order": torch.cat(order).int(),
            "expert": torch.tensor(expert, dtype=torch.int32, device=g.device),
            "weight": torch.rand(tokens * top, generator=g, device=g.device), "choice": choice, "c": empty(g, tokens * top, n)}


def experts(s):
    top = s["c"].shape[0] // s["x"].shape[0]
    x = s["x"].double().repeat_interleave(top, 0)
    result = torch.zeros(s["c"].shape, dtype=torch.float64, device=x.device)
    for e in range(s["w"].shape[0]):
        rows = s["choice"] == e
        result[rows] = x[rows] @ s["w"][e].double().T
    return [result * s["weight"].double()[:, None]]


def call_experts(module, s, **config):
    top = s["c"].shape[0] // s["x"].shape[0]
    module.experts(s["x"], s["w"], s["c"], s["order"], s["expert"], s["weight"], top,
                   block_m=s["order"].numel() // s["expert"].numel(), **config)


def make_list(g, sizes):
    """Matrices of a list lie in one tensor each, one after another."""
    def places(extents):
        return torch.tensor([0, *extents], device=g.device).cumsum(0)
    m, n, k = zip(*sizes)
    at = [places([x * y for x, y in zip(*pair)]) for pair in ((m, k), (k, n), (m, n))]
    a, b, c = normal(g, int(at[0][-1])), normal(g, int(at[1][-1])), empty(g, int(at[2][-1]))
    tables = [tensor.data_ptr() + place[:-1] * tensor.element_size() for tensor, place in zip((a, b, c), at)]
    return {"a": a, "b": b, "c": c, "a_table": tables[0], "b_table": tables[1], "c_table": tables[2],
            "sizes": torch.tensor(sizes, dtype=torch.int32, device=g.device)}


def of_a_list(s):
    parts, a_at, b_at = [], 0, 0
    for m, n, k in s["sizes"].tolist():
        parts.append((s["a"][a_at:a_at + m * k].view(m, k).double() @ s["b"][b_at:b_at + k * n].view(k, n).double()).flatten())
        a_at, b_at = a_at + m * k, b_at + k * n
    return [torch.cat(parts)]


def make_batch(g, batch, m, n, k):
    return {"a": normal(g, batch, m, k), "b": normal(g, batch, k, n), "c": empty(g, batch, m, n)}


def make_added(g, m, n, k):
    return {"a": normal(g, m, k), "b": normal(g, k, n), "c": empty(g, m, n, dtype=torch.float32)}


def product(s):
    return [s["a"].double() @ s["b"].double()]


# --- attention -----------------------------------------------------------------------------------


SPARE = 3  # keys behind the end of a sequence


def make_decode(g, batch, length, heads, kv_heads, head, splits):
    return {"q": normal(g, batch, heads, head), "k": normal(g, batch, length, kv_heads, head), "v": normal(g, batch, length, kv_heads, head),
            "part": empty(g, batch, heads, splits, head, dtype=torch.float32), "lse": empty(g, batch, heads, splits, dtype=torch.float32),
            "lengths": torch.full((batch,), length - SPARE, dtype=torch.int32, device=g.device), "out": empty(g, batch, heads, head)}


def grouped_attention(s, dtype=torch.float64):
    group, length = s["q"].shape[1] // s["k"].shape[2], s["k"].shape[1] - SPARE
    k, v = (s[name][:, :length].transpose(1, 2).to(dtype) for name in "kv")
    batch, heads, head = s["q"].shape
    q = s["q"].to(dtype).view(batch, heads // group, group, head)
    return [F.scaled_dot_product_attention(q, k, v).reshape(batch, heads, head)]


def make_backward(g, heads, length, head, causal):
    s = {name: normal(g, heads, length, head) for name in ("q", "k", "v", "do")}
    exact = [s[name].float() for name in ("q", "k", "v", "do")]
    lse, delta = empty(g, heads, length, dtype=torch.float32), empty(g, heads, length, dtype=torch.float32)
    for h in range(heads):  # one by one: scores of all would not fit
        scores = exact[0][h] @ exact[1][h].T * head**-0.5
        if causal:
            scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
        lse[h] = scores.logsumexp(1) / math.log(2)
        delta[h] = (scores.softmax(1) @ exact[2][h] * exact[3][h]).sum(1)
    return {**s, "lse": lse, "delta": delta, **{name: torch.empty_like(s["q"]) for name in ("dq", "dk", "dv")},
            "causal": torch.tensor(causal)}


def gradients(s):
    found = [torch.empty(s["q"].shape, dtype=torch.float64, device=s["q"].device) for _ in range(3)]
    for h in range(s["q"].shape[0]):
        inputs = [s[name][h].double().requires_grad_() for name in "qkv"]
        scores = inputs[0] @ inputs[1].T * inputs[0].shape[-1]**-0.5
        if s["causal"]:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
        (scores.softmax(1) @ inputs[2]).backward(s["do"][h].double())
        for gradient, tensor in zip(found, inputs):
            gradient[h] = tensor.grad
    return found


def call_backward(module, s, **config):
    module.backward(*(s[name] for name in ("q", "k", "v", "do", "lse", "delta", "dq", "dk", "dv")), causal=bool(s["causal"]), **config)


def make_chunked(g, heads, length, head):
    return {"q": normal(g, heads, length, head, scale=head**-0.5), "k": normal(g, heads, length, head, scale=head**-0.5),
            "v": normal(g, heads, length, head), "g": -torch.rand(heads, length, generator=g, device=g.device) * 0.1,
            "o": empty(g, heads, length, head)}


def chunked(s):
    q, k, v, decay = (s[name].double() for name in "qkvg")
    out, state, size = torch.empty_like(q), torch.zeros(q.shape[0], q.shape[2], q.shape[2], dtype=q.dtype, device=q.device), 64
    for start in range(0, q.shape[1], size):
        part = slice(start, start + size)
        fade = decay[:, part].cumsum(1)
        scores = (q[:, part] @ k[:, part].mT * (fade[:, :, None] - fade[:, None, :]).exp()).tril()
        out[:, part] = q[:, part] @ state * fade.exp()[..., None] + scores @ v[:, part]
        state = state * fade[:, -1].exp()[:, None, None] + k[:, part].mT @ (v[:, part] * (fade[:, -1:] - fade).exp()[..., None])
    return [out]


# --- rows ----------------------------------------------------------------------------------------


def make_losses(g, rows, columns):
    x = normal(g, rows, columns, dtype=torch.bfloat16)
    return {"x": x, "target": whole(g, 0, columns, rows, dtype=torch.int64), "loss": empty(g, rows, dtype=torch.float32)}


def losses(s):
    x = s["x"].double().requires_grad_()
    loss = F.cross_entropy(x, s["target"], reduction="none")
    loss.mean().backward()
    return [loss.detach(), x.grad]


def make_norm_backward(g, rows, columns, programs):
    x = normal(g, rows, columns, dtype=torch.bfloat16)
    return {"x": x, "dy": normal(g, rows, columns, dtype=torch.bfloat16), "w": normal(g, columns, dtype=torch.bfloat16),
            "rstd": (x.float().square().mean(1) + 1e-6).rsqrt(), "dx": torch.empty_like(x),
            "dw": empty(g, programs, columns, dtype=torch.float32)}


def norm_backward(s):
    x, w = s["x"].double().requires_grad_(), s["w"].double()
    (x * (x.square().mean(1, keepdim=True) + 1e-6).rsqrt() * w).backward(s["dy"].double())
    programs = s["dw"].shape[0]
    per = -(-x.shape[0] // programs)
    dw = F.pad(s["dy"].double() * s["x"].double() * s["rstd"].double()[:, None], (0, 0, 0, per * programs - x.shape[0]))
    return [x.grad, dw.view(programs, per, -1).sum(1)]


def make_swiglu(g, rows, columns):
    return {name: normal(g, rows, columns, dtype=torch.bfloat16) for name in ("dc", "a", "b")}


def swiglu_gradients(s):
    a, b = (s[name].double().requires_grad_() for name in "ab")
    (F.silu(a) * b).backward(s["dc"].double())
    return [a.grad, b.grad]


def make_rotary(g, tokens, heads, head, length):
    angle = torch.rand(length, head // 2, generator=g, device=g.device) * 6.28
    return {"x": normal(g, tokens, heads, head, dtype=torch.bfloat16), "cos": angle.cos(), "sin": angle.sin()}


def rotated(s):
    tokens, length = s["x"].shape[0], s["cos"].shape[0]
    cos, sin = (s[name].double().repeat(-(-tokens // length), 1)[:tokens, None, :] for name in ("cos", "sin"))
    first, second = s["x"].double().chunk(2, -1)
    return [torch.cat([first * cos - second * sin, second * cos + first * sin], -1)]


def make_gating(g, rows, experts, top):
    return {"x": normal(g, rows, experts, dtype=torch.float32), "weight": empty(g, rows, top, dtype=torch.float32),
            "index": empty(g, rows, top, dtype=torch.int32)}


def gating(s):
    weight, index = s["x"].double().softmax(1).topk(s["weight"].shape[1], 1)
    return [weight / weight.sum(1, keepdim=True), index]


def make_pair(g, rows, columns, dtype=torch.float32, turned=False):
    return {"x": normal(g, rows, columns, dtype=dtype), "out": empty(g, *((columns, rows) if turned else (rows, columns)), dtype=dtype)}


PRODUCT = [dict(block_m=128, block_n=128, block_k=64, **options(8, 3)), dict(block_m=128, block_n=128, block_k=64, **options(4, 4)),
           dict(block_m=64, block_n=128, block_k=64, **options(4, 4))]
BY_WARPS = [options(4), options(8), options(16)]
SMALL_LIST = [(32, 32, 32), (64, 16, 32), (32, 48, 16)]
LARGE_LIST = [(1024, 1024, 1024), (512, 512, 512), (256, 256, 256), (128, 128, 128)] * 4
FIRST = "at first"

WORK = [
    Work("fp8 product, scales of blocks", "quantized",
         lambda module, s, **c: module.block_scaled(s["a"], s["b"], s["a_scale"], s["b_scale"], s["c"], **c), make_block_scaled, ("c",),
         block_scaled, dict(m=33, n=40, k=256, config=dict(block_m=32, block_n=32, block_k=64)),
         {"4096x7168x2048": dict(m=4096, n=7168, k=2048), "64x7168x2048": dict(m=64, n=7168, k=2048)},
         [dict(block_m=64, block_n=128, block_k=128, **options(4, 3)), dict(block_m=128, block_n=128, block_k=128, **options(8, 3)),
          dict(block_m=64, block_n=64, block_k=128, **options(4, 4))]),
    Work("4-bit weights", "quantized", lambda module, s, **c: module.four_bit(s["a"], s["packed"], s["scale"], s["c"], **c), make_four_bit,
         ("c",), four_bit, dict(m=7, n=32, k=128, group=64, config=dict(block_m=16, block_n=16, block_k=32)),
         {"16x8192x8192": dict(m=16, n=8192, k=8192), "2048x4096x4096": dict(m=2048, n=4096, k=4096)},
         [dict(block_m=16, block_n=64, block_k=128, **options(4, 4)), dict(block_m=16, block_n=32, block_k=128, **options(4, 4)),
          dict(block_m=64, block_n=128, block_k=64, **options(4, 3)), dict(block_m=128, block_n=128, block_k=64, **options(8, 3))]),
    Work("int8 product, scales of rows", "quantized",
         lambda module, s, **c: module.row_scaled_bytes(s["a"], s["b"], s["a_scale"], s["b_scale"], s["c"], **c), make_bytes, ("c",),
         row_scaled, dict(m=35, n=40, k=70, config=dict(block_m=32, block_n=32, block_k=32)), {"4096": dict(m=4096, n=4096, k=4096)},
         [dict(block_m=128, block_n=128, block_k=128, **options(4, 3)), dict(block_m=128, block_n=256, block_k=128, **options(8, 3)),
          dict(block_m=128, block_n=128, block_k=64, **options(4, 4))]),
    Work("experts", "grouped", call_experts, make_experts, ("c",), experts,
         dict(tokens=21, n=40, k=48, experts=3, top=2, block_m=16, config=dict(block_n=32, block_k=32)),
         {"4096 tokens, 8 of 2": dict(tokens=4096, n=4096, k=2048, experts=8, top=2, block_m=128),
          "64 tokens, 64 of 8": dict(tokens=64, n=2048, k=2048, experts=64, top=8, block_m=16)},
         [dict(block_n=128, block_k=64, **options(4, 4)), dict(block_n=128, block_k=64, **options(8, 3)),
          dict(block_n=64, block_k=128, **options(4, 3))]),
    Work("products of a list", "grouped",
         lambda module, s, **c: module.of_a_list(s["a_table"], s["b_table"], s["c_table"], s["sizes"], **c), make_list, ("c",), of_a_list,
         dict(sizes=SMALL_LIST, config=dict(programs=3, block_m=16, block_n=16, block_k=16)), {"16, 128 to 1024": dict(sizes=LARGE_LIST)},
         [dict(programs=132, **PRODUCT[0]), dict(programs=132, **PRODUCT[1]), dict(programs=264, **PRODUCT[2])]),
    Work("small products", "grouped", lambda module, s, **c: module.small_batch(s["a"], s["b"], s["c"], **c), make_batch, ("c",), product,
         dict(batch=3, m=16, n=32, k=16, config={}),
         {"4096x64x64x64": dict(batch=4096, m=64, n=64, k=64), "2048x128x128x64": dict(batch=2048, m=128, n=128, k=64)},
         [options(4), options(2), options(8)], library={"torch": lambda s: torch.bmm(s["a"], s["b"], out=s["c"])}),
    Work("split K by atomics", "grouped", lambda module, s, **c: module.added(s["a"], s["b"], s["c"], **c), make_added, ("c",), product,
         dict(m=20, n=40, k=100, config=dict(split=3, block_m=16, block_n=32, block_k=16)), {"256x256x32768": dict(m=256, n=256, k=32768)},
         [dict(split=8, block_m=64, block_n=64, block_k=64, **options(4, 4)), dict(split=32, block_m=128, block_n=128, block_k=64, **options(8, 3))],
         library={"torch": lambda s: torch.mm(s["a"], s["b"])}),
    Work("decoding, keys split", "attention",
         lambda module, s, **c: module.decode(s["q"], s["k"], s["v"], s["part"], s["lse"], s["lengths"], s["out"], **c), make_decode, ("out",),
         grouped_attention, dict(batch=2, length=70, heads=4, kv_heads=2, head=16, splits=3, config=dict(block_n=16)),
         {"32 x 4K, 32 of 8 heads": dict(batch=32, length=4096, heads=32, kv_heads=8, head=128, splits=8)},
         [dict(block_n=64, **options(4, 3)), dict(block_n=128, **options(4, 2)), dict(block_n=32, **options(2, 4))],
         library={"torch": lambda s: grouped_attention(s, torch.float16)[0]}),
    Work("attention backward", "attention", call_backward, make_backward, ("dq", "dk", "dv"), gradients,
         dict(heads=2, length=64, head=16, causal=True, config=dict(block_m=16, block_n=32)),
         {"D64 4K causal": dict(heads=32, length=4096, head=64, causal=True), "D128 4K full": dict(heads=16, length=4096, head=128, causal=False)},
         [dict(block_m=64, block_n=128, **options(8, 3)), dict(block_m=32, block_n=128, **options(4, 3)),
          dict(block_m=64, block_n=64, **options(4, 3))]),
    Work("linear attention by chunks", "attention", lambda module, s, **c: module.chunked(s["q"], s["k"], s["v"], s["g"], s["o"], **c),
         make_chunked, ("o",), chunked, dict(heads=2, length=128, head=16, config=dict(chunk=64, columns=16)),
         {"64 x 2K, D128": dict(heads=64, length=2048, head=128)},
         [dict(chunk=64, columns=64, **options(4, 2)), dict(chunk=64, columns=128, **options(8, 2)), dict(chunk=64, columns=32, **options(4, 3))]),
    Work("cross entropy", "rows", lambda module, s, **c: module.cross_entropy(s["x"], s["target"], s["loss"], **c), make_losses,
         ("loss", "x"), losses, dict(rows=3, columns=1000, config=dict(block=256)), {"4096x128256": dict(rows=4096, columns=128256)},
         [dict(block=32768, **options(32)), dict(block=16384, **options(16)), dict(block=4096, **options(8))], kept=("x",)),
    Work("RMS norm backward", "rows",
         lambda module, s, **c: module.rms_norm_backward(s["dy"], s["x"], s["w"], s["rstd"], s["dx"], s["dw"], **c), make_norm_backward,
         ("dx", "dw"), norm_backward, dict(rows=10, columns=100, programs=3, config={}),
         {"8192x4096": dict(rows=8192, columns=4096, programs=264)}, BY_WARPS),
    Work("SwiGLU backward", "rows", lambda module, s, **c: module.swiglu_backward(s["dc"], s["a"], s["b"], **c), make_swiglu, ("a", "b"),
         swiglu_gradients, dict(rows=5, columns=100, config={}), {"8192x11008": dict(rows=8192, columns=11008)}, BY_WARPS, kept=("a", "b")),
    Work("rotary", "rows", lambda module, s, **c: module.rotary(s["x"], s["cos"], s["sin"], **c), make_rotary, ("x",), rotated,
         dict(tokens=5, heads=3, head=32, length=3, config={}), {"16384x32x128": dict(tokens=16384, heads=32, head=128, length=4096)},
         BY_WARPS[:2], kept=("x",)),
    Work("gating of experts", "rows", lambda module, s, **c: module.gating(s["x"], s["weight"], s["index"], **c), make_gating,
         ("weight", "index"), gating, dict(rows=4, experts=20, top=2, config={}), {"16384x256, 8": dict(rows=16384, experts=256, top=8)},
         [options(1), options(2), options(4)]),
    Work("sort of rows", "rows", lambda module, s, **c: module.sorted_rows(s["x"], s["out"], **c), make_pair, ("out",),
         lambda s: [s["x"].double().sort(1).values], dict(rows=3, columns=64, config={}), {"8192x1024": dict(rows=8192, columns=1024)},
         BY_WARPS[:2], library={"torch": lambda s: torch.sort(s["x"], 1).values}),
    Work("sums of columns", "rows", lambda module, s, **c: module.column_sums(s["x"], s["out"], **c),
         lambda g, rows, columns: {"x": normal(g, rows, columns, dtype=torch.float32), "out": empty(g, columns, dtype=torch.float32)}, ("out",),
         lambda s: [s["x"].double().sum(0)], dict(rows=70, columns=50, config=dict(parts=2, rows=16, columns=16)),
         {"8192x8192": dict(rows=8192, columns=8192)}, [dict(parts=32, **options(4)), dict(parts=16, rows=32, columns=128, **options(4))],
         library={"torch": lambda s: torch.sum(s["x"], 0)}),
    Work("transposed copy", "rows", lambda module, s, **c: module.transposed(s["x"], s["out"], **c),
         lambda g, rows, columns: make_pair(g, rows, columns, torch.float16, turned=True), ("out",), lambda s: [s["x"].double().T],
         dict(rows=50, columns=70, config=dict(rows=16, columns=32)), {"8192x8192 f16": dict(rows=8192, columns=8192)},
         [options(4), dict(rows=128, columns=64, **options(8))], library={"torch": lambda s: s["out"].copy_(s["x"].T)}),
    Work("running sums", "rows", lambda module, s, **c: module.running_sums(s["x"], s["out"], **c), make_pair, ("out",),
         lambda s: [s["x"].double().cumsum(1)], dict(rows=3, columns=100, config=dict(block=32)), {"4096x32768": dict(rows=4096, columns=32768)},
         [dict(block=4096, **options(8)), dict(block=2048, **options(4)), dict(block=8192, **options(8))],
         library={"torch": lambda s: torch.cumsum(s["x"], 1)}),
]


def made(work, generator, **size):
    s = work.make(generator, **size)
    return {**s, **{f"{name} {FIRST}": s[name].clone() for name in work.kept}}


def put_back(work, s):
    """Gives tensors that a call changes in place the values that they had at first."""
    for name in work.kept:
        s[name].copy_(s[f"{name} {FIRST}"])


def off(work, s):
    """The largest relative difference of the results, each as a whole; infinite where one is not finite."""
    exact = work.expected({**s, **{name: s[f"{name} {FIRST}"] for name in work.kept}})
    worst = 0.0
    for name, right in zip(work.outputs, exact):
        found, right = s[name].double(), right.double().view(s[name].shape)
        if not torch.isfinite(found).all():
            return math.inf
        worst = max(worst, ((found - right).norm() / right.norm().clamp(min=1e-30)).item())
    return worst


def label(config):
    return " ".join(f"{name.removeprefix('num_')} {value}" for name, value in config.items())


def case(work, size_label, size, packages):
    def build(module):
        return [(label(config), lambda s, config=config: work.call(module, s, **config)) for config in work.configs]

    def error(s):  # a library gives its result as `out`
        return off(work, {**s, work.outputs[0]: s["out"]} if "out" in s and "out" not in work.outputs else s)

    contestants = sources.for_each(work.source, build, packages, folder=FOLDER)
    for name, call in work.library.items():
        contestants[name] = [("", lambda s, call=call: s.update({MADE: call(s)}))]
    return Case("work", f"{work.name}, {size_label}", 0, lambda generator: made(work, generator, **size),
                tuple(name for name in work.outputs if name not in work.kept), contestants, error, work.allowed,
                prepare=lambda s: put_back(work, s))


def cases(problems, packages):
    """Every problem at each of its sizes."""
    for problem in problems:
        for size_label, size in problem.sizes.items():
            yield case(problem, size_label, size, packages)


def work(clock, packages):
    return cases(WORK, packages)


def more_work(clock, packages):
    return cases(more_work_cases.WORK, packages)


def models(clock, packages):
    return cases(model_cases.WORK, packages)


def forms(clock, packages):
    return cases(form_cases.WORK, packages)
