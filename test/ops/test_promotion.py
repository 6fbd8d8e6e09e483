"""The type of every binary operator over every pair of types and numbers, against the rules of the
language stated a second time, in other words than the compiler's."""
import re
import subprocess

import pytest

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["int1", "uint8", "uint16", "uint32", "uint64"]  # int1 counts as unsigned
BYTE_FLOATS = ["float8e5", "float8e4nv"]
FLOATS = ["float16", "bfloat16", "float32", "float64", *BYTE_FLOATS]
TYPES = [*UNSIGNED, *SIGNED, *FLOATS]
SIGNATURE = {"float8e5": "f8e5", "float8e4nv": "f8e4nv", "bfloat16": "bf16", "float16": "f16", "float32": "f32",
             "float64": "f64", **{f"int{b}": f"i{b}" for b in (1, 8, 16, 32, 64)},
             **{f"uint{b}": f"u{b}" for b in (8, 16, 32, 64)}}
# Numbers, with the type each gets as a value of its own. 1 fits every integer type.
NUMBERS = {"True": "int1", "1": "int32", "3000000000": "uint32", "5000000000": "int64", "0.5": "float32",
           "1e300": "float64", "-3": "int32"}
ARITHMETIC, DIVISION, BITS, COMPARISONS = ["+", "-", "*"], ["/", "//", "%"], ["&", "|", "^", "<<", ">>"], ["<", "=="]


class Refused(Exception):
    """args: the name of the diagnostic."""


def width(name):
    return int(re.search(r"(\d+)$", name)[1])


def rank_of_kind(name):
    return 2 if name in FLOATS else 0 if name == "int1" else 1


def range_of(name):
    bits = width(name)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name in SIGNED else (0, 2**bits - 1)


def of_integers(a, b):
    """C's usual arithmetic conversions without the promotion to int."""
    if (a in SIGNED) == (b in SIGNED):
        return a if width(a) > width(b) else b
    unsigned, signed = (a, b) if b in SIGNED else (b, a)
    return unsigned if width(unsigned) >= width(signed) else signed


def of_values(a, b, divides):
    pair = {a, b}
    for wide in ("float64", "float32"):
        if wide in pair:
            return wide
    if "float16" in pair:
        return "float32" if divides else "float16"
    if "bfloat16" in pair:
        return "bfloat16" if pair == {"bfloat16"} and not divides else "float32"
    if pair <= set(BYTE_FLOATS):
        return "float32" if divides else a if a == b else "float16"
    if pair & set(BYTE_FLOATS):
        raise Refused("IncompatibleOperands")
    if divides and (a in SIGNED) != (b in SIGNED):
        raise Refused("DifferentSignedness")
    return of_integers(a, b)


def common_type(a, b, divides):
    """a and b: names of types, or numbers in Python's spelling; not both numbers."""
    number = next((x for x in (a, b) if x in NUMBERS), None)
    value = b if number == a else a
    if number and rank_of_kind(NUMBERS[number]) <= rank_of_kind(value):
        result = "float32" if divides and value in ("float16", "bfloat16", *BYTE_FLOATS) else value
    else:
        result = of_values(NUMBERS.get(a, a), NUMBERS.get(b, b), divides)
    if number and result not in FLOATS:
        low, high = range_of(result)
        if eval(number) < 0 and result in UNSIGNED:
            raise Refused("NegativeWithUnsigned")
        if not low <= eval(number) <= high:
            raise Refused("ScalarOutOfRange")
    return result


def scalar_type(a, b):
    """The same where a number counts as a run-time scalar of its type, which may wrap in another one."""
    try:
        return of_values(NUMBERS.get(a, a), NUMBERS.get(b, b), False)
    except Refused:
        number = a if a in NUMBERS else b
        if number not in NUMBERS:
            raise
        return b if number == a else a  # an integer beside an 8-bit float


def expected(a, op, b):
    if op in COMPARISONS:
        scalar_type(a, b)
        return "int1"
    result = common_type(a, b, op in DIVISION)
    if op == "/":
        return result if result in FLOATS else "float32"
    if op == "//" and result in FLOATS:
        raise Refused("FloorDivisionOfFloats")
    if op in BITS and result in FLOATS:
        raise Refused("IncompatibleOperands")
    return result


