"""``triton.backends.nvidia.driver``"""
import functools
import os
import subprocess
from pathlib import Path

from ... import knobs
from ..drivers import GpuDriver as CudaDriver, _GpuFunctions as CudaUtils

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
    if ty.startswith("*"):
        return "CUdeviceptr"
    if ty.startswith("tensordesc") or ty == "nvTmaDesc":
        return "CUtensorMap"
    if ty in ("fp16", "bf16", "fp32", "f32", "fp64"):
        return "double"
    if ty not in (f"{sign}{bits}" for sign in "iu" for bits in (1, 8, 16, 32, 64)):
        raise KeyError(ty)
    return f"{'u' if ty[0] == 'u' else ''}int{max(8, int(ty[1:]))}_t"


__all__ = ["CudaDriver", "CudaUtils", "libcuda_dirs", "library_dirs", "ty_to_cpp"]
