"""Constant expressions: the evaluator of the compiler against CPython's, expression by expression."""

import math
import os
import pathlib
import random
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DUMP = pathlib.Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula_sema_dump"

pytestmark = pytest.mark.skipif(not DUMP.exists(), reason="tegula_sema_dump is not built")

INTEGERS = ["0", "1", "2", "3", "7", "-1", "-3", "16", "255", "1024", "-128", "2**31", "2**63", "-(2**63)",
            "2**64 + 1", "10**30", "-(10**30)", "True", "False", "0x7fff_ffff", "0b1011", "0o17"]
FLOATS = ["0.0", "-0.0", "1.0", "0.1", "-2.5", "1e16", "1e-5", "123456789.125", "1e308", "5e-324", "1.5e300",
          "float('inf')", "float('nan')", "3.3333333333333335", "1e22", "9007199254740993.0"]
OTHERS = ["'a'", "'it\\'s'", "(1, 2)", "(1,)", "()", "None", "('x', 2.5)", "'tab\\t'"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
COMPARE = ["==", "!=", "<", "<=", ">", ">="]


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(rng.choices([INTEGERS, FLOATS, OTHERS], [6, 5, 1])[0])
    kind = rng.random()
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    if kind < 0.60:
        return f"({left} {rng.choice(BINARY)} {right})"
    if kind < 0.75:
        return f"({left} {rng.choice(COMPARE)} {right})"
    if kind < 0.83:
        return f"({rng.choice(['-', '~', '+', 'not '])}{left})"
    if kind < 0.90:
        return f"({left} {rng.choice(['and', 'or'])} {right})"
    if kind < 0.95:
        return f"({left} if {right} else {expression(rng, depth - 1)})"
    return f"{rng.choice(['int', 'float', 'abs', 'bool', 'min', 'max'])}({left})"


def by_python(text):
    """The repr, "error", or None where the value is outside what the compiler keeps."""
    try:
        value = eval(text, {"__builtins__": {"int": int, "float": float, "abs": abs, "bool": bool,
                                             "min": min, "max": max, "len": len}, "math": math})
    except (TypeError, ZeroDivisionError, OverflowError, ValueError, MemoryError):
        return "error"
    if isinstance(value, complex):
        return "error"
    return repr(value)


def _bounded(text):
    """Keeps CPython from computing powers with astronomical exponents."""
    return text.count("**") <= 3 and text.count("<<") <= 1


def by_compiler(texts):
    run = subprocess.run([str(DUMP), "--eval"], input="\n".join(texts) + "\n", capture_output=True, text=True,
                         timeout=60, check=True)
    return run.stdout.splitlines()


def outcome(text):
    return "error" if text.startswith("error:") else text


def python_safely(text):
    # A child with limits: an expression may ask Python for gigabytes.
    code = "import sys, resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));" \
           "resource.setrlimit(resource.RLIMIT_CPU, (1, 1)); sys.set_int_max_str_digits(0);" \
           f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r});" \
           "from test_const_against_cpython import by_python; print(by_python(sys.argv[1]))"
    run = subprocess.run(["python3", "-c", code, text], capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else "error"


def compare(texts):
    ours = by_compiler(texts)
    assert len(ours) == len(texts)
    wrong = []
    for text, line in zip(texts, ours):
        # Integers beyond 4096 bits and sequences beyond 65536 elements are refused by design.
        if "ConstTooLarge" in line:
            continue
        expected = by_python(text) if "**" not in text and "<<" not in text else python_safely(text)
        if outcome(line) != expected:
            wrong.append(f"{text}: ours {line}, Python's {expected}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("operator", BINARY + COMPARE)
def test_each_operator_on_all_pairs(operator):
    operands = INTEGERS + FLOATS + OTHERS
    texts = [f"({a}) {operator} ({b})" for a in operands for b in operands]
    if operator in ("**", "<<", "*"):
        large = ("2**63", "2**64", "10**30", "0x7fff", "2**31", "1e")
        texts = [t for t in texts if not t.split(operator, 1)[1].strip(" ()-").startswith(large)]
        if operator == "**":
            texts = texts[::9]
        if operator == "<<":
            texts = texts[::5]
    compare(texts)


def test_random_expressions():
    rng = random.Random(20261121)
    texts = []
    while len(texts) < 400:
        text = expression(rng, 3)
        if "**" not in text and "<<" not in text or _bounded(text) and rng.random() < 0.1:
            texts.append(text)
    compare(texts)


def test_float_repr_of_random_bits():
    import struct
    rng = random.Random(7)
    values = [struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0] for _ in range(500)]
    values = [v for v in values if math.isfinite(v)] + [rng.uniform(-1e6, 1e6) for _ in range(300)]
    compare([repr(v) for v in values])


@pytest.mark.parametrize("text", ["math.pi", "math.sqrt(2)", "math.log2(math.e)", "math.log(8, 2)", "math.ceil(2.1)",
                                  "math.floor(-2.5)", "len((1, 2, 3))", "min(3, 1.5)", "max((4, 9, 2))",
                                  "(10, 20, 30)[1]", "(10, 20)[-1]", "1 < 2 < 3", "3 in (1, 2, 3)", "'b' in 'abc'",
                                  "'a' * 3", "(1, 2) * 2", "int('12')", "float('1e3')", "not ()"])
def test_listed(text):
    compare([text])
