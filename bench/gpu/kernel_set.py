"""Every kernel once, on small data on the GPU, against PyTorch: the first thing to run there, and what sanitizers watch.

    kernel_set.py [--report FILE] [--first] [NAME...]

`--first` takes one configuration of each kernel. Prints a line a kernel; exit status 1 when one failed or was wrong.
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "examples")]

import torch
import torch.nn.functional as F

import parts
import rounds
import sources
import spelled
from rounds import MADE, Case

OURS = {"ours": "tegula"}


class Device:
    """What checking a case needs of a clock."""
    device = "cuda"

    def finish(self):
        torch.cuda.synchronize()


def matmul_case(packages, m=130, n=96, k=80):
    def make(generator):
        return {"a": parts.normal(generator, m, k, dtype=torch.float16), "b": parts.normal(generator, k, n, dtype=torch.float16),
                "c": torch.empty(m, n, device=generator.device)}

    def build(module):
        return [("32x32x32", lambda s: module.matmul(s["a"], s["b"], s["c"], block_m=32, block_n=32, block_k=32))]

    return Case("matmul", f"matmul {m}x{n}x{k} f16", 0, make, ("c",), sources.for_each("matmul", build, packages),
                lambda s: parts.relative(s["c"], s["a"].double() @ s["b"].double()), 1e-3)


def attention_case(packages, heads=3, length=100, width=32):
    def make(generator):
        tensors = {name: parts.normal(generator, heads, length, width, dtype=torch.float16) for name in "qkv"}
        return {**tensors, "out": torch.empty_like(tensors["q"])}

    def build(module):
        return [("", lambda s: module.attention(s["q"], s["k"], s["v"], s["out"], causal=True))]

    return Case("attention", f"attention {heads}x{length}x{width} f16 causal", 0, make, ("out",),
                sources.for_each("attention", build, packages),
                lambda s: parts.relative(s["out"], F.scaled_dot_product_attention(
                    *(s[name].double() for name in "qkv"), is_causal=True)), 5e-3)


# Spellings that differ in how tiles reach a product; all of them run in test/kernels/test_spellings.py.
SPELLINGS = {"matmul, wrapped nn": "f16", "matmul, masked nt": "bf16", "matmul, wrapped tt": "f16", "matmul, linear, tile transposed": "f16",
             "matmul, tf32 by name": "f32", "matmul, int8 nt": "i8", "matmul, prefetched by hand": "f16", "matmul, split K": "f16",
             "matmul, tiles of 3 dimensions": "f16", "attention, two loops": "f16", "attention, k transposed as a tile": "bf16",
             "attention, shared heads": "f16", "attention, scores sideways": "f16", "attention, decoding, paged": "f16"}


def spelling_case(name, kind):
    spelling = spelled.ALL[name]
    if spelling.family == "matmul":
        size, config = dict(m=130, n=96, k=200), dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    else:
        size, config = dict(batch=1, heads=4, length=200, head=64, causal=True), dict(BLOCK_M=64, BLOCK_N=32)

    def build():
        module = sources.load(spelling.source, "tegula", HERE / "spellings")
        sources.watch(vars(module))
        return [(f"warps {warps} stages {stages}", lambda s, warps=warps, stages=stages: s.update({
                    MADE: spelling.call(module, s, None, {**config, "num_warps": warps, "num_stages": stages})}))
                for warps, stages in ((4, 3), (8, 2), (4, 1))]

    return Case("spellings", f"{name} {kind}", 0, lambda generator: spelling.make(generator, spelled.DTYPES[kind], **size), (),
                {"ours": build()}, lambda s: parts.relative(s["out"], spelling.expected(s)), 1e-2)


def cases(clock, packages):
    for name, kind in SPELLINGS.items():
        yield spelling_case(name, kind)
    yield from parts.vector_add(clock, packages, sizes=(2**12,))
    yield from parts.softmax(clock, packages, rows=20, widths=(97, 1024, 4096), kinds=("f32", "bf16"))
    yield from parts.wide_softmax(clock, packages, shapes=((3, 5000),))
    yield from parts.layer_norm(clock, packages, rows=20, widths=(1000,))
    yield from parts.residual(clock, packages, rows=64, widths=(1024,))
    yield from parts.gemv(clock, packages, n=64, k=1024)
    yield from parts.gemv_int3(clock, packages, n=64, k=1024)
    yield matmul_case(packages)
    yield attention_case(packages)


def run_case(case, clock, only_first):
    """[(configuration, what it is off by or the failure, whether it is right)]"""
    configurations = case.contestants["ours"]
    if isinstance(configurations, Exception):
        return [("", rounds.describe(configurations), False)]
    tensors = case.make(torch.Generator(device=clock.device).manual_seed(1))
    rows = []
    for label, launch in configurations[:1] if only_first else configurations:
        try:
            compiled, error = rounds.checked(case, launch, tensors, clock)
            rows.append((label, f"off by {error:.2e} {rounds.properties(compiled)}", error <= case.allowed))
        except rounds.DeviceLost:
            raise
        except Exception as problem:
            rows.append((label, rounds.describe(problem), False))
    return rows


def run_all(clock, packages, only_first, names, report):
    bad = 0
    for case in cases(clock, packages):
        if names and not any(name in case.name for name in names):
            continue
        try:
            rows = run_case(case, clock, only_first)
        except rounds.DeviceLost as error:
            rows = [("", f"the device was lost: {error}", False)]
        wrong = [row for row in rows if not row[2]]
        bad += bool(wrong)
        print(f"{'ok   ' if not wrong else 'WRONG'} {case.name}: {len(rows) - len(wrong)} of {len(rows)} configurations", flush=True)
        for label, text, _ in wrong[:3]:
            print(f"      {label}: {text}", flush=True)
        report(case.name, rows)
        if wrong and "device was lost" in wrong[0][1]:
            break
    return bad


def main():
    parser = argparse.ArgumentParser(prog="kernel_set.py")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("kernel_set: PyTorch sees no CUDA device here")
    found = {}

    def report(name, rows):
        found[name] = [{"configuration": label, "result": text, "right": right} for label, text, right in rows]
        if args.report:
            args.report.write_text(json.dumps(found, indent=1) + "\n")

    sys.exit(1 if run_all(Device(), OURS, args.first, args.names, report) else 0)


if __name__ == "__main__":
    main()
