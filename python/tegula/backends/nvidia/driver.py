"""``triton.backends.nvidia.driver``"""
from ..drivers import GpuDriver as CudaDriver, _GpuFunctions as CudaUtils

__all__ = ["CudaDriver", "CudaUtils"]
