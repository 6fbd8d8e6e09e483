"""Annotations of parameters: as expressions, as texts, and as they are when a kernel is first used. Ranges of arguments."""
from __future__ import annotations

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

Constant = tl.constexpr  # another name


def types_of(kernel):
    return {argument.name: ("*" if argument.is_pointer else "") + argument.dtype for argument in kernel.arguments}


def store(out_ptr, v):
    tl.store(out_ptr, v)


def annotated(annotation):
    """The kernel `store` with a set annotation of `v`."""
    import types

    fn = types.FunctionType(store.__code__, {"tl": tl, "triton": triton, "Constant": Constant}, "store")
    fn.__annotations__ = {"v": annotation}
    return triton.jit(fn)


OUT = np.zeros(1)


@pytest.mark.parametrize("annotation", ["tl.constexpr", "constexpr", "triton.language.constexpr", " tl.constexpr ", "Constant",
                                        tl.constexpr], ids=str)
def test_constants(annotation):
    assert types_of(annotated(annotation).warmup(OUT, 7)) == {"out_ptr": "*fp64"}


@pytest.mark.parametrize("annotation, dtype", [("tl.float64", "fp64"), ("float64", "fp64"), ("fp64", "fp64"), ("f64", "fp64"),
                                               (tl.float64, "fp64"), ("tl.int64", "int64"), (tl.int8, "int8"), ("u16", "uint16")])
def test_numbers(annotation, dtype):
    assert types_of(annotated(annotation).warmup(OUT, 7))["v"] == dtype


@pytest.mark.parametrize("annotation", ["*fp64", "*tl.float64", "tl.float64*", "const tl.float64 *", tl.pointer_type(tl.float64)], ids=str)
def test_pointers(annotation):

    def kernel(out_ptr, v):
        tl.store(out_ptr, tl.load(v))

    kernel.__annotations__ = {"v": annotation}
    kernel = triton.jit(kernel)
    assert types_of(kernel.warmup(OUT, OUT))["v"] == "*fp64"
    with pytest.raises(triton.LaunchError, match="ArgumentType"):
        kernel.warmup(OUT, np.zeros(1, np.float32))


@pytest.mark.parametrize("annotation", ["Tensor", "int", int, "Optional[int]", "np.ndarray", ""], ids=str)
def test_other_annotations_say_nothing(annotation):
    assert types_of(annotated(annotation).warmup(OUT, 7))["v"] == "int32"


@triton.jit
def quoted(out_ptr, A: "tl.constexpr", v: "tl.float64", w: tl.int8, B: Constant):
    tl.store(out_ptr, A + v + w + B)


def test_annotations_in_the_text():
    out = np.zeros(1)
    kernel = quoted[(1,)](out, 3, 0.1, 5, 2)
    assert out[0] == 10 + 0.1 and types_of(kernel) == {"out_ptr": "*fp64", "v": "fp64", "w": "int8"}


@triton.jit
def quoted_helper(x, A: "tl.constexpr"):
    return x + tl.max(tl.arange(0, A + 1), axis=0)


def test_annotations_of_helpers():
    @triton.jit
    def kernel(out_ptr, n):
        tl.store(out_ptr, quoted_helper(n, 3))

    out = np.zeros(1)
    kernel[(1,)](out, 7)
    assert out[0] == 10


# ---- ranges of arguments ------------------------------------------------------------------------


@pytest.mark.parametrize("annotation, value", [
    (None, 2**64), (None, -2**63 - 1), (None, 2**200), ("i32", 2**31), ("i32", -2**31 - 1), ("u32", -1), ("u32", 2**32), ("i8", 128),
    ("i8", -129), ("u8", 256), ("i16", 2**15), ("u16", 2**16), ("i64", 2**63), ("i64", -2**63 - 1), ("u64", 2**64), ("u64", -1),
    ("i1", 2), ("i1", -1), ("tl.int32", 2**64), ("i64", np.uint64(2**63))])
def test_an_integer_that_does_not_fit_is_an_overflow_error(annotation, value):
    kernel = annotated(annotation) if annotation else triton.jit(store)
    with pytest.raises(OverflowError, match=f"the value {int(value)} of parameter `v`") as caught:
        kernel[(1,)](np.zeros(1), value)
    assert isinstance(caught.value, triton.LaunchError)


@pytest.mark.parametrize("annotation, value", [(None, 2**64 - 1), (None, -2**63), ("i32", 2**31 - 1), ("u32", 2**32 - 1), ("i8", -128),
                                               ("u8", 255), ("u64", 2**64 - 1), ("i1", 1), ("i1", True)])
def test_the_largest_integers_fit(annotation, value):
    kernel = annotated(annotation) if annotation else triton.jit(store)
    out = np.zeros(1, np.uint64 if value > 0 else np.int64)
    kernel[(1,)](out, value)
    assert out[0] == value


def test_a_float_for_an_integer_parameter_is_refused():
    with pytest.raises(triton.LaunchError, match="ArgumentType"):
        annotated("i32")[(1,)](np.zeros(1), 1.5)
