"""Conversions of tl.extra.libdevice beside exact arithmetic, in each direction of rounding."""
import importlib.util
from fractions import Fraction

import numpy as np
import pytest

import tegula

SOURCE = """
import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    result = libdevice.{name}(tl.load(x_ptr + i, mask=i < n))
    tl.static_assert(result.dtype == tl.{dtype})
    tl.store(out_ptr + i, result, mask=i < n)
"""
DIRECTIONS = ["rn", "rz", "rd", "ru"]
KINDS = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
FLOATS = {"float": np.float32, "double": np.float64}


def run(tmp_path, name, x, dtype):
    path = tmp_path / "conversion.py"
    path.write_text(SOURCE.format(name=name, dtype=np.dtype(dtype).name))
    spec = importlib.util.spec_from_file_location("conversion", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = np.zeros(len(x), dtype)
    module.kernel[(1,)](x, out, len(x), BLOCK=128)
    return out


def directed(exact, nearest, direction):
    """The float on the wanted side of an exact value, from the nearest one."""
    found = None if np.isinf(nearest) else Fraction(float(nearest))
    if direction == "rn" or found == exact:
        return nearest
    is_above = nearest > 0 if found is None else found > exact
    goes_down = direction == "rd" or (direction == "rz" and exact > 0)
    if is_above == goes_down:
        return np.nextafter(nearest, type(nearest)(-np.inf if goes_down else np.inf))
    return nearest


def integers(dtype):
    limits, rng = np.iinfo(dtype), np.random.default_rng(3)
    near = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2**24 + 1, 2**24 + 3, 2**30 + 65]
    near += [2**53 + 1, 2**53 + 3, 2**62 + 257, limits.max - 512] if limits.max > 2**40 else [limits.max - 64, limits.max - 65]
    near += [-each for each in near if limits.min < 0 and each > 0]
    return np.array([*near, *map(int, rng.integers(limits.min, limits.max, 60, dtype=dtype, endpoint=True))], dtype)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind, to", [(kind, to) for kind in KINDS for to in FLOATS])
def test_integers_to_floats(target, tmp_path, kind, to, direction):
    if to == "double" and kind in ("int", "uint") and direction != "rn":
        return  # each of them is a double
    x = integers(KINDS[kind])
    wanted = [directed(Fraction(int(each)), nearest, direction) for each, nearest in zip(x, x.astype(FLOATS[to]))]
    assert run(tmp_path, f"{kind}2{to}_{direction}", x, FLOATS[to]).tolist() == [float(each) for each in wanted]


def rounded(value, direction):
    down = value.numerator // value.denominator
    return {"rn": round(value), "rz": down + (value < 0 and down != value), "rd": down, "ru": down + (down != value)}[direction]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("of, kind", [(of, kind) for of in FLOATS for kind in KINDS])
def test_floats_to_integers(target, tmp_path, of, kind, direction):
    x = np.array([0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 2.49, 7.9, -7.9, 1e20, -1e20, 2**31, 2**31 - 128, 2**32, 2**32 - 256, -(2.0**31), 2.0**63,
                  2.0**64, -(2.0**63), 1e9 + 0.5, 123456789.75], FLOATS[of])
    limits = np.iinfo(KINDS[kind])
    wanted = [min(max(rounded(Fraction(float(each)), direction), limits.min), limits.max) for each in x]
    signed = np.dtype(f"int{limits.bits}")
    bits = np.array(wanted, KINDS[kind]).view(signed)
    assert run(tmp_path, f"{of}2{kind}_{direction}", x, signed).tolist() == bits.tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_doubles_to_floats(target, tmp_path, direction):
    x = np.array([0.1, -0.1, 1 / 3, 1e300, -1e300, 1.0, 2**24 + 1, -(2**24 + 1), 1e-50, -1e-50, 3e-39, np.inf], np.float64)
    with np.errstate(over="ignore"):
        nearest = x.astype(np.float32)
    wanted = [n if np.isinf(e) else directed(Fraction(float(e)), n, direction) for e, n in zip(x, nearest)]
    assert run(tmp_path, f"double2float_{direction}", x, np.float32).tolist() == [float(each) for each in wanted]


def test_halves_of_doubles(target, tmp_path):
    x = np.array([1.5, -0.1, 1e300, 3.0e-310], np.float64)
    words = x.view(np.int32).reshape(-1, 2)  # little-endian
    assert run(tmp_path, "double2loint", x, np.int32).tolist() == words[:, 0].tolist()
    assert run(tmp_path, "double2hiint", x, np.int32).tolist() == words[:, 1].tolist()


def test_reciprocal_square_roots_round_once(target, tmp_path):
    x = np.concatenate([np.random.default_rng(4).uniform(1, 4, 100), [1e-40, 1e38, 0.25, 4.0]]).astype(np.float32)
    exact = 1 / np.sqrt(x.astype(np.longdouble))
    assert run(tmp_path, "rsqrt_rn", x, np.float32).tolist() == exact.astype(np.float32).tolist()


@pytest.mark.parametrize("name, dtype, kind", [("double2float_rd", np.int32, "floats"), ("float2int_rn", np.int64, "floats"), ("ll2float_ru", np.float32, "integers")])
def test_conversions_of_the_other_kind_are_refused(target, tmp_path, name, dtype, kind):
    with pytest.raises(tegula.CompilationError, match=f"{name}` takes {kind}"):
        run(tmp_path, name, np.ones(4, dtype), np.float32)
