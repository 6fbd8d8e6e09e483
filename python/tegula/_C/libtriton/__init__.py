"""``triton._C.libtriton``: what host code asks the compiled library of upstream for."""
import importlib

from ...knob_types import getenv, getenv_bool
from ...runtime.specialize import native_specialize_impl
from . import ir

_INVALIDATING = ("DISABLE_LLVM_OPT", "TRITON_DEFAULT_FP_FUSION", "TRITON_F32_DEFAULT")


def get_cache_invalidating_env_vars():
    """The variables that are set and change what a compile makes."""
    return {name: getenv(name) for name in _INVALIDATING if getenv(name)}


def __getattr__(name):
    if name in ("amd", "nvidia"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


__all__ = ["get_cache_invalidating_env_vars", "getenv", "getenv_bool", "ir", "native_specialize_impl"]
