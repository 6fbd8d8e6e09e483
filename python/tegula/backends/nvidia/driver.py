"""``triton.backends.nvidia.driver``"""
import functools
import os
import subprocess
from pathlib import Path

from ... import knobs
from ..drivers import GpuDriver as CudaDriver, _GpuFunctions as CudaUtils, _c_type

_LIBRARY = "libcuda.so.1"


def _of_linker():
    """The folders in which the dynamic linker's cache has the driver's library."""
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, errors="ignore").stdout
    except OSError:
        return []
    return [os.path.dirname(line.split()[-1]) for line in listed.splitlines() if _LIBRARY in line]


@functools.lru_cache()
def libcuda_dirs():
    """The folders that hold the driver's library. AssertionError where there is none."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    of_user = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    found = _of_linker() or [folder for folder in of_user if (Path(folder) / _LIBRARY).exists()]
    if not any((Path(folder) / _LIBRARY).exists() for folder in found):
        raise AssertionError(f"{_LIBRARY} is not found\n  hint: name its folder in TRITON_LIBCUDA_PATH, or run `ldconfig` once it is "
                             "installed")
    return found


@functools.lru_cache()
def library_dirs():
    """The folders that code linked against the driver is given."""
    return libcuda_dirs()


def ty_to_cpp(ty):
    """The type in C++ in which a launcher takes an argument of this type: a double for every float."""
    return "CUtensorMap" if ty.startswith("tensordesc") or ty == "nvTmaDesc" else _c_type("CUdeviceptr", ty)


__all__ = ["CudaDriver", "CudaUtils", "libcuda_dirs", "library_dirs", "ty_to_cpp"]
