"""One process of random_run.py: runs random kernels of both compilers, for their results or for their times.

In, on standard input: a line of JSON each, {"check": SEED} or {"time": SEED}. Out, on the descriptor given as the first argument:
lines of JSON, {"phase": ..., ...}; the last of a seed is "done" with its result. A kernel that was checked here is timed as it was
compiled then. Upstream's results are what ours are compared with, and not always the right ones.
"""
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import torch

import random_kernels
import rounds
import sources
from random_kernels import data
from worker_process import Pipe

GRAPH_SECONDS = 1e-3        # of the launches in a graph of the slower one, about
LEAST, MOST = 2, 100        # launches in a graph


class Worker:
    def __init__(self, pipe, clock, packages=sources.PACKAGES, is_small=False):
        self.pipe, self.clock, self.packages, self.is_small = pipe, clock, packages, is_small
        self.modules = {}
        self.folder = tempfile.TemporaryDirectory(prefix="random-kernels-")

    def kernel(self, seed):
        return random_kernels.make(seed, self.is_small)

    def module(self, kernel, contestant):
        key = kernel.seed, contestant
        if key not in self.modules:
            name = f"seed_{kernel.seed}"
            (Path(self.folder.name) / f"{name}.py").write_text(kernel.source)
            module = sources.load(name, self.packages[contestant], Path(self.folder.name))
            sources.watch(vars(module))
            module.triton.set_allocator(self.allocate)  # descriptors that a kernel makes lie in memory
            self.modules[key] = module
        return self.modules[key]

    def allocate(self, size, alignment, stream):
        return torch.empty(size, dtype=torch.int8, device=self.clock.device)

    # --- results ---

    def check(self, seed):
        kernel = self.kernel(seed)
        tensors = data.made(kernel, self.clock.device)
        entries, found = {}, {}
        for name in self.packages:
            self.pipe.say("checking", contestant=name)
            data.poison(kernel, tensors)
            try:
                entries[name] = self.first_launch(kernel, name, tensors)
                found[name] = data.results(kernel, tensors)
            except Exception as error:
                entries[name] = {"failed": rounds.describe(error)}
        result = {"contestants": entries}
        if len(found) == 2:
            result["differences"] = data.difference(found["ours"], found["upstream"])
            result["error"] = max(result["differences"].values())
        return result

    def first_launch(self, kernel, contestant, tensors):
        started = time.perf_counter()
        sources.last_compiled = None
        data.launch(kernel, self.module(kernel, contestant), tensors)()
        self.clock.finish()
        return {"compile seconds": time.perf_counter() - started, **rounds.properties(sources.last_compiled)}

    # --- times ---

    def time(self, seed):
        """Medians of rounds in turn, of one launch in a graph of several, over the same tensors each."""
        kernel = self.kernel(seed)
        tensors = data.made(kernel, self.clock.device)
        calls = {}
        for name in self.packages:
            self.pipe.say("timing", contestant=name)
            calls[name] = data.launch(kernel, self.module(kernel, name), tensors)
            calls[name]()
        slowest = max(min(self.clock.events(call, 3)) for call in calls.values())
        launches = max(LEAST, min(MOST, int(GRAPH_SECONDS / slowest)))
        graphs = {name: self.clock.record([call] * launches) for name, call in calls.items()}
        samples = {name: [] for name in graphs}
        for _ in range(rounds.ROUNDS):
            for name, graph in graphs.items():
                self.pipe.say("timing", contestant=name)
                samples[name] += self.clock.graph(graph, launches, 1)
        seconds = {name: statistics.median(found) for name, found in samples.items()}
        return {"seconds": seconds, "ratio": seconds["ours"] / seconds["upstream"]}

    def do(self, request):
        """Says "done" with the result of {verb: seed}."""
        (verb, seed), = request.items()
        try:
            result = {"check": self.check, "time": self.time}[verb](seed)
        except rounds.DeviceLost:
            raise
        except Exception as error:  # of PyTorch, say: there is no memory for the tensors
            result = {"fate": f"{verb}: {rounds.describe(error)}"}
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.pipe.say("done", result=result)


def main():
    from clock import Clock

    os.environ["TRITON_ALWAYS_COMPILE"] = "1"  # both compile anew
    pipe = Pipe(int(sys.argv[1]))
    worker = Worker(pipe, Clock())
    pipe.say("idle")
    while True:
        request = json.loads(pipe.hear())
        try:
            worker.do(request)
        except rounds.DeviceLost as error:
            pipe.say("lost", error=str(error)[:600])
            os._exit(3)


if __name__ == "__main__":
    main()
