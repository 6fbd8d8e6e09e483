"""``triton.tools.tensor_descriptor``: descriptors of tensors as arguments of kernels."""
from dataclasses import dataclass
from typing import Any, List

from ..runtime import descriptors

def _address_of(base):
    if hasattr(base, "data_ptr"):
        return base.data_ptr()
    return base.__array_interface__["data"][0]


def _is_float(dtype):
    return getattr(dtype, "is_floating_point", getattr(dtype, "kind", "") == "f")


def _check(holds, message):
    if not holds:
        raise AssertionError(message)


def _check_block(shape):
    for i, extent in enumerate(shape):
        if not isinstance(extent, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(extent)}]`")
        if extent <= 0:
            raise ValueError(f"Shape element {i} must be positive, not {extent}")


@dataclass
class TensorDescriptor:
    """A tensor of 1 to 5 dimensions, and the shape of the tiles that kernels load and store of it."""

    base: Any
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __new__(cls, *args, **kwargs):
        """However it is made, copied or unpickled: of a subclass as well."""
        descriptors.expect(TensorDescriptor)
        return super().__new__(cls)

    def __post_init__(self):
        rank = len(self.shape)
        if len(self.strides) != rank or len(self.block_shape) != rank:  # the text of a tensor reads all of it
            raise AssertionError(f"rank mismatch: {self}")
        _check(rank > 0, "rank must not be zero")
        _check(rank <= 5, "rank cannot be more than 5")
        if type(self.base).__name__ not in ("FakeTensor", "FunctionalTensor"):
            _check(_address_of(self.base) % 16 == 0, "base must be 16-byte aligned")
        _check_block(self.block_shape)
        size = self.base.dtype.itemsize
        _check(all(stride * size % 16 == 0 for stride in self.strides[:-1]), "strides must be 16-byte aligned")
        _check(all(extent > 0 for extent in self.shape), "shape must be positive")
        _check(self.strides[-1] == 1, "Last dimension must be contiguous")
        _check(self.padding in ("zero", "nan"), "Illegal value for padding")
        _check(self.padding == "zero" or _is_float(self.base.dtype),
               "Padding option `nan` is only supported for floating point tensors")
        if self.round_f32_to_tf32:
            _check(str(self.base.dtype).endswith("float32") and "b" not in str(self.base.dtype),
                   "round_f32_to_tf32 is only supported for float32 tensors")
            raise NotImplementedError("round_f32_to_tf32: a load through a descriptor gives what is in memory\n"
                                      "  hint: tl.dot(a, b, input_precision=\"tf32\") rounds its operands")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """The descriptor of a whole tensor of PyTorch or array of NumPy."""
        if callable(getattr(tensor, "stride", None)):
            strides = tensor.stride()
        else:
            strides = [stride // tensor.itemsize for stride in tensor.strides]
        return TensorDescriptor(tensor, list(tensor.shape), list(strides), block_shape, padding, round_f32_to_tf32)
