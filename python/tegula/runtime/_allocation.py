"""``triton.set_allocator``: who gives memory to kernels that ask for some on the device."""
from contextvars import ContextVar
from typing import Protocol


class Buffer(Protocol):
    """Memory on the device."""

    def data_ptr(self):
        ...


class Allocator(Protocol):
    """Gives memory for one launch."""

    def __call__(self, size, alignment, stream):
        ...


class NullAllocator:
    """Counts while no allocator is set."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError("a kernel asks for memory of the device, and no allocator is set\n"
                           "  hint: call triton.set_allocator(function of size, alignment and stream)")


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)


def set_allocator(allocator):
    """The function that is asked for memory, `allocator(size, alignment, stream)`. Kernels here ask for none: tensor
    descriptors that they make are values, not memory."""
    _allocator.set(allocator)


class _AllocatorWrapper:
    """An allocator that can be another one later."""

    def __init__(self, allocator):
        self._current = allocator

    def get(self):
        return self._current

    def set(self, allocator):
        self._current = allocator

    def __call__(self, size, alignment, stream):
        return self._current(size, alignment, stream)


_profile_allocator = _AllocatorWrapper(_NULL_ALLOCATOR)


def set_profile_allocator(allocator):
    """The same for what a profiler writes into; nothing here writes there."""
    _profile_allocator.set(allocator or _NULL_ALLOCATOR)
