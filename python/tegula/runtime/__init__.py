"""Kernels as Python objects: compiling on call, tuning."""
from ..errors import InterpreterError, OutOfResources
from . import _allocation, _async_compile, autotuner, build, cache, errors, jit
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .cache import RedisRemoteCacheBackend, RemoteCacheBackend
from .compiled import CompiledKernel
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, constexpr_function, reinterpret, set_target
from .driver import driver

__all__ = ["Autotuner", "CompiledKernel", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface",
           "MockTensor", "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend", "TensorWrapper", "autotune",
           "cache", "constexpr_function", "driver", "errors", "heuristics", "jit", "reinterpret", "set_target"]
