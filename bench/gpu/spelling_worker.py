"""One process of spelling_run.py: compiles a case for both compilers, and measures it when it is told that the GPU is its own.

In, on standard input: a line of JSON each, {"case": ...} or {"compile": ...}; then "go" when a case may measure. Out, on the
descriptor given as the first argument: lines of JSON, {"phase": ..., ...}; the last of a case is "done" with its result. The phase
names the contestant under way, so that whoever watches knows whom a death or a hang belongs to.

A result is checked before it is timed: outputs are poisoned, the reference is f64. Times are between events around one call,
the L2 cache flushed before, the output allocated in the call, contestants in turn.
"""
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import torch

import rounds
import sources
import spelled
import spelling_cases
from clock import Clock
from worker_process import Pipe

FOLDER = HERE / "spellings"
ROUNDS = 3
SECONDS = 0.04            # of one contestant in one round
MOST, LEAST = 20, 2       # calls of one contestant in one round
ROWS = 509                # of attention every so many rows are checked, and the last
ALLOWED = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-3, torch.int32: 0.0}
COLD_REPEATS = 3


class Worker:
    def __init__(self, pipe):
        self.pipe, self.modules = pipe, {}
        self.clock = Clock()
        self.load_libraries()

    def load_libraries(self):
        """Makes the first calls of a process now: nothing waits for them while the GPU is this worker's own."""
        for dtype in (torch.float16, torch.float32, torch.float64):
            square = torch.ones(256, 256, dtype=dtype, device=self.clock.device)
            torch.softmax(square @ square, dim=1).norm()
        self.clock.finish()

    def module(self, source, contestant):
        key = source, contestant
        if key not in self.modules:
            self.modules[key] = sources.load(source, sources.PACKAGES[contestant], FOLDER)
            sources.watch(vars(self.modules[key]))
        return self.modules[key]

    # --- compiling ---

    def compile(self, case, spelling, s, contestant):
        """{label: None or why it failed}, and the seconds of all."""
        rows, started = {}, time.perf_counter()
        sources.only_compile = True
        try:
            for config in case["configs"]:
                label = spelling_cases.label(config)
                rows[label] = case["skipped"].get(contestant, {}).get(label)
                if rows[label]:
                    continue
                self.pipe.say("compiling", contestant=contestant, config=label)
                try:
                    spelling.call(self.module(spelling.source, contestant), s, None, config)
                except Exception as error:
                    rows[label] = rounds.describe(error)
        finally:
            sources.only_compile = False
        return rows, time.perf_counter() - started

    # --- checking ---

    def reference(self, spelling, s):
        """(rows or None, the exact result there)."""
        if spelling.family == "matmul":
            return None, spelling.expected(s, None)
        q = s["q"]
        length = q.shape[2] if q.ndim == 4 else q.shape[0]
        rows = torch.tensor(sorted({*range(0, length, ROWS), length - 1}), device=q.device)
        return rows, spelling.expected(s, rows)

    def error(self, spelling, out, rows, exact):
        """Relative: of all that is checked, and a fourth of the worst row's; infinite where a result is not written."""
        if out.dtype.is_floating_point and not torch.isfinite(out).all():
            return math.inf
        found = (out if rows is None else spelling.rows_at(out, rows)).double()
        off = (found - exact).flatten(0, -2)
        exact = exact.flatten(0, -2)
        whole = off.norm() / exact.norm().clamp(min=1e-30)
        worst = (off.norm(dim=1) / exact.norm(dim=1).clamp(min=1e-30)).amax()
        return max(whole.item(), worst.item() / 4)

    def poisoned(self, out):
        return out.fill_(float("nan") if out.dtype.is_floating_point else -77)

    # --- timing ---

    def quick(self, call, best):
        """Seconds, the least of few calls, since a host that is late only adds to them: fewer where it is far from the best."""
        first = min(self.clock.events(call, 2))
        if best is not None and first > 1.5 * best:
            return first
        return min(first, *self.clock.events(call, 3))

    def try_contestant(self, name, launches, failed, spelling, rows, exact):
        """(entry, call) of the fastest right configuration; launches: {label: function of out}."""
        entry, best, fastest = {"configs": {label: {"failed": why} for label, why in failed.items()}}, None, None
        for label, launch in launches.items():
            self.pipe.say("checking", contestant=name, config=label)
            try:
                sources.last_compiled = None
                out = launch(None)
                self.clock.finish()
                if name in sources.PACKAGES:  # once more, into an output that holds nothing right
                    out = launch(self.poisoned(torch.empty_like(out)))
                    self.clock.finish()
                compiled = sources.last_compiled
                row = {"error": self.error(spelling, out, rows, exact), **rounds.properties(compiled)}
                allowed = ALLOWED[out.dtype]
                del out
                if not row["error"] <= allowed:
                    row["wrong"] = True
                else:
                    self.pipe.say("trying", contestant=name, config=label)
                    row["seconds"] = self.quick(lambda: launch(None), best)
                    if best is None or row["seconds"] < best:
                        best, fastest = row["seconds"], label
            except Exception as error:
                row = {"failed": rounds.describe(error)}
            entry["configs"][label] = row
        if fastest is None:
            return entry, None
        entry["best"] = fastest
        return entry, (lambda: launches[fastest](None)), best

    def in_turn(self, running, result):
        names = list(running)
        if "ours" in running:
            running["ours again"] = running["ours"]
        samples = {name: [] for name in running}
        for _ in range(ROUNDS):
            for name, (call, seconds) in running.items():
                self.pipe.say("timing", contestant=name.removesuffix(" again"))
                count = max(LEAST, min(MOST, int(SECONDS / seconds)))
                samples[name].append(statistics.median(self.clock.events(call, count)))
        for name in names:
            found = samples[name]
            median = statistics.median(found)
            result["contestants"][name].update(seconds={"median": median, "min": min(found), "max": max(found)},
                                               tflops=result["flops"] / median * 1e-12)
        if "ours" in running:
            result["spread"] = statistics.median(samples["ours again"]) / statistics.median(samples["ours"])

    # --- a case ---

    def run(self, case):
        spelling = spelled.ALL[case["spelling"]]
        generator = torch.Generator(device=self.clock.device).manual_seed(1)
        s = spelling.make(generator, spelled.DTYPES[case["kind"]], **case["size"])
        result = {key: case[key] for key in ("purpose", "spelling", "kind", "size")}
        result.update(flops=spelling.flops(s), contestants={name: {"failed": why} for name, why in case["without"].items()})
        compiled = {}
        for name in sources.PACKAGES:
            if name not in case["without"]:
                compiled[name], seconds = self.compile(case, spelling, s, name)
                result["contestants"][name] = {"compile seconds": seconds}
        self.pipe.say("ready")
        while self.pipe.hear() != "go":
            pass
        self.pipe.say("checking", contestant="the reference", config="")
        rows, exact = self.reference(spelling, s)
        running = {}
        for name, launches, failed in self.contestants(case, spelling, s, compiled):
            entry, *best = self.try_contestant(name, launches, failed, spelling, rows, exact)
            result["contestants"].setdefault(name, {}).update(entry)
            if best[0] is not None:
                running[name] = tuple(best)
        del exact
        self.in_turn(running, result)
        del s, running
        torch.cuda.empty_cache()
        return result

    def contestants(self, case, spelling, s, compiled):
        for name, rows in compiled.items():
            module = self.module(spelling.source, name)
            launches = {label: (lambda out, module=module, config=config: spelling.call(module, s, out, config))
                        for config in case["configs"] for label in [spelling_cases.label(config)] if rows[label] is None}
            yield name, launches, {label: why for label, why in rows.items() if why}
        for name, call in spelling.library.items():
            if name not in case["without"]:
                yield name, {"": lambda out, call=call: call(s)}, {}

    # --- cold compiles ---

    def cold(self, case):
        """Milliseconds of compiles of one configuration, each of a fresh load, in turn; the first of a process apart."""
        spelling = spelled.ALL[case["spelling"]]
        s = spelling.make(torch.Generator(device=self.clock.device).manual_seed(1), spelled.DTYPES[case["kind"]], **case["size"])
        result = {"purpose": "cold compile", "spelling": case["spelling"], "contestants": {}}
        sources.only_compile, found = True, {name: [] for name in sources.PACKAGES if name not in case["without"]}
        for _ in range(COLD_REPEATS + 1):
            for name, times in found.items():
                self.pipe.say("compiling", contestant=name, config="")
                module = sources.load(spelling.source, sources.PACKAGES[name], FOLDER)
                sources.watch(vars(module))
                started = time.perf_counter()
                try:
                    spelling.call(module, s, None, case["configs"][0])
                    times.append((time.perf_counter() - started) * 1e3)
                except Exception as error:
                    result["contestants"][name] = {"failed": rounds.describe(error)}
        sources.only_compile = False
        for name, times in found.items():
            if len(times) > COLD_REPEATS:
                result["contestants"][name] = {"milliseconds": statistics.median(times[1:]), "first in process": times[0]}
        return result


def main():
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"  # both compile anew
    pipe = Pipe(int(sys.argv[1]))
    worker = Worker(pipe)
    pipe.say("idle")
    while True:
        request = json.loads(pipe.hear())
        try:
            result = worker.cold(request["compile"]) if "compile" in request else worker.run(request["case"])
        except rounds.DeviceLost as error:
            pipe.say("lost", error=str(error)[:600])
            os._exit(3)
        pipe.say("done", result=result)


if __name__ == "__main__":
    main()
