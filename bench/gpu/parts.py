"""What `./x bench gpu` measures, by priority. A part is a function (clock, packages) -> cases, or finished results."""
import math

import torch
import torch.nn.functional as F

import sources
from rounds import MADE, Case

ROWS = 4096
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def relative(actual, expected):
    actual, expected = actual.double(), expected.double()
    return ((actual - expected).norm() / expected.norm()).item()


def normal(generator, *shape, dtype=torch.float32):
    return torch.randn(*shape, generator=generator, device=generator.device, dtype=torch.float32).to(dtype)


def warps_for(columns):
    return (2, 4, 8) if columns <= 1024 else (4, 8, 16) if columns <= 8192 else (8, 16, 32)


def tolerance(dtype):
    return {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]


def softmax_case(part, source, function, rows, columns, kind, configurations, packages):
    dtype = DTYPES[kind]

    def make(generator):
        x = normal(generator, rows, columns, dtype=dtype)
        return {"x": x, "out": torch.empty_like(x)}

    def build(module):
        launch = getattr(module, function)
        return [(label, lambda s, options=options: launch(s["x"], s["out"], **options))
                for label, options in configurations]

    contestants = sources.for_each(source, build, packages)
    contestants["torch"] = [("", lambda s: torch.softmax(s["x"], dim=1, out=s["out"]))]
    return Case(part, f"{function} {rows}x{columns} {kind}", 2 * rows * columns * dtype.itemsize, make, ("out",),
                contestants, lambda s: relative(s["out"], torch.softmax(s["x"].double(), dim=1)), tolerance(dtype))


def softmax(clock, packages, rows=ROWS, widths=(256, 781, 1024, 4096, 8192, 16384, 32768), kinds=("f32", "bf16")):
    for kind in kinds:
        for columns in widths:
            configurations = [(f"warps {w}", {"num_warps": w}) for w in warps_for(columns)]
            yield softmax_case("softmax", "softmax", "softmax", rows, columns, kind, configurations, packages)


def wide_softmax(clock, packages, shapes=((4096, 16384), (1024, 131072))):
    for rows, columns in shapes:
        configurations = [(f"block {b} warps {w}", {"block": b, "num_warps": w})
                          for b, w in ((1024, 4), (4096, 8), (8192, 8), (8192, 16), (16384, 16))]
        yield softmax_case("wide_softmax", "softmax_wide", "softmax_wide", rows, columns, "f32", configurations, packages)


def vector_add(clock, packages, sizes=(2**20, 2**24, 2**28)):
    for n in sizes:
        def make(generator, n=n):
            return {"x": normal(generator, n), "y": normal(generator, n), "out": torch.empty(n, device=generator.device)}

        def build(module):
            return [(f"block {b} warps {w}", lambda s, b=b, w=w: module.add(s["x"], s["y"], s["out"], block=b, num_warps=w))
                    for b, w in ((1024, 4), (1024, 8), (2048, 4), (4096, 8))]

        contestants = sources.for_each("vector_add", build, packages)
        contestants["torch"] = [("", lambda s: torch.add(s["x"], s["y"], out=s["out"]))]
        yield Case("vector_add", f"add 2^{int(math.log2(n))} f32", 12 * n, make, ("out",), contestants,
                   lambda s: relative(s["out"], s["x"] + s["y"]), 0.0)


def layer_norm(clock, packages, rows=8192, widths=(1024, 4096, 8192), kind="f16"):
    dtype = DTYPES[kind]
    for columns in widths:
        def make(generator, columns=columns):
            x = normal(generator, rows, columns, dtype=dtype)
            vector = lambda: normal(generator, columns, dtype=dtype)
            return {"x": x, "weight": vector(), "bias": vector(), "out": torch.empty_like(x),
                    "mean": torch.empty(rows, device=x.device), "rstd": torch.empty(rows, device=x.device)}

        def build(module, columns=columns):
            return [(f"block {b} warps {w}", lambda s, b=b, w=w: module.layernorm(
                        s["x"], s["weight"], s["bias"], s["out"], s["mean"], s["rstd"], block=b, num_warps=w))
                    for b in sorted({min(columns, 2048), columns}) for w in warps_for(columns)]

        expected = lambda s, columns=columns: F.layer_norm(s["x"].double(), (columns,), s["weight"].double(),
                                                           s["bias"].double(), 1e-5)
        contestants = sources.for_each("layernorm", build, packages)
        contestants["torch"] = [("", lambda s, columns=columns: s.update({
            MADE: F.layer_norm(s["x"], (columns,), s["weight"], s["bias"], 1e-5)}))]
        yield Case("layer_norm", f"layernorm {rows}x{columns} {kind}", 2 * rows * columns * dtype.itemsize, make,
                   ("out",), contestants, lambda s, expected=expected: relative(s["out"], expected(s)), tolerance(dtype))


DROP = 0.1


def dropped_error(s, columns):
    """How far what was kept is off; infinite where not the right share was dropped."""
    exact = (s["x"].float() + s["residual"].float()).double()
    normed = F.layer_norm(exact, (columns,), s["weight"].double(), s["bias"].double(), 1e-5) / (1 - DROP)
    kept = s["out"] != 0
    share = 1 - kept.double().mean().item()
    return relative(s["out"], normed * kept) if abs(share - DROP) < 0.01 else math.inf


