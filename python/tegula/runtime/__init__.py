"""Kernels as Python objects: compiling on call, tuning."""
from ..errors import OutOfResources
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from . import driver, errors
from .compiled import CompiledKernel
from .jit import JITFunction, KernelInterface, constexpr_function, jit, set_target

__all__ = ["Autotuner", "CompiledKernel", "Config", "Heuristics", "JITFunction", "KernelInterface", "OutOfResources",
           "autotune", "constexpr_function", "driver", "errors", "heuristics", "jit", "set_target"]
