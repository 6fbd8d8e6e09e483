"""The classes of the language on the host: annotations, isinstance and issubclass, and kernels that name them."""
import pickle
import typing

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.runtime.interpreter import InterpretedFunction

CLASSES = """block_type condition constexpr constexpr_type dtype pointer_type range slice static_range tensor tensor_descriptor
    tensor_descriptor_base tensor_descriptor_type tuple tuple_type""".split()
RANGE, DESCRIPTOR = tl.range, tl.tensor_descriptor  # kernels reach them by other names, too
WAYS = pytest.mark.parametrize("way", [triton.jit, InterpretedFunction])


@pytest.mark.parametrize("name", CLASSES)
def test_is_a_class_by_both_modules(name):
    found = getattr(tl, name)
    assert isinstance(found, type) and found is getattr(tl.core, name) and found.__name__ == name
    assert pickle.loads(pickle.dumps(found)) is found


def test_bases_are_upstreams():
    values = (tl.tensor, tl.constexpr, tl.tensor_descriptor, tl.tuple, tl.range, tl.static_range, tl.condition)
    assert all(issubclass(cls, tl.core.base_value) for cls in values)
    types = (tl.dtype, tl.pointer_type, tl.block_type, tl.tuple_type, tl.tensor_descriptor_type, tl.constexpr_type)
    assert all(issubclass(cls, tl.core.base_type) for cls in types)
    assert issubclass(tl.tensor_descriptor, tl.tensor_descriptor_base)
    assert issubclass(tl.pointer_type, tl.dtype) and issubclass(tl.block_type, tl.dtype)


def test_annotations_and_questions():

    def function(x: tl.tensor | tl.tensor_descriptor, t: tl.tuple | None = None) -> tl.block_type:
        pass

    assert typing.get_type_hints(function)["x"] == tl.tensor | tl.tensor_descriptor
    assert not isinstance(3, (tl.tensor, tl.tensor_descriptor, tl.block_type, tl.range, tl.slice, tl.tuple_type))
    assert isinstance(tl.constexpr(3), tl.core.base_value) and not isinstance(3, tl.core.base_value)
    assert isinstance((1, 2), tl.tuple) and not isinstance([1, 2], tl.tuple)

    @triton.jit
    def kernel(a: tl.tensor_descriptor, b: tl.tensor | tl.tensor_descriptor, c: tl.pointer_type(tl.float16), d: tl.tuple):
        pass

    assert [(p.is_constexpr, p.is_const, p.annotation_type) for p in kernel.params] == [
        (False, False, ""), (False, False, ""), (False, False, "*fp16"), (False, False, "")]


def test_types_are_made_on_the_host():
    block = tl.block_type(tl.float16, [tl.constexpr(16), 8])
    assert (block.shape, block.numel, block.nbytes, block.scalar) == ((16, 8), 128, 256, tl.float16)
    assert block.is_block() and not block.is_ptr() and not block.is_int() and not block.is_floating() and not block.is_fp16()
    assert block == tl.block_type(tl.float16, (16, 8)) != block.with_element_ty(tl.int8) and str(block) == "<['16', '8'], fp16>"
    assert block not in (tl.float16, tl.pointer_type(tl.float16)) and len({block, tl.block_type(tl.float16, (16, 8))}) == 1
    pointer = tl.pointer_type(tl.int8, const=True)
    assert pointer.is_ptr() and pointer.is_const() and not pointer.is_int() and str(pointer) == "const_pointer<int8>"
    with pytest.raises(AttributeError, match="pointer_type has no attribute `primitive_bitwidth`"):
        pointer.primitive_bitwidth
    with pytest.raises(TypeError, match="at least one dimension"):
        tl.block_type(tl.float16, [])
    of_both = tl.tuple_type([tl.int32, block], ["n", "x"])
    assert str(of_both) == "[n:int32,x:<['16', '8'], fp16>]" and list(of_both) == [tl.int32, block] and of_both[0] == tl.int32
    assert tl.tensor_descriptor_type(block, None, None) == tl.tensor_descriptor_type(block, None, None) != of_both


