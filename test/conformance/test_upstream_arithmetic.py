"""Operators on numbers: division, remainders, shifts, comparisons, and the types that results have."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def corners(name):
    info = np.iinfo(name)
    values = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, 100, 5, 13]
    return np.array([v for v in values + [-v for v in values] if info.min <= v <= info.max], dtype=name)


def pairs(a_name, b_name, no_zero=False):
    """Each corner of the one type beside each of the other, in a power of two of elements."""
    a, b = np.meshgrid(corners(a_name), corners(b_name))
    a, b = a.ravel(), b.ravel()
    if no_zero:
        kept = (b != 0) & ~((b == -1) if b_name[0] == "i" else np.zeros(len(b), bool))
        a, b = a[kept], b[kept]
    return np.resize(a, 1024), np.resize(b, 1024)


@triton.jit
def binary_kernel(a_ptr, b_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(a_ptr + i)
    b = tl.load(b_ptr + i)
    if OP == "+":
        c = a + b
    elif OP == "-":
        c = a - b
    elif OP == "*":
        c = a * b
    elif OP == "//":
        c = a // b
    elif OP == "%":
        c = a % b
    elif OP == "&":
        c = a & b
    elif OP == "|":
        c = a | b
    elif OP == "^":
        c = a ^ b
    elif OP == "<<":
        c = a << b
    elif OP == ">>":
        c = a >> b
    elif OP == "<":
        c = a < b
    elif OP == "<=":
        c = a <= b
    elif OP == "==":
        c = a == b
    elif OP == "!=":
        c = a != b
    elif OP == ">":
        c = a > b
    else:
        c = a >= b
    tl.store(out_ptr + i, c)


def run_binary(device, op, a, b, out_dtype):
    a, b = torch.from_numpy(a).to(device), torch.from_numpy(b).to(device)
    out = torch.zeros(len(a), dtype=getattr(torch, out_dtype), device=device)
    binary_kernel[(1,)](a, b, out, OP=op, N=len(a))
    return out.cpu().numpy()


def promoted(a, b):
    """C's usual arithmetic conversions by width, without promotion to int32."""
    wa, wb, ua, ub = np.iinfo(a).bits, np.iinfo(b).bits, a[0] == "u", b[0] == "u"
    if ua == ub:
        return a if wa > wb else b
    unsigned, signed = (a, b) if ua else (b, a)
    return unsigned if np.iinfo(unsigned).bits >= np.iinfo(signed).bits else signed


NUMPY = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
         "<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal, ">": np.greater, ">=": np.greater_equal}
SOME_PAIRS = [("int8", "int8"), ("int8", "int16"), ("uint8", "int8"), ("int32", "uint32"), ("int64", "uint32"), ("uint64", "int64"),
              ("int16", "int64"), ("uint16", "int32"), ("uint8", "uint64")]


@pytest.mark.parametrize("types", SOME_PAIRS, ids="-".join)
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^"])
def test_integers_wrap_in_their_common_type(device, op, types):
    a, b = pairs(*types)
    kind = promoted(*types)
    with np.errstate(over="ignore"):
        expected = NUMPY[op](a.astype(kind), b.astype(kind))
    np.testing.assert_array_equal(run_binary(device, op, a, b, kind), expected)


@pytest.mark.parametrize("types", SOME_PAIRS[::2], ids="-".join)
@pytest.mark.parametrize("op", ["<", "<=", "==", ">"])
def test_integers_are_compared_in_their_common_type(device, op, types):
    a, b = pairs(*types)
    kind = promoted(*types)
    np.testing.assert_array_equal(run_binary(device, op, a, b, "bool"), NUMPY[op](a.astype(kind), b.astype(kind)))


@pytest.mark.parametrize("name", INTEGERS)
def test_quotients_truncate_and_remainders_have_the_sign_of_the_dividend(device, name):
    a, b = pairs(name, name, no_zero=True)
    quotient = np.array([abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)], object)
    rest = np.array([int(x) - q * int(y) for x, y, q in zip(a, b, quotient)], object)
    np.testing.assert_array_equal(run_binary(device, "//", a, b, name), quotient.astype(name))
    np.testing.assert_array_equal(run_binary(device, "%", a, b, name), rest.astype(name))


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_to_the_right_keep_the_sign_of_signed_numbers(device, name):
    a = np.resize(corners(name), 64)
    b = (np.arange(64) % np.iinfo(name).bits).astype(name)
    np.testing.assert_array_equal(run_binary(device, ">>", a, b, name), a >> b)
    np.testing.assert_array_equal(run_binary(device, "<<", a, b, name), (a << b).astype(name))


