"""Constants that Python evaluates: defaults, attributes of modules, calls of what a module or a tl.constexpr holds."""
import dataclasses
import enum
import math
import types

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

settings = types.ModuleType("settings")
settings.SCALE = 0.75
settings.half = lambda x: x / 2
LOWEST: tl.constexpr = torch.finfo(torch.float16).min
TENTH = tl.constexpr(np.float32(0.1))


@tl.constexpr
def squared(x):
    return x * x


def stored(kernel, count, target, **kwargs):
    out = np.zeros(count, np.float32)
    kernel[(1,)](out, **kwargs)
    return out.tolist()


@triton.jit
def defaults_kernel(out_ptr, LOW: tl.constexpr = torch.finfo(torch.float16).min, PI: tl.constexpr = math.pi,
                    STEP: tl.constexpr = np.float32(0.1), MOST: tl.constexpr = torch.iinfo(torch.int8).max,
                    eps=2.0**-3):
    tl.store(out_ptr, LOW)
    tl.store(out_ptr + 1, PI)
    tl.store(out_ptr + 2, STEP)
    tl.store(out_ptr + 3, MOST)
    tl.store(out_ptr + 4, eps)


def test_defaults_are_what_python_evaluated(target):
    assert stored(defaults_kernel, 5, target) == [-65504, np.float32(math.pi), np.float32(0.1), 127, 0.125]
    assert stored(defaults_kernel, 5, target, LOW=1.0, eps=2.0) == [1, np.float32(math.pi), np.float32(0.1), 127, 2]


@triton.jit
def lowest(x, floor: tl.constexpr = torch.finfo(torch.float32).tiny * 0 - 7):
    return tl.maximum(x, floor)


@triton.jit
def helper_default_kernel(out_ptr):
    tl.store(out_ptr, lowest(tl.program_id(0) - 100.0))


def test_a_helper_has_defaults_that_python_evaluated(target):
    assert stored(helper_default_kernel, 1, target) == [-7]


@triton.jit
def attributes_kernel(out_ptr):
    tl.store(out_ptr, settings.SCALE)
    tl.store(out_ptr + 1, torch.finfo(torch.bfloat16).eps)
    tl.store(out_ptr + 2, np.float32(2.5) + np.int64(2))
    tl.store(out_ptr + 3, settings.half(3))
    tl.store(out_ptr + 4, LOWEST)
    tl.store(out_ptr + 5, TENTH)


def test_attributes_and_calls_through_modules_are_constants(target):
    expected = [0.75, 2.0**-7, 4.5, 1.5, -65504, np.float32(0.1)]
    assert stored(attributes_kernel, 6, target) == expected


def test_what_a_module_says_is_compiled_once_and_read_again_when_it_changes(monkeypatch):
    attributes_kernel.target = "interp"
    out = np.zeros(6, np.float32)
    first = attributes_kernel[(1,)](out)
    assert attributes_kernel[(1,)](out) is first
    monkeypatch.setattr(settings, "SCALE", 8.0)
    assert attributes_kernel[(1,)](out) is not first and out[0] == 8
    monkeypatch.setattr(settings, "half", lambda x: x * 10)
    attributes_kernel[(1,)](out)
    assert out[3] == 30


@triton.jit
def marked_function_kernel(out_ptr, N: tl.constexpr):
    x = tl.full([squared(N)], 1.0, tl.float32)
    tl.store(out_ptr, tl.sum(x) + squared(3))


def test_tl_constexpr_marks_a_python_function(target):
    assert stored(marked_function_kernel, 1, target, N=4) == [25]


def plain(x):
    return x


@triton.jit
def plain_function_kernel(out_ptr):
    tl.store(out_ptr, plain(1))


@triton.jit
def run_time_argument_kernel(out_ptr, n):
    tl.store(out_ptr, settings.half(n))


def test_what_no_constant_can_be_is_refused():
    out = np.zeros(1, np.float32)
    with pytest.raises(triton.CompilationError, match="`plain` is a Python function without @triton.jit"):
        plain_function_kernel[(1,)](out)
    with pytest.raises(triton.CompilationError, match="needs a compile-time constant"):
        run_time_argument_kernel[(1,)](out, 5)


CODES = tl.constexpr({"relu": 3, tl.float32: 5, 7: (1.5, None)})


@triton.jit
def entries_kernel(out_ptr, CONFIG: tl.constexpr, NAME: tl.constexpr):
    tl.store(out_ptr, CODES[NAME])
    tl.store(out_ptr + 1, CODES[out_ptr.dtype.element_ty])
    tl.store(out_ptr + 2, CODES[7][0])
    tl.store(out_ptr + 3, tl.sum(tl.full([CONFIG["block"]], 1.0, tl.float32)))


def test_entries_of_a_dictionary(target):
    assert stored(entries_kernel, 4, target, CONFIG={"block": 8}, NAME="relu") == [3, 5, 1.5, 8]


