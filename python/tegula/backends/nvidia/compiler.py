"""``triton.backends.nvidia.compiler``"""
import functools

from ... import knobs
from ..targets import GpuBackend as CUDABackend, Options as CUDAOptions


def get_ptxas(arch=None):
    """The assembler, as a program with a version."""
    return knobs.nvidia.ptxas


@functools.lru_cache
def get_ptxas_version(arch=None):
    """The assembler's version, "13.0"."""
    return get_ptxas(arch).version


def min_dot_size(target):
    """A function of two factors' element types that returns the smallest (M, N, K) of a product that upstream compiles.

    Generators of kernels (Helion) choose tiles by it. Tegula itself compiles any size: what is smaller than an instruction is filled up.
    """

    def smallest(lhs_type, rhs_type):
        narrow = min(lhs_type.scalar.primitive_bitwidth, rhs_type.scalar.primitive_bitwidth) == 8
        return (1, 1, 32) if narrow else (1, 1, 16)

    return smallest


def sm_arch_from_capability(capability):
    """The architecture of a compute capability, as the assembler spells it."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


__all__ = ["CUDABackend", "CUDAOptions", "get_ptxas", "get_ptxas_version", "min_dot_size", "sm_arch_from_capability"]
