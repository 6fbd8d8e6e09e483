"""Types of the language and helpers of its modules, as code on the host asks for them; the spellings are upstream's."""
import copy
import pickle
import warnings

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

SPELLINGS = {
    "int1": ("int1", "u1"), "int8": ("int8", "i8"), "int64": ("int64", "i64"), "uint16": ("uint16", "u16"), "float16": ("fp16", "fp16"),
    "bfloat16": ("bf16", "bf16"), "float32": ("fp32", "fp32"), "float64": ("fp64", "fp64"), "float8e5": ("fp8e5", "fp8e5"),
    "float8e4nv": ("fp8e4nv", "fp8e4nv"), "float8e4b8": ("fp8e4b8", "fp8e4b8"), "float8e5b16": ("fp8e5b16", "fp8e5b16"),
    "float8e4b15": ("fp8e4b15", "fp8e4b15"), "void": ("void", "V"), "int4": ("int4", "i4"), "float4e2m1": ("fp4e2m1", "fp4e2m1"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_type_has_the_names_of_upstream(name):
    kind, (short, mangled) = getattr(tl, name), SPELLINGS[name]
    assert repr(kind) == f"triton.language.{name}" and kind.codegen_name() == name
    assert (str(kind), kind.name, kind.cache_key_part, kind.mangle()) == (short, short, short, mangled)
    assert tl.dtype(short) == kind and {kind: 1}[copy.deepcopy(kind)] == {kind: 1}[pickle.loads(pickle.dumps(kind))] == 1


@pytest.mark.parametrize("kind, name, mangled", [
    (tl.pointer_type(tl.float32), "pointer<fp32>", "Pfp32"), (tl.pointer_type(tl.int1, const=True), "const_pointer<int1>", "Pu1"),
    (tl.block_type(tl.float16, [4, 8]), "<['4', '8'], fp16>", "fp16S4_8S"),
    (tl.block_type(tl.pointer_type(tl.int8), [4]), "<['4'], pointer<int8>>", "Pi8S4S")])
def test_types_of_types_have_the_names_of_upstream(kind, name, mangled):
    assert str(kind) == kind.codegen_name() == kind.cache_key_part == name and kind.mangle() == mangled


def test_types_of_other_values_have_short_names():
    assert tl.core.tuple_type([tl.int32, tl.pointer_type(tl.float32)]).mangle() == "Ti32_Pfp32T"
    assert tl.core.constexpr_type(3).mangle() == "constexpr_type[3]"
    with pytest.raises(NotImplementedError):
        tl.core.base_type().mangle()


def test_void_is_the_type_of_nothing():
    assert tl.void.is_void() and not tl.float32.is_void() and tl.void.primitive_bitwidth == 0
    assert not (tl.void.is_int() or tl.void.is_floating() or tl.void.is_ptr() or tl.void.is_block())
    assert tl.void != tl.pointer_type(tl.int8) and tl.void != tl.int8 and tl.int8 != tl.void and tl.void is tl.core.void


@triton.jit
def smaller(value1, index1, value2, index2):
    return tl.standard._argmin_combine(value1, index1, value2, index2, True)


@triton.jit
def larger(value1, index1, value2, index2):
    return tl.standard._argmax_combine(value1, index1, value2, index2, tie_break_left=False)


@triton.jit
def extrema(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    values = tl.load(x + i)
    low, where_low = tl.reduce((values, i), 0, smaller)
    high, _ = tl.reduce((values, i), 0, larger)
    tl.store(o, low)
    tl.store(o + 1, where_low)
    tl.store(o + 2, high)


@pytest.mark.parametrize("target", ["cpu", "interp", "ptxvm"])
def test_kernels_reduce_with_upstreams_helpers(target):
    x, out = np.array([5, 2, 7, 2, 7, 3, 2, 4], np.int32), np.zeros(3, np.int32)
    extrema.target = target
    try:
        extrema[(1,)](x, out, 8)
    finally:
        extrema.target = "cpu"
    assert out.tolist() == [2, 1, 7]


@triton.jit
def draw(o, n_rounds: tl.constexpr = tl.random.N_ROUNDS_DEFAULT):
    tl.store(o, tl.randint(1, 2, n_rounds))
    tl.store(o + 1, tl.randint(1, 2, tl.random.N_ROUNDS_DEFAULT))
    tl.store(o + 2, tl.randint(1, 2))


def test_rounds_of_random_numbers_have_a_default():
    out = np.zeros(3, np.uint32)
    draw[(1,)](out)
    assert out[0] == out[1] == out[2] and tl.random.N_ROUNDS_DEFAULT.value == 10


@tl.core.builtin
def shifted(value, by, _semantic=None):
    tl.core.check_bit_width(value, by)
    return value


@triton.jit
def shift(o, x, BY: tl.constexpr):
    tl.store(o, shifted(x, BY))


def test_shifts_by_all_bits_are_warned_of():
    out = np.zeros(1, np.int32)
    for by, expected in ((31, 0), (32, 1)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            shift[(1,)](out, 5, by)
        assert len([each for each in told if "32 bits, is shifted by 32" in str(each.message)]) == expected
