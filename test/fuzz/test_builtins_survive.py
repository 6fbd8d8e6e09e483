"""Every builtin, method and operator with arguments of every kind: a diagnostic or tile IR, never a crash."""
import random
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "src" / "sema" / "builtins"

SIGNATURE = "p=*f32,q=*i1,b=*bf16,n=i32,u=u8,w=i64,f=f32,h=f16,e=f8e5,c=i1,ONE=1"
HEAD = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def kernel(p, q, b, n, u, w, f, h, e, c, ONE):
    o = tl.arange(0, 6)
    x = tl.load(p + o)
    y = tl.load(b + o[:, None] * 3 + tl.arange(0, 3))
    z = tl.full((6, 6), 2, tl.int8)
    m = z > 1
    t = tl.zeros((2, 3, 2), tl.float64)
    v = tl.zeros((4,), tl.float8e5)
    one = tl.zeros((1, 1), tl.float32)
    bp = tl.make_block_ptr(p, (n, w), (6, 1), (0, n), (6, 6), (1, 0))
    td = tl.make_tensor_descriptor(p, [n, n], [n, 1], [1, 6])
"""
VALUES = ["p", "q", "b", "n", "u", "w", "f", "h", "e", "c", "ONE", "o", "x", "y", "z", "m", "t", "v", "one",
          "(p + o)", "(q + o)", "None", "True", "False", "0", "1", "-1", "2", "3", "31", "2**31", "-2**70", "1.5",
          "-0.0", "float('nan')", "1e300", "'a'", "''", "'rtz'", "'ieee'", "()", "(1,)", "(6,)", "(2, 3)", "(3, 0)",
          "(-1, 4)", "[6, 6]", "(x, o)", "(n,)", "(None,)", "tl.float32", "tl.int1", "tl.bfloat16", "tl.float8e4nv",
          "tl.float8e4b15", "tl.pointer_type(tl.int8)", "p.dtype", "y.type", "plus", "tl.maximum", "tl.load", "tl",
          "bp", "td", "(bp, td)", "bp.type", "td.type", "td.shape", "'nan'", "(0,)", "(0, n)",
          "tl.PropagateNan.ALL", "(2**20, 2**20)", "(1,) * 9", "2**62"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "<", "==", "!=", "is", "and", "or"]
ATTRIBUTES = ["dtype", "type", "shape", "T", "numel", "dtype.element_ty", "type.scalar", "dtype.is_fp16()", "value", "oops"]
INDICES = ["None", ":", "None, :", ":, None", ":, :, :", "0", "-1", "n", "None, None", "'a'", "7", "x"]


def callables():
    table = (ROOM / "Builtins.def").read_text()
    names = re.findall(r'^(?:BUILTIN|LIBRARY|UNSUPPORTED)\((\w+), \w+, (\w+)(?:, "([^"]*)")?', table, re.M)
    calls = [("tl." + name, re.findall(r"(?:^|, )\*?(\w+)", parameters)) for name, _, parameters in names]
    calls += [("METHOD." + name, re.findall(r"(?:^|, )\*?(\w+)", parameters)[1:])
              for name, member, parameters in names if member == "Member"]
    methods = re.findall(r'^DESCRIPTOR\((\w+), "([^"]*)"', table, re.M)
    calls += [("td." + name, re.findall(r"(?:^|, )(\w+)", parameters)[1:]) for name, parameters in methods]
    calls += [("METHOD.to", ["dtype", "fp_downcast_rounding", "bitcast"])]
    calls += [(name, []) for name in re.findall(r'^PYTHON\((\w+),', table, re.M)]
    rows = (ROOM / "Libdevice.def").read_text()
    device = re.findall(r"\b(?:UNARY|BINARY|TERNARY|SPECIAL|WRITTEN|WIDENED)\((\w+),", rows)
    device += [name + way for name in re.findall(r"\bDIRECTED\((\w+),", rows) for way in ("_rz", "_rd", "_ru")]
    return calls + [("libdevice." + name, []) for name in device]


def statement(rng, calls):
    kind = rng.random()
    if kind < 0.12:
        return f"{rng.choice(VALUES)} {rng.choice(OPERATORS)} {rng.choice(VALUES)}"
    if kind < 0.17:
        return f"{rng.choice(VALUES)}.{rng.choice(ATTRIBUTES)}"
    if kind < 0.22:
        return f"{rng.choice(VALUES)}[{rng.choice(INDICES)}]"
    if kind < 0.24:
        return f"{rng.choice(['-', '~', 'not '])}{rng.choice(VALUES)}"
    name, parameters = rng.choice(calls)
    name = name.replace("METHOD", rng.choice(VALUES[:21]))
    arguments = [rng.choice(VALUES) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]))]
    named = [f"{key}={rng.choice(VALUES)}" for key in parameters[len(arguments):] if rng.random() < 0.3]
    return f"{name}({', '.join(arguments + named)})"


def dump(build_dir, path, lines):
    path.write_text(HEAD + "\n".join(lines) + "\n")
    run = subprocess.run([build_dir / "bin" / "tegula_sema_dump", f"{path}::kernel", "--signature", SIGNATURE],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode in (0, 1), f"{run.returncode}\n{run.stderr[-2000:]}"
    assert "InternalCompilerError" not in run.stderr, run.stderr[-2000:]
    return run


@pytest.mark.parametrize("seed", range(40))
def test_no_argument_crashes(seed, build_dir, tmp_path):
    rng = random.Random(seed)
    calls = callables()
    assert len(calls) > 150
    path = tmp_path / "kernel.py"
    lines = [f"    r{i} = {statement(rng, calls)}" for i in range(90)]
    before = HEAD.count("\n") + 1
    run = dump(build_dir, path, lines)
    assert run.returncode == 1
    # What is not refused is a kernel that verifies. A compile keeps 100 errors: a round may miss some.
    for _ in range(5):
        wrong = {int(n) for n in re.findall(r"kernel\.py:(\d+):\d+: (?:error|note)", run.stderr)}
        lines = [line for number, line in enumerate(lines, before) if number not in wrong]
        run = dump(build_dir, path, lines)
        if run.returncode == 0:
            break
    assert lines and run.returncode == 0, run.stderr[-2000:]
