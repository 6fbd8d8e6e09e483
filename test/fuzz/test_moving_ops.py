"""Random programs of ops that move elements (scan, gather, join, split, cat, sort, atomics ...) in loops and branches:
the CPU and the interpreter agree bit for bit. Integers only, so that no order of evaluation shows."""
import importlib.util
import random

import numpy as np
import pytest

HEADER = """import tegula as triton
import tegula.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def later(a, x, b, y):
    return tl.where(y > x, b, a), tl.maximum(x, y)


@triton.jit
def kernel(p_ptr, q_ptr, out_ptr, sum_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(p_ptr + i)
    b = tl.load(q_ptr + i)
"""

UNARY = ["tl.cumsum({x}, axis=0)", "tl.cumsum({x}, axis=0, reverse=True)", "tl.associative_scan({x}, 0, add)",
         "tl.sort({x})", "tl.flip({x})", "{x} * 3 - 1", "tl.abs({x})", "tl.gather({x}, i ^ 1, 0)",
         "tl.gather({x}, (i * 5 + n) % N, 0)", "tl.reshape(tl.trans(tl.reshape({x}, (N // 4, 4))), (N,))",
         "tl.where(i < n, {x}, 0)", "{x} - tl.sum({x}, axis=0)", "{x} + tl.argmax({x}, axis=0)",
         "tl.histogram({x} & 7, N)", "tl.load(out_ptr + tl.abs({x}) % N)"]
BINARY = ["{x} + {y}", "tl.maximum({x}, {y})", "tl.gather({x}, tl.abs({y}) % N, 0)",
          "tl.gather(tl.cat({x}, {y}), i * 2, 0)", "tl.gather(tl.interleave({x}, {y}), i + 1, 0)",
          "tl.split(tl.join({x}, {y} + 1))[1]", "tl.split(tl.reshape(tl.cat({x}, {y}), (N, 2)))[0]",
          "tl.sum(tl.join({x}, {y}), axis=1)", "tl.where({x} > {y}, {x}, n)"]
EFFECTS = ["tl.store(out_ptr + i, {x})", "tl.store(out_ptr + i, {x}, mask=i < n)", "tl.store(p_ptr + i, {x})",
           "tl.store(out_ptr + tl.flip(i), {x})", "tl.atomic_add(sum_ptr + (i & 3), {x})",
           "tl.atomic_max(out_ptr + i, {x}, mask=i != n)", "tl.atomic_add(sum_ptr + 4, tl.sum({x}, axis=0))"]


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names, self.depth = [], ["a", "b"], 1

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def expression(self):
        x, y = self.random.choice(self.names), self.random.choice(self.names)
        return self.random.choice(UNARY + BINARY).format(x=x, y=y)

    def statement(self, nested):
        kind = self.random.random()
        if kind < 0.55:
            name = self.random.choice(self.names + ["t%d" % len(self.lines)]) if not nested else self.random.choice(self.names)
            self.line(f"{name} = {self.expression()}")
            if name not in self.names:
                self.names.append(name)
        elif kind < 0.8 or nested >= 2:
            self.line(self.random.choice(EFFECTS).format(x=self.random.choice(self.names)))
        else:
            self.line(self.random.choice(["for k in range(3):", "if n > 5:", "for k in range(n % 4):"]))
            self.depth += 1
            for _ in range(self.random.randint(1, 3)):
                self.statement(nested + 1)
            self.depth -= 1

    def program(self):
        for _ in range(self.random.randint(4, 9)):
            self.statement(0)
        for k, name in enumerate(self.names):
            self.line(f"tl.store(out_ptr + {k + 1} * N + i, {name})")
        return HEADER + "\n".join(self.lines) + "\n"


def launch(kernel, target, n, N):
    import tegula

    tegula.set_target(target)
    rng = np.random.default_rng(n)
    p, q = rng.integers(-50, 50, N).astype(np.int32), rng.integers(-50, 50, N).astype(np.int32)
    out, sums = np.zeros(40 * N, np.int32), np.zeros(8, np.int32)
    kernel[(1,)](p, q, out, sums, n, N=N)
    tegula.set_target("cpu")
    return p, out, sums


@pytest.mark.parametrize("seed", range(60))
def test_cpu_agrees(seed, tmp_path):
    text = Writer(seed).program()
    path = tmp_path / "program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    N = (8, 32, 64)[seed % 3]
    for n in (0, 7):
        for actual, expected in zip(launch(module.kernel, "cpu", n, N), launch(module.kernel, "interp", n, N)):
            np.testing.assert_array_equal(actual, expected, err_msg=text)
