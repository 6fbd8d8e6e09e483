"""Measures how compile time grows with the size of a program: compiles rows of shapes.py at doubling sizes.

In: a shape, a target, a bound on time. Out: points (size, CPU seconds, or a refusal), and the exponent of a fit
through the larger ones. Each series runs in a process of its own, so that a crash or a hang is that row's result,
and CPU time is the process's own: no clock of the wall is read, since other processes would be in it.
`python growth.py SHAPE TARGET SECONDS` prints one series as JSON.
"""
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import shapes

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = ("cpu", "ptxvm")  # the latter goes down to PTX, and no further
LARGEST = 1 << 20
GOAL, BENCH_SECONDS = 1.3, 10.0  # what `./x bench growth` asks
LEAST_OF_BASE = 3.0  # a point counts if it takes so many times what an empty kernel takes
TOTAL = 2.5  # times the largest compile: what a series may take in all
LEAST_SECONDS = 1.0  # of the largest compile: what a budget ends below is not slow, however it grows (128 loops in each other take LLVM 0.75)


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("cpu", ctypes.c_char_p),
                ("num_warps", ctypes.c_int32), ("num_stages", ctypes.c_int32), ("debug", ctypes.c_int32)]


class Compiler:
    """The functions of tegula.h that compiling needs."""

    def __init__(self, target):
        build = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
        self.lib = ctypes.CDLL(str(next(path for path in (build / "lib" / "libtegula.so", build / "python" / "tegula" / "libtegula.so")
                                        if path.exists())))
        self.lib.tg_diagnostics_text.restype = ctypes.c_char_p
        self.lib.tg_kernel_time.restype = ctypes.c_char_p
        self.options = Options(ctypes.sizeof(Options), target.encode())
        self.context, _ = self.call("tg_context_create", None)

    def call(self, name, *arguments):
        """The result of a function whose last two parameters are the result and the problems, or None and their text."""
        result, problems = ctypes.c_void_p(), ctypes.c_void_p()
        if getattr(self.lib, name)(*arguments, ctypes.byref(result), ctypes.byref(problems)):
            return None, self.lib.tg_diagnostics_text(problems).decode()
        return result, ""

    def compile(self, text, signature):
        """CPU seconds of the whole, milliseconds of the wall by stage, and a refusal's text or ""."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            began = time.process_time()
            module, refusal = self.call("tg_module_from_file", self.context, file.name.encode())
            if not module:
                return time.process_time() - began, {}, refusal
            function, refusal = self.call("tg_module_find", module, b"k")
            assert function, refusal
            kernel, refusal = self.call("tg_compile", function, signature.encode(), ctypes.byref(self.options))
            seconds = time.process_time() - began
        stages = self.stages(kernel) if kernel else {}
        if kernel:
            self.lib.tg_kernel_destroy(kernel)
        self.lib.tg_module_destroy(module)
        return seconds, stages, refusal

    def stages(self, kernel):
        stages, index, milliseconds = {}, 0, ctypes.c_double()
        while stage := self.lib.tg_kernel_time(kernel, ctypes.c_size_t(index), ctypes.byref(milliseconds)):
            stages[stage.decode()] = stages.get(stage.decode(), 0.0) + milliseconds.value
            index += 1
        return stages


def exponent(points):
    """Of a fit `seconds - base = c * n^e` through the last points; None where too few take any time."""
    base = points[0]["seconds"]
    telling = [(math.log(point["n"]), math.log(point["seconds"] - base)) for point in points[1:]
               if point["seconds"] > LEAST_OF_BASE * base][-4:]
    if len(telling) < 3:
        return None
    mean_x, mean_y = (sum(each[axis] for each in telling) / len(telling) for axis in (0, 1))
    return (sum((x - mean_x) * (y - mean_y) for x, y in telling) / sum((x - mean_x) ** 2 for x, _ in telling))


def is_steep(series, most):
    """Does a series grow faster than n^most, and to a compile for which somebody waits?"""
    return (series["exponent"] or 0) > most and series["points"][-1]["seconds"] >= LEAST_SECONDS


def ends_early(series):
    """Does a budget end a series before it takes time? Its exponent is of milliseconds, and nobody waits for it."""
    return bool(series["refusal"]) and not series["fault"] and series["points"][-1]["seconds"] < LEAST_SECONDS


def line_of(series):
    """One line of a table."""
    last = series["points"][-1] if series["points"] else {"n": 0, "seconds": 0.0}
    stages = sorted(last.get("stages", {}).items(), key=lambda item: -item[1])[:3]
    figure = "   -" if series["exponent"] is None else f"{series['exponent']:4.2f}"
    ended = series["fault"] or series["refusal"].split("error: ")[-1].split("\n")[0]
    return (f"{series['shape']:28} {series['target']:6} {figure}  {last['seconds']:6.2f} s at {last['n']:7}  "
            f"{' '.join(stage for stage, _ in stages):24} {ended[:110]}")


def grow(name, target, seconds):
    """One series, printed point by point: the first point is an empty kernel's, of size 0."""
    compiler = Compiler(target)
    empty = shapes.kernel(["pass"])
    compiler.compile(*empty)  # the first touches pages and LLVM's tables
    row = shapes.SHAPES[name]
    compiler.compile(*row.make(row.first))
    points = [{"n": 0, "seconds": min(compiler.compile(*empty)[0] for _ in range(3))}]
    print(json.dumps(points[-1]), flush=True)
    n, total, before = row.first, 0.0, 0.0
    while n <= 2 * LARGEST:
        took, stages, refusal = compiler.compile(*row.make(n))
        if took < 0.03 and not refusal:  # short: the least of three
            took = min(took, *(compiler.compile(*row.make(n))[0] for _ in range(2)))
        print(json.dumps({"n": n, "seconds": took, "stages": stages, "refusal": refusal}), flush=True)
        total += took
        next_one = took * max(2.0, took / before if before > 0.1 else 2.0)
        if refusal or took > seconds / 2 or total + next_one > TOTAL * seconds:
            return
        n, before = 2 * n, took


def run(name, target, seconds, wall=None):
    """The series of a row as a dict: points, exponent, how it ended."""
    limit = wall or 20 * seconds + 60  # of the wall: a hang is a result, too
    command = [sys.executable, __file__, name, target, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=limit)
        ended = "" if process.returncode == 0 else f"ended by {process.returncode}: {err.strip()[-300:]}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        ended = f"no end in {limit:.0f} s"
    points = [json.loads(line) for line in out.splitlines()]
    refusal = points[-1].get("refusal", "") if points else ""
    compiled = [point for point in points if not point.get("refusal")]
    return {"shape": name, "target": target, "exponent": exponent(compiled) if compiled else None, "refusal": refusal,
            "fault": ended, "points": compiled}


if __name__ == "__main__":
    grow(sys.argv[1], sys.argv[2], float(sys.argv[3]))
