"""``triton.backends``: the machines that this build compiles for, and their drivers."""
from dataclasses import dataclass

from .compiler import BaseBackend
from .driver import DriverBase
from .targets import CpuBackend, GpuBackend
from .drivers import CpuDriver, GpuDriver
from . import nvidia


@dataclass(frozen=True)
class Backend:
    """A compiler and a driver, both classes."""
    compiler: type = None
    driver: type = None


class _Backends(dict):
    """By upstream's names. Code also asks for one by the name of its targets, "cuda"; counting and listing find each once."""

    _SAME = {"cuda": "nvidia"}

    def __contains__(self, name):
        return super().__contains__(self._SAME.get(name, name))

    def __missing__(self, name):
        if name in self._SAME:
            return self[self._SAME[name]]
        raise KeyError(name)

    def get(self, name, default=None):
        return self[name] if name in self else default


backends = _Backends(nvidia=Backend(GpuBackend, GpuDriver), cpu=Backend(CpuBackend, CpuDriver))

__all__ = ["Backend", "BaseBackend", "DriverBase", "backends"]
