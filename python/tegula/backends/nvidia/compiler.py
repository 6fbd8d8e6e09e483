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


def sm_arch_from_capability(capability):
    """The architecture of a compute capability, as the assembler spells it."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


__all__ = ["CUDABackend", "CUDAOptions", "get_ptxas", "get_ptxas_version", "sm_arch_from_capability"]
