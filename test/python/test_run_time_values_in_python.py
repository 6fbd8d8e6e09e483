"""A constexpr_function is given run-time values as well, and may ask for their types."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.constexpr_function
def element_type(value):
    if isinstance(value, tl.tensor_descriptor):
        return value.dtype
    assert isinstance(value, tl.tensor), value
    return value.dtype.element_ty if value.dtype.is_ptr() else value.dtype


@triton.constexpr_function
def extents(value):
    return value.shape, value.numel, value.type.is_block(), len(value.shape)


@triton.constexpr_function
def same(value, other):
    return other if other is not None else value


@triton.jit
def asking_kernel(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tile = tl.load(x + i)
    square = tl.make_tensor_descriptor(x, [B, B], [B, 1], [B, B])
    tl.static_assert(element_type(x) == tl.float16)
    tl.static_assert(element_type(tile) == tl.float16)
    tl.static_assert(element_type(square) == tl.float16)
    tl.static_assert(element_type(n) == tl.int32)
    tl.static_assert(element_type(x + i) == tl.float16)
    tl.static_assert(element_type(tile > 0) == tl.int1)
    found: tl.constexpr = extents(tl.broadcast_to(tile[:, None], [B, 4]))
    tl.static_assert(found[0] == (B, 4) and found[1] == 4 * B and found[2] and found[3] == 2)
    tl.static_assert(extents(n)[3] == 0)
    wide: tl.constexpr = 2 * tile.dtype.primitive_bitwidth // 8
    tl.store(out + i, same(tile, None) * wide + same(None, n))


@pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim), "cpu"], indirect=True)
def test_types_of_run_time_values(target):
    x, out = torch.arange(256.0).half(), torch.zeros(16)
    for n in (7, 9):  # the second launch is the same kernel
        asking_kernel[(1,)](x, out, n, 16)
        assert out.tolist() == [4 * i + n for i in range(16)]


@triton.constexpr_function
def doubled(value):
    return value * 2


@triton.constexpr_function
def is_three(value):
    return value == 3


@triton.constexpr_function
def length(value):
    return value.stride


@triton.constexpr_function
def truth(value):
    return 1 if value else 2


@triton.jit
def computing_kernel(out, n, CASE: tl.constexpr):
    if CASE == 0:
        tl.store(out, doubled(n))
    elif CASE == 1:
        tl.store(out, is_three(n))
    elif CASE == 2:
        tl.store(out, length(out))
    else:
        tl.store(out, truth(n))


@pytest.mark.parametrize("case, told", [(0, "a run-time value of type int32 is not known"), (1, "a run-time value of type int32 is not known"),
                                        (2, "`stride` of a run-time value of type pointer<int32>"), (3, "of type int32 is not known")])
def test_elements_are_not_known(case, told):
    with pytest.raises(triton.CompilationError, match=told):
        computing_kernel[(1,)](torch.zeros(1, dtype=torch.int32), 5, case)


@triton.jit
def comparing_kernel(out, T: tl.constexpr):
    tl.static_assert(T.element_ty == tl.float32 and T.shape == (8,))
    if T == tl.block_type(tl.float32, [8]):
        tl.store(out, 1)


def test_types_of_the_host_are_not_taken_for_different_ones():
    with pytest.raises(triton.CompilationError, match="a type that the kernel made with one that Python made"):
        comparing_kernel[(1,)](torch.zeros(1), tl.block_type(tl.float32, [8]))
