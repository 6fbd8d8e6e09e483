"""Elements of less than a byte: packed in memory, loaded through pointers to them; ours."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


INTEGERS = [f"int{bits}" for bits in range(2, 8)] + [f"uint{bits}" for bits in range(1, 8)]
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float16)


def bits_of(name):
    return 4 if name == "float4e2m1" else int(name.lstrip("uint"))


def pack(codes, bits):
    """Element i is bits i*bits to (i+1)*bits-1, the lowest first: exactly the bytes that it takes."""
    all_bits = (codes.reshape(-1, 1) >> np.arange(bits)) & 1
    return np.packbits(all_bits.reshape(-1).astype(np.uint8), bitorder="little")


def values_of(codes, name):
    bits = bits_of(name)
    if name == "float4e2m1":
        return FP4[codes]
    if name.startswith("uint"):
        return codes.astype(np.uint8)
    return (codes - (codes >> (bits - 1) << bits)).astype(np.int8)


def random_codes(name, n):
    return np.random.default_rng(n).integers(0, 1 << bits_of(name), n)


def result_of(name, n):
    return np.full(n, 77, np.float16 if name.startswith("float") else np.uint8 if name.startswith("uint") else np.int8)


@triton.jit
def run_kernel(x_ptr, out_ptr, first, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr.to(tl.pointer_type(TYPE)) + (first + i), mask=first + i < n, other=1)
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("name", INTEGERS + ["float4e2m1"])
def test_runs_begin_and_end_at_any_element(target, name):
    """Not a byte is read outside of what the elements take: ptxvm says so."""
    codes = random_codes(name, 45)
    for first, n in [(0, 45), (3, 45), (8, 40), (13, 14)]:
        out = result_of(name, 32)
        run_kernel[(1,)](pack(codes[:n], bits_of(name)), out, first, n, TYPE=getattr(tl, name), BLOCK=32)
        expected = np.ones_like(out)
        expected[:max(0, min(n - first, 32))] = values_of(codes[first:n], name)[:32]
        np.testing.assert_array_equal(out, expected)


@triton.jit
def whole_kernel(x_ptr, out_ptr, skipped, TYPE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, k = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr.to(tl.pointer_type(TYPE)) + skipped + rows * BLOCK + k)
    tl.store(out_ptr + rows * BLOCK + k, x)


@pytest.mark.parametrize("name", ["uint1", "int3", "uint4", "float4e2m1", "int5", "uint7"])
@pytest.mark.parametrize("skipped", [0, 5])
@pytest.mark.parametrize("block", [8, 24, 13])
def test_rows_without_a_mask(target, name, skipped, block):
    codes = random_codes(name, skipped + 3 * block)
    out = result_of(name, 3 * block).reshape(3, block)
    whole_kernel[(1,)](pack(codes, bits_of(name)), out, skipped, TYPE=getattr(tl, name), ROWS=3, BLOCK=block)
    np.testing.assert_array_equal(out, values_of(codes[skipped:], name).reshape(3, block))


@triton.jit
def anywhere_kernel(x_ptr, index_ptr, out_ptr, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    packed = x_ptr.to(tl.pointer_type(TYPE))
    index = tl.load(index_ptr + i)
    tl.store(out_ptr + i, tl.load(packed + index, mask=index >= 0))
    tl.store(out_ptr + BLOCK, tl.load(packed + 3))


@pytest.mark.parametrize("name", INTEGERS + ["float4e2m1"])
def test_elements_at_any_index(target, name):
    codes = random_codes(name, 50)
    index = np.array([49, 0, 7, 8, 9, 31, 49, 2, -1, 47, 48, 5, 5, 13, -1, 21], np.int32)
    out = result_of(name, 17)
    anywhere_kernel[(1,)](pack(codes, bits_of(name)), index, out, TYPE=getattr(tl, name), BLOCK=16)
    expected = np.where(index < 0, 0, values_of(codes, name)[index])
    np.testing.assert_array_equal(out, np.append(expected, values_of(codes, name)[3]))


@triton.jit
def annotated_kernel(x_ptr: tl.pointer_type(tl.int3), out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.float32) * 0.5)


def test_a_parameter_is_annotated_as_packed(target):
    codes = random_codes("int3", 16)
    out = np.zeros(16, np.float32)
    annotated_kernel[(1,)](pack(codes, 3), out, BLOCK=16)
    np.testing.assert_array_equal(out, values_of(codes, "int3") * 0.5)


def test_arrays_that_are_not_packed_are_refused():
    import ml_dtypes

    from tegula.errors import LaunchError

    with pytest.raises(TypeError, match="packed"):
        annotated_kernel[(1,)](np.zeros(16, ml_dtypes.int4), np.zeros(16, np.float32), BLOCK=16)
    with pytest.raises(LaunchError, match="x_ptr"):
        annotated_kernel[(1,)](np.zeros(16, np.int32), np.zeros(16, np.float32), BLOCK=16)