def cases(op):
    for a in TYPES:
        for b in [*TYPES, *NUMBERS]:
            yield a, b
            if b in NUMBERS:
                yield b, a


def spelled(operand):
    return f"({operand})" if operand in NUMBERS else f"x_{operand}"


def dump(build_dir, path, kernel):
    signature = ",".join(f"x_{name}={short}" for name, short in SIGNATURE.items())
    return subprocess.run([build_dir / "bin" / "tegula_sema_dump", f"{path}::{kernel}", "--signature", signature],
                          capture_output=True, text=True)


HEAD = "import triton\nimport triton.language as tl\n\n\n"
PARAMETERS = ", ".join(f"x_{name}" for name in SIGNATURE)


@pytest.mark.parametrize("op", [*ARITHMETIC, *DIVISION, *BITS, *COMPARISONS])
def test_types_of_results(op, build_dir, tmp_path):
    lines, refused = [], []
    for a, b in cases(op):
        try:
            result = expected(a, op, b)
            lines.append(f"    tl.static_assert(({spelled(a)} {op} {spelled(b)}).dtype == tl.{result}, "
                         f"'{a} {op} {b} is not {result}')")
        except Refused as reason:
            refused.append((a, b, reason.args[0]))
    path = tmp_path / "promotion.py"
    text = HEAD + f"@triton.jit\ndef accepted({PARAMETERS}):\n" + "\n".join(lines) + "\n"
    # A compile keeps 100 errors: refusals come in kernels of 50.
    groups = [refused[i:i + 50] for i in range(0, len(refused), 50)]
    for number, group in enumerate(groups):
        text += f"\n\n@triton.jit\ndef refused_{number}({PARAMETERS}):\n"
        text += "".join(f"    {spelled(a)} {op} {spelled(b)}\n" for a, b, _ in group)
    path.write_text(text)

    accepted = dump(build_dir, path, "accepted")
    assert lines and accepted.returncode == 0, accepted.stderr[:4000]
    for number, group in enumerate(groups):
        run = dump(build_dir, path, f"refused_{number}")
        said = re.findall(r"^\S+: error: .* \[(\w+)\]$", run.stderr, re.M)
        wanted = [kind for _, _, kind in group]
        assert run.returncode == 1
        assert list(zip(group, said)) == list(zip(group, wanted)) and len(said) == len(wanted), run.stderr[:4000]


def of_extremum(a, b):
    """Of tiles in bfloat16 extrema are computed in float32."""
    return scalar_type(*("float32" if x == "bfloat16" else x for x in (a, b)))


@pytest.mark.parametrize("call, result", [
    ("tl.maximum({}, {})", of_extremum), ("tl.minimum({}, {})", of_extremum), ("max({}, {})", of_extremum),
    ("tl.clamp({}, {}, 0)", of_extremum), ("tl.fma({0}, {1}, {1})", scalar_type), ("tl.umulhi({}, {})", scalar_type),
    ("tl.div_rn({}, {})", scalar_type)])
def test_numbers_are_run_time_scalars_to_extrema_and_functions(call, result, build_dir, tmp_path):
    lines = []
    for a, b in cases(call):
        try:
            wanted = result(a, b)
        except Refused:
            continue
        takes = {"tl.umulhi": wanted not in FLOATS and width(wanted) >= 32, "tl.div_rn": wanted == "float32",
                 "tl.fma": wanted in FLOATS, "tl.clamp": wanted != "int1"}
        if takes.get(call.split("(")[0], True):
            if call.startswith("tl.clamp") and wanted not in FLOATS and width(wanted) < 32:
                wanted = "int32"  # the other limit's
            lines.append(f"    tl.static_assert({call.format(spelled(a), spelled(b))}.dtype == tl.{wanted}, '{a}, {b}: not {wanted}')")
    path = tmp_path / "promotion.py"
    path.write_text(HEAD + f"@triton.jit\ndef accepted({PARAMETERS}):\n" + "\n".join(lines) + "\n")
    accepted = dump(build_dir, path, "accepted")
    assert len(lines) > 10 and accepted.returncode == 0, accepted.stderr[:4000]
