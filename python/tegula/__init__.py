"""Tegula: kernels in Triton's syntax, compiled for the machine at hand.

``import tegula as triton; import tegula.language as tl`` runs Triton code;
``python -m tegula SCRIPT`` and ``install_as_triton()`` make ``import triton`` mean this package.
"""
from . import tools_path as _tools_path

_tools_path.announce()
from . import _tegula
from . import errors as _errors
from . import encode as _encode
from .errors import (CompilationError, CompileTimeAssertionFailure, DeviceAssertionError, DriverError, InternalError,
                     LaunchError, OutOfResources, ToolchainError, TritonError, UnsupportedLanguageConstruct)
from . import language
from .errors import InterpreterError
from .runtime import (Autotuner, Config, Heuristics, JITFunction, KernelInterface, MockTensor, TensorWrapper, autotune,
                      constexpr_function, heuristics, reinterpret, set_target)
from .runtime.jit import jit
from .runtime.compiled import CompiledKernel
from .runtime._allocation import set_allocator
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .language import cdiv, next_power_of_2
from .language.core import _aggregate as aggregate, must_use_result
from . import _C, _utils, backends, compiler, knobs, runtime, testing, tools
from .compiler import compile
from .language import combine as _combine, standard as _standard, target_info as _target_info
from .alias import install_as_triton, told_version as _told_version

__version__ = _told_version(_tegula.version)


def set_num_threads(count):
    """Threads that launches on the cores use (TEGULA_NUM_THREADS at start)."""
    _tegula.set_threads(count)


def get_num_threads():
    return _tegula.threads()


def set_kernel_limit(count):
    """Sets how many compiled kernels the process keeps (TEGULA_MAX_KERNELS at start); 0 is no bound. Those
    that were not used for the longest time go first, and are compiled again when they are called."""
    _tegula.set_kernel_limit(count)


def get_kernel_limit():
    return _tegula.kernel_limit()


vars(_standard).update({name: value for name, value in vars(_combine).items() if isinstance(value, JITFunction)})
_tegula.register(_encode.encode_argument, _errors.make_error, CompiledKernel, _encode.dtype_code)

__all__ = [
    "AsyncCompileMode", "Autotuner", "CompilationError", "CompileTimeAssertionFailure", "CompiledKernel", "Config",
    "DeviceAssertionError", "DriverError", "FutureKernel", "Heuristics", "InternalError", "InterpreterError", "JITFunction",
    "KernelInterface", "LaunchError", "MockTensor", "OutOfResources", "TensorWrapper", "ToolchainError", "TritonError",
    "UnsupportedLanguageConstruct", "aggregate", "autotune", "cdiv", "compile", "constexpr_function", "get_kernel_limit",
    "get_num_threads", "heuristics", "install_as_triton", "jit", "knobs", "language", "must_use_result", "next_power_of_2",
    "reinterpret", "runtime", "set_allocator", "set_kernel_limit", "set_num_threads", "set_target", "testing", "tools",
]