def test_values_are_not_made_on_the_host():
    for cls in (tl.tensor, tl.tensor_descriptor, tl.tensor_descriptor_base):
        with pytest.raises(TypeError, match=f"tl.{cls.__name__} exists only inside a kernel"):
            cls(None, None)
    loop = tl.range(4, num_stages=3)
    assert (loop.start, loop.end, loop.step, loop.num_stages) == (0, 4, 1, 3)
    for iterator in (loop, tl.static_range(1, 4, 2)):
        with pytest.raises(RuntimeError, match="loops only inside a kernel"):
            list(iterator)
    assert list(tl.tuple([1, 2])) == [1, 2] and tl.slice(0, 2).stop == 2 and tl.condition(True).condition is True


def asking_kernel(x_ptr, out_ptr, B: tl.constexpr):
    desc = tl.make_tensor_descriptor(x_ptr, [B], [1], [B])
    x = desc.load([0])
    pair = tl.tuple((x, B))
    if isinstance(desc, DESCRIPTOR) and isinstance(desc, tl.tensor_descriptor_base) and not isinstance(x, tl.tensor_descriptor):
        tl.store(out_ptr, 1)
    if isinstance(x, tl.tensor) and isinstance(B, tl.constexpr) and isinstance(pair, tl.tuple):
        tl.store(out_ptr + 1, 2)
    if isinstance(x.type, tl.block_type) and isinstance(x_ptr.dtype, tl.pointer_type) and isinstance(x.dtype, tl.dtype):
        tl.store(out_ptr + 2, 3)
    if isinstance(x, (tl.tuple, tl.core.tensor_descriptor)) or isinstance(B, tl.tuple):
        tl.store(out_ptr + 3, 4)
    if x.type == tl.block_type(x.dtype, [B]):
        tl.store(out_ptr + 4, 5)


@WAYS
def test_kernels_ask_for_them(way):
    out = np.zeros(5, np.int32)
    way(asking_kernel)[(1, )](np.ones(16, np.float32), out, B=16)
    assert out.tolist() == [1, 2, 3, 0, 5]


def looping_kernel(out_ptr, n, UNROLLS: tl.constexpr):
    total = 0
    for i in tl.range(0, n, num_stages=2):
        total += i
    for i in RANGE(n):
        total += i
    for i in (tl.static_range if UNROLLS else tl.range)(0, 4):
        total += i
    more = 2
    while tl.condition(more > 0, disable_licm=True):
        more -= 1
        total += 100
    tl.store(out_ptr, total)


@WAYS
@pytest.mark.parametrize("unrolls", [False, True])
def test_kernels_loop_by_them(way, unrolls):
    out = np.zeros(1, np.int32)
    way(looping_kernel)[(1, )](out, 5, unrolls)
    assert out[0] == 10 + 10 + 6 + 200


@triton.constexpr_function
def is_one(value, kind):
    return isinstance(value, kind)


def passing_kernel(out_ptr, PAIR: tl.constexpr):
    tl.store(out_ptr, is_one(PAIR, tl.tuple) and not is_one(PAIR, tl.tensor_descriptor))


@WAYS
def test_python_functions_are_passed_them(way):
    out = np.zeros(1, np.int32)
    way(passing_kernel)[(1, )](out, (1, 2))
    assert out[0] == 1


def test_where_python_runs_a_kernel_unions_and_bases_are_asked_for():

    @InterpretedFunction
    def kernel(x_ptr, out_ptr):
        x = tl.load(x_ptr)
        tl.store(out_ptr, isinstance(x, tl.tensor | tl.tensor_descriptor) and isinstance(x, tl.core.base_value))

    out = np.zeros(1, np.int32)
    kernel[(1, )](np.ones(1, np.float32), out)
    assert out[0] == 1
