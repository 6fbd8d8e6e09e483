"""``triton.backends.nvidia.compiler``"""
from ..targets import GpuBackend as CUDABackend, Options as CUDAOptions

__all__ = ["CUDABackend", "CUDAOptions"]