def test_an_entry_that_changed_is_seen(target):
    config = {"block": 8, "other": 1}
    assert stored(entries_kernel, 4, target, CONFIG=config, NAME="relu")[3] == 8
    config["block"] = 16
    assert stored(entries_kernel, 4, target, CONFIG=config, NAME="relu")[3] == 16


@triton.jit
def keys_kernel(out_ptr, CONFIG: tl.constexpr):
    if "bias" in CONFIG:
        tl.store(out_ptr, CONFIG["bias"])
    else:
        tl.store(out_ptr, -1)
    tl.store(out_ptr + 1, 1 if tl.float32 in CODES and "gelu" not in CODES else 0)


def test_keys_of_a_dictionary(target):
    config = {"bias": 3}
    assert stored(keys_kernel, 2, target, CONFIG=config) == [3, 1]
    del config["bias"]
    assert stored(keys_kernel, 2, target, CONFIG=config) == [-1, 1]
    config["bias"] = 4
    assert stored(keys_kernel, 2, target, CONFIG=config) == [4, 1]


@triton.jit
def no_keys_kernel(out_ptr, CONFIG: tl.constexpr):
    if 3 in CONFIG:
        tl.store(out_ptr, 1)


@pytest.mark.compiled
def test_keys_are_of_dictionaries_only(target):
    with pytest.raises(triton.CompilationError, match="`in` does not apply to int and a"):
        stored(no_keys_kernel, 1, target, CONFIG=object())


def test_an_entry_that_is_not_there(target):
    with pytest.raises((triton.CompilationError, KeyError), match="gelu"):
        stored(entries_kernel, 4, target, CONFIG={"block": 8}, NAME="gelu")


@triton.jit
def key_of_run_time_kernel(out_ptr, n):
    tl.store(out_ptr, CODES[n])


@pytest.mark.compiled
def test_a_key_that_is_a_run_time_value(target):
    with pytest.raises(triton.CompilationError, match="the key of a dict needs a compile-time constant"):
        stored(key_of_run_time_kernel, 1, target, n=7)


@triton.jit
def letters_kernel(out, LAYOUT: tl.constexpr):
    """Characters and slices of a text, which counts in characters and not in bytes."""
    for i in tl.static_range(len(LAYOUT)):
        if LAYOUT[i] == "C":
            tl.store(out, i)
    if LAYOUT[-1] == "\u00fc" and LAYOUT[1:3] == "CH" and LAYOUT[::-1] == "\u00fcHCN" and LAYOUT[4:] == "":
        tl.store(out + 1, 1)


def test_texts_have_characters_and_slices():
    out = np.zeros(2, np.int32)
    letters_kernel[(1,)](out, "NCH\u00fc")
    assert out.tolist() == [1, 1]


class Activation(str, enum.Enum):
    RELU = "relu"
    NONE = "none"


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@dataclasses.dataclass(frozen=True)
class Shape:
    width: int = 3


MODES = types.SimpleNamespace(Mode=Mode)


@triton.jit
def text_kernel(out_ptr, ACT: tl.constexpr):
    tl.store(out_ptr, 1.0 if ACT == "relu" else 2.0)
    tl.store(out_ptr + 1, len(ACT))
    tl.store(out_ptr + 2, 1.0 if ACT in ("relu", "gelu") else 2.0)
    tl.store(out_ptr + 3, 1.0 if ACT.value == "relu" else 2.0)


@triton.jit
def object_kernel(out_ptr, MODE: tl.constexpr, SHAPE: tl.constexpr):
    tl.store(out_ptr, 1.0 if MODE.value == MODES.Mode.FAST else 2.0)
    tl.store(out_ptr + 1, MODE.value.value)
    tl.store(out_ptr + 2, SHAPE.value.width)
    tl.store(out_ptr + 3, MODES.Mode.SLOW.value)


@triton.jit
def math_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr, math.gcd(N, 18))
    tl.store(out_ptr + 1, math.isqrt(N) + math.comb(5, 2))
    tl.store(out_ptr + 2, math.hypot(3, 4))
    tl.store(out_ptr + 3, math.pow(2.0, -math.inf) + math.prod((2, N)))


def test_a_member_of_texts_is_its_text(target):
    assert stored(text_kernel, 4, target, ACT=Activation.RELU) == [1, 4, 1, 1]
    assert stored(text_kernel, 4, target, ACT=Activation.NONE) == [2, 4, 2, 2]


def test_the_value_of_a_constexpr_is_its_object(target):
    assert stored(object_kernel, 4, target, MODE=Mode.FAST, SHAPE=Shape()) == [1, 1, 3, 2]
    assert stored(object_kernel, 4, target, MODE=Mode.SLOW, SHAPE=Shape(5)) == [2, 2, 5, 2]


def test_functions_of_math(target):
    assert stored(math_kernel, 4, target, N=12) == [6, 13, 5, 24]
