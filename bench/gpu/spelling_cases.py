"""Lists what spelling_run.py measures: cases as plain data, by priority, and the configurations that both
compilers choose from.

A purpose is what spellings are compared for: one problem, one size, one type. The first cases are those of issue 9's table.
"""
from dataclasses import asdict, dataclass, field

import spelled


@dataclass
class Case:
    purpose: str
    spelling: str
    kind: str
    size: dict
    configs: list
    without: dict = field(default_factory=dict)  # contestant -> why it is not tried again
    skipped: dict = field(default_factory=dict)  # contestant -> {label of a configuration: why it is not tried again}

    def name(self):
        return f"{self.purpose}: {self.spelling.partition(', ')[2]}"

    def plain(self):
        return asdict(self)


def product(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


def rows(m, n, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, num_warps=warps, num_stages=stages)


def label(config):
    blocks = "x".join(str(value) for name, value in config.items() if name.startswith("BLOCK"))
    return f"{blocks} w{config['num_warps']} s{config['num_stages']}"


# Best first, as far as that is known: the quick form takes the first ones.
WIDE = [product(128, 256, 64, 8, 3), product(128, 128, 64, 8, 3), product(128, 128, 32, 4, 4), product(128, 128, 64, 4, 4),
        product(256, 128, 64, 8, 3), product(64, 128, 64, 4, 4)]
SMALL = [product(128, 128, 32, 4, 4), product(128, 64, 32, 4, 4), product(64, 128, 32, 4, 4), product(64, 64, 32, 4, 3)]
TF32 = [product(128, 128, 32, 8, 3), product(128, 256, 32, 8, 3), product(128, 128, 32, 4, 4), product(64, 128, 32, 4, 4),
        product(256, 128, 32, 8, 3), product(128, 128, 32, 4, 3)]
INT8 = [product(128, 256, 128, 8, 3), product(128, 128, 128, 8, 3), product(128, 128, 64, 4, 4), product(64, 128, 128, 4, 4),
        product(256, 128, 128, 8, 3), product(128, 128, 128, 4, 3)]
TWO_SUMS = [product(128, 128, 64, 8, 3), product(128, 128, 32, 8, 3), product(128, 64, 64, 4, 3)]
CUBES = [product(64, 64, 32, 4, 3), product(64, 128, 32, 8, 3), product(32, 64, 32, 4, 3)]
FEW = [product(16, 32, 256, 4, 3), product(16, 64, 128, 4, 4), product(16, 16, 256, 4, 4), product(16, 32, 128, 2, 5)]
ATTENTION = [rows(128, 64, 8, 3), rows(128, 64, 4, 3), rows(128, 128, 8, 2), rows(64, 64, 4, 3), rows(256, 64, 16, 2)]
DECODING = [rows(16, 64, 4, 3), rows(16, 128, 4, 2), rows(16, 32, 2, 4)]

GEMM = {name: WIDE for name in (spelling.name for spelling in spelled.MATMULS if "f16" in spelling.kinds)}
GEMM |= {"gated, two products": TWO_SUMS, "tiles of 3 dimensions": CUBES, "few rows": FEW}
OTHER_WORK = {"window", "packed"}  # what they leave out is no share of a block: rates are not comparable
BATCHED = {"batched", "tiles of 3 dimensions"}
OTHER = {"few rows", "decoding, paged", "split K", *BATCHED}  # measured at sizes of their own


def cube(n):
    return dict(m=n, n=n, k=n)


def gemm(name, kind, n, count):
    return Case(f"GEMM {kind} {n}", f"matmul, {name}", kind, cube(n), GEMM[name][:count])


def attention(name, length, head, causal, count, kind="f16"):
    size = dict(batch=max(1, 16384 // length), heads=2048 // head, length=length, head=head, causal=causal)
    if name == "shared heads":
        size["group"] = 4
    if name == "window":
        size["window"] = 1024
    if name in ("padded head", "native head"):
        size.update(head=80 if head == 64 else 96)
    purpose = f"attention {kind} D{size['head']} {length // 1024}K {'causal' if causal else 'full'}"
    if name in OTHER_WORK:
        purpose += f", {name}"
    return Case(purpose, f"attention, {name}", kind, size, ATTENTION[:count])


def required(quick):
    """The table of the issue: the plain spelling at each size."""
    count = 3 if quick else 6
    for kind, n in [("f16", 4096), ("bf16", 4096), ("f16", 8192), ("f16", 2048)] + ([] if quick else [("bf16", 8192), ("bf16", 2048)]):
        yield gemm("wrapped nn", kind, n, count)
    for name in ("tf32 by name", "tf32 by name nt") if not quick else ("tf32 by name nt",):
        yield Case("GEMM tf32 4096", f"matmul, {name}", "f32", cube(4096), TF32[:count])
    for name in ("int8 nt", "int8 nn") if not quick else ("int8 nt",):
        yield Case("GEMM int8 4096", f"matmul, {name}", "i8", cube(4096), INT8[:count])
    yield Case("GEMM fp8 4096", "matmul, fp8 nt", "f8", cube(4096), INT8[:count])
    for length in (4096, 16384):
        for head in (64, 128):
            for causal in (True, False):
                if not (quick and length == 16384 and not causal):
                    yield attention("two loops", length, head, causal, 2 if quick else 4)


QUICK_GEMM = ["wrapped nt", "masked, acc +=", "offsets recomputed", "linear, tile transposed", "bias gelu", "hinted, counting down",
              "persistent", "prefetched by hand"]
QUICK_ATTENTION = ["one loop, exp", "k transposed as a tile", "logarithms", "padded head", "k loaded ahead"]


def spellings(quick):
    """Every other spelling at one size."""
    done = {"wrapped nn", "two loops"}
    for name in QUICK_GEMM if quick else [name for name in GEMM if name not in done | OTHER]:
        yield gemm(name, "f16", 4096, 2 if quick else 4)
    for name in QUICK_ATTENTION if quick else [s.name for s in spelled.ATTENTIONS if s.name not in done | OTHER]:
        yield attention(name, 4096, 128, True, 2 if quick else 3)
        if not quick:
            yield attention(name, 4096, 64, True, 3)


def others(quick):
    """Problems of another kind, each with its own size."""
    yield Case("GEMV bf16 4096, M=1", "matmul, few rows", "bf16", dict(m=1, n=4096, k=4096), FEW[:2 if quick else 4])
    if quick:
        return
    yield Case("GEMM f16, M=16", "matmul, few rows", "f16", dict(m=16, n=8192, k=8192), FEW)
    yield Case("GEMM f16 512x512x16384", "matmul, split K", "f16", dict(m=512, n=512, k=16384), WIDE[1:5])
    for name in sorted(BATCHED):
        yield Case("GEMM f16 batched 32x1024", f"matmul, {name}", "f16", dict(**cube(1024), batch=32), GEMM[name][:4])
    yield attention("one loop, exp", 4096, 128, False, 3)
    yield attention("k transposed as a tile", 4096, 64, False, 3)
    yield attention("k transposed as a tile", 4096, 128, True, 3, kind="bf16")
    yield Case("decoding f16 64 x 4K", "attention, decoding, paged", "f16",
               dict(batch=64, heads=32, length=4096, head=128, causal=False, group=4), DECODING)


def goals():
    """The table of issue 11: the plain spelling at its sizes, products of f16 from small blocks and from wide ones."""
    for name, blocks in (("small", SMALL), ("wide", WIDE)):
        for n in (1024, 2048, 4096, 8192, 16384):
            yield Case(f"GEMM f16 {n}, {name} blocks", "matmul, wrapped nn", "f16", cube(n), blocks)
    for kind, spelling, blocks in (("bf16", "wrapped nn", WIDE), ("f32", "tf32 by name nt", TF32), ("i8", "int8 nt", INT8), ("f8", "fp8 nt", INT8)):
        for n in (4096, 8192):
            yield Case(f"GEMM {kind} {n}", f"matmul, {spelling}", kind, cube(n), blocks)
    for length, kinds in ((16384, (False, True)), (1024, (True,))):
        for head in (64, 128):
            for causal in kinds:
                yield attention("two loops", length, head, causal, 5)


def lengths():
    """Squares whose rows are no multiples of 16 elements: of 16 bytes all the same, of 8 bytes, of one element."""
    blocks = [product(128, 256, 64, 8, 3), product(128, 128, 64, 8, 3), product(64, 128, 64, 4, 4), product(64, 64, 64, 4, 4)]
    for spelling in ("wrapped nn", "masked, acc +=", "descriptors made"):
        yield Case("GEMM f16 4104", f"matmul, {spelling}", "f16", cube(4104), blocks)
    yield Case("GEMM f16 4096x1000x4096", "matmul, wrapped nn", "f16", dict(m=4096, n=1000, k=4096), blocks)
    for n in (4100, 4101):
        yield Case(f"GEMM f16 {n}", "matmul, wrapped nn", "f16", cube(n), blocks)
    for n in (4100, 4101):
        yield Case(f"GEMM tf32 {n}", "matmul, tf32 by name nt", "f32", cube(n), TF32[:3])


def spelled_in_many_ways(quick):
    return [*required(quick), *spellings(quick), *others(quick)]


SETS = {"whole": lambda: spelled_in_many_ways(False), "quick": lambda: spelled_in_many_ways(True), "goals": goals,
        "lengths": lengths}


def cases(chosen="whole", only=""):
    return [case for case in SETS[chosen]() if only in case.name()]


if __name__ == "__main__":
    for name in SETS:
        chosen = cases(name)
        print(f"{name}: {len(chosen)} cases, {sum(len(case.configs) for case in chosen)} configurations")
        for case in chosen:
            print(f"  {case.name():60} {case.kind:5} {case.size} {[label(config) for config in case.configs]}")