@pytest.mark.parametrize("op", ["<", "<=", "==", "!=", ">", ">="])
def test_nan_is_unequal_and_unordered(device, op):
    values = np.array([np.nan, 0.0, -0.0, 1.5, np.inf, -np.inf, -2.0, np.nan], np.float32)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    np.testing.assert_array_equal(run_binary(device, op, a, b, "bool"), NUMPY[op](a, b))


def test_remainder_of_floats_is_fmod(device):
    a = np.array([5.5, -5.5, 5.5, -5.5, 0.0, 1e10, 7.0, -7.0], np.float32)
    b = np.array([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 0.5, 7.0], np.float32)
    np.testing.assert_array_equal(run_binary(device, "%", a, b, "float32"), np.fmod(a, b))


# --- types of results ------------------------------------------------------------------------


@triton.jit
def promotion_kernel(a_ptr, b_ptr, RESULT: tl.constexpr, QUOTIENT: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, 16))
    b = tl.load(b_ptr + tl.arange(0, 16))
    tl.static_assert((a + b).dtype == RESULT)
    tl.static_assert((b * a).dtype == RESULT)
    tl.static_assert((a - tl.load(b_ptr)).dtype == RESULT)
    tl.static_assert(tl.where(a == b, a, b).dtype == RESULT)
    if QUOTIENT is not None:
        tl.static_assert((a / b).dtype == QUOTIENT)
    tl.static_assert((a < b).dtype == tl.int1)


@pytest.mark.parametrize("a, b, result, quotient", [
    ("float16", "float16", "float16", "float32"), ("bfloat16", "bfloat16", "bfloat16", "float32"),
    ("float16", "float32", "float32", "float32"), ("float32", "float64", "float64", "float64"),
    ("float16", "int32", "float16", "float32"), ("float32", "int64", "float32", "float32"),
    ("bfloat16", "float32", "float32", "float32"), ("float16", "bfloat16", "float16", "float32"),
    ("int32", "int32", "int32", "float32"), ("int8", "int64", "int64", "float32"), ("uint8", "int16", "int16", None),
    ("uint32", "int32", "uint32", None), ("float64", "int8", "float64", "float64"),
])
def test_promotion_of_tiles(device, a, b, result, quotient):
    make = lambda name: torch.ones(16, dtype=getattr(torch, name), device=device)
    promotion_kernel[(1,)](make(a), make(b), RESULT=getattr(tl, result), QUOTIENT=quotient and getattr(tl, quotient))