def residual(clock, packages, rows=8192, widths=(1024, 4096, 8192), kind="f16"):
    dtype = DTYPES[kind]
    for columns in widths:
        def make(generator, columns=columns):
            x = normal(generator, rows, columns, dtype=dtype)
            return {"x": x, "residual": normal(generator, rows, columns, dtype=dtype),
                    "weight": normal(generator, columns, dtype=dtype), "bias": normal(generator, columns, dtype=dtype),
                    "h": torch.empty_like(x), "out": torch.empty_like(x)}

        def build(module, columns=columns):
            return [(f"warps {w}", lambda s, w=w: module.residual_layernorm_dropout(
                        s["x"], s["residual"], s["weight"], s["bias"], s["h"], s["out"], DROP, 1234, num_warps=w))
                    for w in warps_for(columns)]

        def chain(s, columns=columns):
            torch.add(s["x"], s["residual"], out=s["h"])
            s[MADE] = F.dropout(F.layer_norm(s["h"], (columns,), s["weight"], s["bias"], 1e-5), DROP)

        contestants = sources.for_each("residual_layernorm_dropout", build, packages)
        contestants["torch"] = [("", chain)]
        yield Case("residual", f"residual+layernorm+dropout {rows}x{columns} {kind}", 4 * rows * columns * dtype.itemsize,
                   make, ("h", "out"), contestants, lambda s, columns=columns: dropped_error(s, columns), tolerance(dtype))


GEMV = [(1, 4096, 4), (1, 4096, 8), (1, 2048, 2), (2, 2048, 4), (4, 1024, 4), (4, 512, 4), (8, 512, 8), (1, 1024, 1),
        (4, 2048, 2), (2, 2048, 1), (8, 2048, 4), (1, 1024, 4)]


def gemv(clock, packages, n=4096, k=4096, configurations=GEMV):
    def make(generator):
        return {"w": normal(generator, n, k, dtype=torch.bfloat16), "x": normal(generator, k, dtype=torch.bfloat16),
                "y": torch.empty(n, dtype=torch.bfloat16, device=generator.device)}

    def build(module):
        return [(f"rows {bn} block {bk} warps {w}", lambda s, bn=bn, bk=bk, w=w: module.gemv(
                    s["w"], s["x"], s["y"], block_n=bn, block_k=bk, num_warps=w)) for bn, bk, w in configurations]

    contestants = sources.for_each("gemv", build, packages)
    contestants["torch"] = [("", lambda s: torch.mv(s["w"], s["x"], out=s["y"]))]
    contestants["F.linear"] = [("", lambda s: s.update({MADE: F.linear(s["x"][None], s["w"])[0]}))]
    yield Case("gemv", f"gemv {n}x{k} bf16 M=1", 2 * (n * k + n + k), make, ("y",), contestants,
               lambda s: relative(s.get("out", s["y"]), s["w"].double() @ s["x"].double()), 1e-2)


GEMV_INT3 = [(4, 1, 1), (16, 1, 4), (8, 4, 4), (4, 4, 4), (4, 8, 4), (2, 16, 4), (1, 32, 4), (4, 32, 8)]
# Upstream 3.6 fails to compile a gather of 16 groups or more.
GEMV_INT3_GATHER = [(4, 1, 1), (16, 1, 4), (8, 1, 2), (8, 4, 4), (4, 4, 4), (4, 8, 4), (2, 8, 2), (2, 8, 1)]


def pack_int3(values):
    """[N, K] of 0..7 -> [N, 3/8·K] bytes, eight values in three bytes, the first in the lowest bits."""
    eights = values.reshape(values.shape[0], -1, 8).int()
    words = (eights << (3 * torch.arange(8, device=values.device, dtype=torch.int32))).sum(dim=2)
    return torch.stack([words & 255, words >> 8 & 255, words >> 16 & 255], dim=2).flatten(1).to(torch.uint8)


def gemv_int3(clock, packages, n=4096, k=4096, configurations=None):
    def make(generator):
        values = torch.randint(0, 8, (n, k), generator=generator, device=generator.device, dtype=torch.int32)
        scales = (normal(generator, n, k // 128) * 0.1).half()
        s = {"packed": pack_int3(values), "scales": scales, "x": normal(generator, k, dtype=torch.float16),
             "y": torch.empty(n, dtype=torch.float16, device=generator.device)}
        return s

    def expected(s):
        threes = s["packed"].reshape(n, -1, 3).int()
        words = threes[:, :, 0] | threes[:, :, 1] << 8 | threes[:, :, 2] << 16
        shifts = 3 * torch.arange(8, device=words.device, dtype=torch.int32)
        values = (words[:, :, None] >> shifts & 7).flatten(1)
        return ((values - 4).double() * s["scales"].double().repeat_interleave(128, dim=1)) @ s["x"].double()

    def chosen(form):
        return configurations or (GEMV_INT3_GATHER if form == "gather" else GEMV_INT3)

    for form in ("scatter", "gather", "join"):
        def build(module, form=form):
            return [(f"rows {bn} groups {g} warps {w}", lambda s, bn=bn, g=g, w=w: module.gemv_int3(
                        form, s["packed"], s["scales"], s["x"], s["y"], block_n=bn, groups=g, num_warps=w))
                    for bn, g, w in chosen(form) if g * 128 <= k]

        yield Case("gemv_int3", f"gemv {n}x{k} int3 {form} M=1", n * k * 3 // 8 + n * k // 64 + 2 * (n + k), make, ("y",),
                   sources.for_each("gemv_int3", build, packages), lambda s: relative(s["y"], expected(s)), 2e-3)
