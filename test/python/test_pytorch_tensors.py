"""Tensors of PyTorch as arguments: their memory, type and device are those that their attributes say."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

torch = pytest.importorskip("torch")


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def size_of_element(x_ptr, out_ptr):
    tl.store(out_ptr, x_ptr.dtype.element_ty.primitive_bitwidth)


TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 float8_e5m2 float8_e4m3fn".split()


@pytest.mark.parametrize("name", TYPES)
def test_each_type(name):
    dtype = getattr(torch, name)
    x = torch.arange(32).remainder(2).to(dtype)
    out = torch.zeros(32, dtype=dtype)
    copy[(1,)](x, out, 20, BLOCK=32)
    expected = torch.cat([x[:20].to(torch.float32), torch.zeros(12)])
    assert torch.equal(out.to(torch.float32), expected)


def test_a_type_that_follows_another_one_is_its_own():
    out = np.zeros(1, np.int32)
    for name, bits in (("float32", 32), ("float64", 64), ("bfloat16", 16), ("float32", 32)):
        size_of_element[(1,)](torch.zeros(4, dtype=getattr(torch, name)), out)
        assert out[0] == bits


def test_a_view_begins_where_it_begins():
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(32)
    for begin in (0, 1, 16, 17):
        copy[(1,)](x[begin:], out[3:], 20, BLOCK=32)
        assert torch.equal(out[3:23], x[begin:begin + 20])


def test_a_parameter_of_a_model_is_a_tensor():
    x, out = torch.nn.Parameter(torch.arange(32, dtype=torch.float32)), torch.zeros(32)
    copy[(1,)](x, out, 32, BLOCK=32)
    assert torch.equal(out, x.detach())


def test_a_class_that_says_where_its_memory_is_is_asked():
    class Elsewhere(torch.Tensor):
        there = torch.arange(32, dtype=torch.float32)

        def data_ptr(self):
            return self.there.data_ptr()

    x, out = torch.zeros(32).as_subclass(Elsewhere), torch.zeros(32)
    copy[(1,)](x, out, 32, BLOCK=32)
    assert torch.equal(out, Elsewhere.there)


def test_a_tensor_without_memory_is_refused():
    with pytest.raises(triton.TritonError, match="meta"):
        copy[(1,)](torch.zeros(32, device="meta"), torch.zeros(32), 32, BLOCK=32)


@pytest.mark.parametrize("other", [1, 16, 17, 2**31, 2**40 + 1, -5])
def test_a_number_of_another_kind_behind_many_launches(other):
    @triton.jit
    def put(out_ptr, n):
        tl.store(out_ptr, n)

    out = torch.zeros(1, dtype=torch.int64)
    for number in (3, 5, 7, other, 3, other):
        put[(1,)](out, number)
        assert out[0] == number


def test_a_tensor_without_elements_is_told_what_can_be_done():
    x = torch.zeros(32, device="meta")
    with pytest.raises(triton.LaunchError, match="device `meta`.*\n  hint: it has a shape and no elements; .*warmup") as caught:
        copy[(1,)](x, x, 20, BLOCK=32)
    assert "tensor.cpu()" not in str(caught.value)
    assert copy.warmup(x.dtype, torch.empty_like(x, device="cpu"), 20, BLOCK=32, grid=(1,)) is not None
