"""Arguments that are no arrays: a type in the place of one, and a tensor read as another type."""
import math

from ..language import core as lang


def elements_reachable(value):
    """The number of elements of its memory from the start of an array on; -1: not known, or no array."""
    if hasattr(value, "untyped_storage") and hasattr(value, "element_size"):
        return value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
    interface = getattr(value, "__array_interface__", None)
    if interface is None or getattr(value, "ndim", 0) == 0:
        return -1
    base = value
    while getattr(base, "base", None) is not None and hasattr(base.base, "__array_interface__"):
        base = base.base
    start, end = base.__array_interface__["data"][0], base.__array_interface__["data"][0] + base.nbytes
    return (end - interface["data"][0]) // value.itemsize if base.flags.c_contiguous and start <= interface["data"][0] else -1


class MockTensor:
    """A tensor without memory, for compiles: its type, and an address that is divisible by 16."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, list(shape) if shape is not None else [1]

    @staticmethod
    def wrap_dtype(arg):
        """A dtype of PyTorch, or a tensor of its device `meta`, becomes a tensor of it, in tuples, too; everything else stays."""
        kind = type(arg)
        if isinstance(arg, tuple):
            wrapped = [MockTensor.wrap_dtype(value) for value in arg]
            if all(a is b for a, b in zip(wrapped, arg)):
                return arg
            return kind._make(wrapped) if hasattr(kind, "_make") else kind(wrapped)
        if kind.__name__ == "dtype" and kind.__module__ == "torch":
            return MockTensor(arg)
        is_meta = getattr(getattr(arg, "device", None), "type", None) == "meta"
        return MockTensor(arg.dtype, arg.shape) if is_meta else arg

    def numel(self):
        return math.prod(self.shape)

    def stride(self):
        strides = [1]
        for extent in self.shape[:0:-1]:
            strides.append(strides[-1] * extent)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """A tensor whose bytes a kernel reads as elements of another type."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data, self.device, self.shape = base.data, base.device, base.shape
        self.is_cuda, self.is_cpu = getattr(base, "is_cuda", False), getattr(base, "is_cpu", True)

    def get_device(self):
        return self.base.get_device()

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """The tensor, its bytes read as `dtype`."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"a {type(tensor).__name__} has no memory to read as {dtype}")