@triton.jit
def number_kernel(x_ptr, DTYPE: tl.constexpr, IS_FLOAT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.static_assert((x + 1).dtype == DTYPE)
    tl.static_assert((3 * x).dtype == DTYPE)
    tl.static_assert((x - True).dtype == DTYPE)
    if IS_FLOAT:
        tl.static_assert((x + 1.5).dtype == DTYPE)
        tl.static_assert((0.1 * x).dtype == DTYPE)
        tl.static_assert(tl.where(x > 0, x, 0.0).dtype == DTYPE)
    else:
        tl.static_assert((x * 0.5).dtype == tl.float32)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64", *FLOATS])
def test_a_number_takes_the_type_of_the_tile(device, name):
    x = torch.ones(16, dtype=getattr(torch, name), device=device)
    number_kernel[(1,)](x, DTYPE=getattr(tl, name), IS_FLOAT=name in FLOATS)


@triton.jit
def literals_kernel(out_ptr):
    small = 5
    big = 3000000000
    huge = 5000000000
    real = 1.5
    vast = 1e300
    truth = True
    tl.static_assert(small.dtype == tl.int32)
    tl.static_assert(big.dtype == tl.uint32)
    tl.static_assert(huge.dtype == tl.int64)
    tl.static_assert(real.dtype == tl.float32)
    tl.static_assert(vast.dtype == tl.float64)
    tl.static_assert(truth.dtype == tl.int1)
    tl.store(out_ptr, huge)


def test_types_of_literals(device):
    out = torch.zeros(1, dtype=torch.int64, device=device)
    literals_kernel[(1,)](out)
    assert out.item() == 5000000000


@triton.jit
def arguments_kernel(a, b, c, d, out_ptr):
    tl.static_assert(a.dtype == tl.int32)
    tl.static_assert(b.dtype == tl.int64)
    tl.static_assert(c.dtype == tl.float32)
    tl.static_assert(d.dtype == tl.int1)
    tl.store(out_ptr, a + b)
    tl.store(out_ptr + 1, (c * 2).to(tl.int64) + d)


def test_types_of_arguments(device):
    out = torch.zeros(2, dtype=torch.int64, device=device)
    arguments_kernel[(1,)](7, 2**40, 2.5, True, out)
    assert out.tolist() == [2**40 + 7, 6]


@triton.jit
def one_is_constant_kernel(n, out_ptr):
    x = tl.zeros((4,), tl.int32) + n
    tl.store(out_ptr + tl.arange(0, 4), x)


@pytest.mark.parametrize("n", [0, 1, 16, -1, 17])
def test_specialized_values(device, n):
    out = torch.zeros(4, dtype=torch.int32, device=device)
    one_is_constant_kernel[(1,)](n, out)
    assert out.tolist() == [n] * 4


# --- unary -----------------------------------------------------------------------------------


@triton.jit
def unary_kernel(x_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if OP == "-":
        y = -x
    elif OP == "~":
        y = ~x
    else:
        y = tl.abs(x)
    tl.store(out_ptr + i, y)


@pytest.mark.parametrize("name", ["int8", "int32", "int64"])
@pytest.mark.parametrize("op", ["-", "~", "abs"])
def test_unary_operators_of_integers(device, op, name):
    x = torch.from_numpy(np.resize(corners(name), 32)).to(device)
    out = torch.zeros_like(x)
    unary_kernel[(1,)](x, out, OP=op, N=32)
    expected = {"-": lambda: -x, "~": lambda: ~x, "abs": lambda: x.abs()}[op]()
    assert torch.equal(out, expected)


def test_not_of_booleans_is_logical(device):
    x = torch.tensor([True, False] * 8, device=device)
    out = torch.zeros_like(x)
    unary_kernel[(1,)](x, out, OP="~", N=16)
    assert torch.equal(out, ~x)


@pytest.mark.parametrize("name", FLOATS)
def test_negation_keeps_the_sign_of_zero(device, name):
    x = torch.tensor([0.0, -0.0, 1.0, float("inf")], dtype=getattr(torch, name), device=device)
    out = torch.ones_like(x)
    unary_kernel[(1,)](x, out, OP="-", N=4)
    assert torch.signbit(out).tolist() == [True, False, True, True]


@triton.jit
def constants_kernel(out_ptr, A: tl.constexpr, B: tl.constexpr):
    tl.store(out_ptr, A // B)
    tl.store(out_ptr + 1, A % B)
    tl.store(out_ptr + 2, A**2)
    tl.store(out_ptr + 3, (A < B) + 2 * (A == -7))
    tl.store(out_ptr + 4, A if A > B else B)
    tl.store(out_ptr + 5, max(A, B) * 10 + min(A, B))


def test_arithmetic_of_constants_is_pythons(device):
    out = torch.zeros(6, dtype=torch.int32, device=device)
    constants_kernel[(1,)](out, A=-7, B=2)
    assert out.tolist() == [-4, 1, 49, 3, 2, 13]


@triton.jit
def scalar_kernel(out_ptr, a, b):
    tl.store(out_ptr, a // b)
    tl.store(out_ptr + 1, a % b)
    tl.store(out_ptr + 2, tl.cdiv(a, b))
    tl.store(out_ptr + 3, min(a, b))
    tl.store(out_ptr + 4, max(a, b, 3))


@pytest.mark.parametrize("a, b", [(-7, 2), (7, -2), (-7, -2), (9, 4)])
def test_arithmetic_of_run_time_scalars_is_cs(device, a, b):
    out = torch.zeros(5, dtype=torch.int32, device=device)
    scalar_kernel[(1,)](out, a, b)
    quotient = int(a / b)
    assert out.tolist() == [quotient, a - quotient * b, int((a + b - 1) / b), min(a, b), max(a, b, 3)]


@triton.jit
def logic_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i)
    between = (x > 3) & (x < 9)
    outside = (x <= 3) | (x >= 12)
    tl.store(out_ptr + i, between.to(tl.int32) + 2 * outside + 4 * (between ^ outside).to(tl.int32))


def test_masks_are_combined_element_by_element(device):
    x = torch.arange(16, dtype=torch.int32, device=device)
    out = torch.zeros_like(x)
    logic_kernel[(1,)](x, out)
    between, outside = (x > 3) & (x < 9), (x <= 3) | (x >= 12)
    assert torch.equal(out, (between * 1 + outside * 2 + (between ^ outside) * 4).int())
