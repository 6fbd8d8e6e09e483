"""Constant expressions: the evaluator of the compiler against CPython's, expression by expression."""

import ast
import math
import os
import pathlib
import random
import struct
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


class TooLarge(Exception):
    """What the compiler refuses by its limits, and CPython might compute for ever."""


def is_integer(value):
    return isinstance(value, int)


def power(a, b):
    if is_integer(a) and is_integer(b) and abs(a) > 1 and b * a.bit_length() > 4096:
        raise TooLarge
    return a ** b


def shifted(a, b):
    if is_integer(a) and is_integer(b) and a and b + a.bit_length() > 4096:
        raise TooLarge
    return a << b


def product(a, b):
    for sequence, count in ((a, b), (b, a)):
        if isinstance(sequence, (str, tuple)) and is_integer(count) and len(sequence) * count > 65536:
            raise TooLarge
    return a * b


class Guard(ast.NodeTransformer):
    guards = {ast.Pow: "power", ast.LShift: "shifted", ast.Mult: "product"}

    def visit_BinOp(self, node):
        self.generic_visit(node)
        guard = self.guards.get(type(node.op))
        if not guard:
            return node
        return ast.Call(ast.Name(guard, ast.Load()), [node.left, node.right], [])


NAMES = {"__builtins__": {"int": int, "float": float, "abs": abs, "bool": bool, "min": min, "max": max, "len": len},
         "math": math, "power": power, "shifted": shifted, "product": product}


def by_python(text):
    """The repr, "error", or None where the value is beyond the compiler's limits."""
    try:
        tree = ast.fix_missing_locations(Guard().visit(ast.parse(text, mode="eval")))
        value = eval(compile(tree, "<expression>", "eval"), NAMES)
        if is_integer(value) and value.bit_length() >= 4096:
            return None
        return "error" if isinstance(value, complex) else repr(value)
    except TooLarge:
        return None
    except (TypeError, ZeroDivisionError, OverflowError, ValueError, AttributeError):
        return "error"


def by_compiler(texts):
    run = subprocess.run([str(DUMP), "--eval"], input="\n".join(texts) + "\n", capture_output=True, text=True,
                         timeout=60, check=True)
    return run.stdout.splitlines()


def outcome(text):
    return "error" if text.startswith("error:") else text


def compare(texts):
    ours = by_compiler(texts)
    assert len(ours) == len(texts)
    wrong = []
    for text, line in zip(texts, ours):
        expected = by_python(text)
        if outcome(line) != expected and expected is not None:
            wrong.append(f"{text}: ours {line}, Python's {expected}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("operator", BINARY + COMPARE)
def test_each_operator_on_all_pairs(operator):
    operands = INTEGERS + FLOATS + OTHERS
    compare([f"({a}) {operator} ({b})" for a in operands for b in operands])


def test_random_expressions():
    rng = random.Random(20261121)
    compare([expression(rng, 3) for _ in range(2000)])


def test_float_repr_of_random_bits():
    rng = random.Random(7)
    values = [struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0] for _ in range(500)]
    values = [v for v in values if math.isfinite(v)] + [rng.uniform(-1e6, 1e6) for _ in range(300)]
    compare([repr(v) for v in values])


@pytest.mark.parametrize("text", ["math.pi", "math.sqrt(2)", "math.log2(math.e)", "math.log(8, 2)", "math.ceil(2.1)",
                                  "math.floor(-2.5)", "len((1, 2, 3))", "min(3, 1.5)", "max((4, 9, 2))",
                                  "(10, 20, 30)[1]", "(10, 20)[-1]", "1 < 2 < 3", "3 in (1, 2, 3)", "'b' in 'abc'",
                                  "'a' * 3", "(1, 2) * 2", "int('12')", "float('1e3')", "not ()", "abs(-0.0)", "abs(-7)", "abs(True)"])
def test_listed(text):
    compare([text])


MATH_UNARY = ["sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
              "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "fabs", "degrees", "radians", "ceil", "floor", "trunc", "isnan", "isinf", "isfinite", "isqrt",
              "factorial"]
MATH_BINARY = ["log", "pow", "atan2", "fmod", "remainder", "hypot", "copysign", "ldexp", "gcd", "lcm", "comb", "perm"]


def test_functions_of_math():
    """Each as Python has it, where Python raises, too; floats up to the last places, in which C libraries differ."""
    values = ["0", "-0.0", "1", "2.5", "-3", "7", "12", "0.3", "-1.0", "1e308", "-1e-320", "float('inf')", "float('-inf')", "float('nan')", "40"]
    calls = [f"math.{name}({x})" for name in MATH_UNARY for x in values] + [f"math.{name}({x}, {y})" for name in MATH_BINARY for x in values for y in values]
    calls += ["math.gcd()", "math.lcm(4, 6, 10)", "math.gcd(10**30, 6 * 10**20)", "math.hypot(3, 4, 12)", "math.prod((2, 3.5))", "math.prod((), 4)",
              "math.perm(5)", "math.comb(60, 30)", "math.nosuch(1)", "math.sqrt('a')", "math.sqrt()", "math.gcd(1.5)"]
    wrong = []
    for text, line in zip(calls, by_compiler(calls), strict=True):
        expected, ours = by_python(text), outcome(line)
        is_close = expected not in (None, "error") and ours != "error" and "." in expected and math.isclose(float(ours), float(expected), rel_tol=1e-14)
        if ours != expected and expected is not None and not is_close:
            wrong.append(f"{text}: ours {line}, Python's {expected}")
    assert not wrong, "\n".join(wrong[:20])
