"""``triton.runtime.interpreter``: under TRITON_INTERPRET=1 kernels run on the compiler's own interpreter, the target
`interp`, so a kernel is the same object in both worlds."""
from ..errors import InterpreterError
from .jit import JITFunction


class _Interpreted(type):
    """A kernel is an InterpretedFunction while its launches go to the interpreter."""

    def __instancecheck__(cls, value):
        return isinstance(value, JITFunction) and value.target == "interp"


class InterpretedFunction(metaclass=_Interpreted):
    """``InterpretedFunction(fn)`` is the kernel of a Python function, for the interpreter."""

    def __new__(cls, fn, **kwargs):
        kernel = JITFunction(fn, **kwargs)
        kernel.target = "interp"
        return kernel


__all__ = ["InterpretedFunction", "InterpreterError"]
