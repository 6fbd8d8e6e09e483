"""What the host spends: on a launch, and on a cold compile. Parts of `./x bench gpu` that give finished results."""
import statistics
import time

import torch

import sources
from rounds import describe

ROUNDS = 11
REPEATS = 3


def launch(clock, packages, rounds=ROUNDS):
    """Seconds of the calling thread for a launch of the five-argument vector add on little data, in turn."""
    n = 1024
    x, y = (torch.randn(n, device=clock.device) for _ in range(2))
    out = torch.empty_like(x)

    def build(module):
        kernel = module.add_kernel
        return lambda: kernel[(1,)](x, y, out, n, BLOCK=1024)

    calls = sources.for_each("vector_add", build, packages, watched=False)
    calls["torch.add"] = lambda: torch.add(x, y, out=out)
    result = {"part": "launch", "name": "launch of 5 arguments", "contestants": {}}
    running = {}
    for name, call in calls.items():
        try:
            if isinstance(call, Exception):
                raise call
            call()
            clock.host(call)
            running[name] = call
        except Exception as error:
            result["contestants"][name] = {"failed": describe(error)}
    if "ours" in running:
        running["ours again"] = running["ours"]
    samples = {name: [] for name in running}
    for _ in range(rounds):
        for name, call in running.items():
            samples[name].append(clock.host(call))
    for name, seconds in samples.items():
        result["contestants"][name] = {"host": {"median": statistics.median(seconds), "min": min(seconds),
                                                "max": max(seconds)}}
    medians = {name: statistics.median(seconds) for name, seconds in samples.items()}
    result["host"] = {}
    if "ours" in medians:
        result["host"]["spread"] = medians["ours again"] / medians["ours"]
        if "upstream" in medians:
            result["host"]["ratio"] = medians["ours"] / medians["upstream"]
    yield result


def kernels(device):
    """(example, kernel, arguments, constants) of one configuration each."""
    def f32(*shape):
        return torch.randn(*shape, device=device)

    def f16(*shape):
        return f32(*shape).half()

    n = 1024
    matrix = f16(n, n)
    row = f16(n)
    yield "vector_add", "add_kernel", (f32(n), f32(n), f32(n), n), dict(BLOCK=1024)
    yield "softmax", "softmax_kernel", (f32(8, n), f32(8, n), n, n, n), dict(BLOCK=1024)
    yield "softmax_wide", "softmax_wide_kernel", (f32(8, n), f32(8, n), n, n, n), dict(BLOCK=1024)
    yield "layernorm", "layernorm_kernel", (matrix, row, row, matrix, f32(n), f32(n), n, n, n, 1e-5), dict(BLOCK=1024)
    yield ("residual_layernorm_dropout", "residual_layernorm_dropout_kernel",
           (matrix, matrix, row, row, matrix, matrix, n, 1e-5, 0.1, 1234), dict(BLOCK=1024))
    yield "gemv", "gemv_kernel", (matrix, row, row, n, n, n), dict(BLOCK_N=4, BLOCK_K=512)
    packed = torch.randint(0, 256, (n, n * 3 // 8), device=device, dtype=torch.int32).to(torch.uint8)
    for form in ("scatter", "gather", "join"):
        yield ("gemv_int3", f"gemv_int3_{form}_kernel", (packed, f16(n, n // 128), row, row, n, n),
               dict(BLOCK_N=4, GROUPS=2))
    yield ("matmul", "matmul_kernel", (matrix, matrix, matrix, n, n, n, n, 1, n, 1, n, 1),
           dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=8))
    heads = f16(4, n, 64)
    yield ("attention", "attention_kernel", (heads, heads, heads, heads, n, n, 0.125),
           dict(HEAD=64, BLOCK_Q=64, BLOCK_K=64, CAUSAL=False))


def upstream_stages(times):
    """Milliseconds by stage of what upstream tells its listener."""
    stages = {name: microseconds * 1e-3 for name, microseconds in times.lowering_stages}
    stages["ir"] = times.ir_initialization * 1e-3
    return stages


class Stages:
    """Collects upstream's stage times while it is open; nothing where this version has no listener."""

    def __init__(self):
        self.last = {}

    def __enter__(self):
        try:
            from triton import knobs
            self.knobs, self.before = knobs, knobs.compilation.listener
            knobs.compilation.listener = self.hear
        except Exception:
            self.knobs = None
        return self

    def hear(self, **said):
        try:
            self.last = upstream_stages(said["times"])
        except (KeyError, AttributeError, TypeError):
            self.last = {}

    def __exit__(self, *exception):
        if self.knobs:
            self.knobs.compilation.listener = self.before


def compile_once(package, example, kernel, arguments, constants):
    """(milliseconds of a warmup of a fresh load, milliseconds by stage)."""
    function = getattr(sources.load(example, package), kernel)
    with Stages() as heard:
        started = time.perf_counter()
        compiled = function.warmup(*arguments, grid=(1,), **constants)
        whole = (time.perf_counter() - started) * 1e3
    times = getattr(compiled, "times", None)
    return whole, dict(times) if isinstance(times, dict) else heard.last


ASSEMBLING = ("cubin", "assemble", "ptxas", "assembler")


def compile_times(clock, packages, repeats=REPEATS):
    """Cold compiles in a warm process, in turn. The environment must say that nothing is taken from a cache."""
    packages = packages or sources.PACKAGES
    first = True
    for example, kernel, arguments, constants in kernels(clock.device):
        result = {"part": "compile", "name": f"compile {kernel}", "contestants": {}, "compile": {}}
        runs = {name: [] for name in packages}
        for turn in range(repeats + first):  # the first compile of a process pays for imports and tables
            for name, package in packages.items():
                if runs[name] is None:
                    continue
                try:
                    run = compile_once(package, example, kernel, arguments, constants)
                    if not (first and turn == 0):
                        runs[name].append(run)
                except Exception as error:
                    runs[name] = None
                    result["contestants"][name] = {"failed": describe(error)}
        first = False
        for name, measured in runs.items():
            if measured:
                stages = {stage: statistics.median(times.get(stage, 0.0) for _, times in measured)
                          for stage in measured[0][1]}
                whole = statistics.median(whole for whole, _ in measured)
                assembling = sum(ms for stage, ms in stages.items() if stage in ASSEMBLING)
                result["contestants"][name] = {"milliseconds": whole, "without assembler": whole - assembling,
                                               "stages": stages}
        both = [result["contestants"].get(name, {}) for name in ("ours", "upstream")]
        for key in ("milliseconds", "without assembler"):
            if all(key in entry for entry in both):
                result["compile"][f"ratio, {key}"] = both[0][key] / both[1][key]
        yield result
