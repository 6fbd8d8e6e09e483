"""``triton.experimental.gluon``: modules with such kernels can be imported; a launch says that there is no compiler for them."""
import functools

from ...absent import absent_names, refuse
from ...runtime.jit import JITFunction, constexpr_function
from . import language

REASON = ("Gluon writes layouts and instructions of one architecture, and this compiler chooses those\n"
          "  hint: the same kernel with triton.jit")


class GluonJITFunction(JITFunction):
    """A function that `gluon.jit` decorates; what wraps or inspects kernels when a module is imported takes it as one."""

    def is_gluon(self):
        return True

    def _refuse(self, *args, **kwargs):
        refuse(f"gluon.jit of `{self.__name__}`", REASON)

    __getitem__ = __call__ = run = warmup = _refuse


def jit(fn=None, **options):
    """Takes a kernel, and refuses its launches."""
    return functools.partial(jit, **options) if fn is None else GluonJITFunction(fn, **options)


__all__ = ["GluonJITFunction", "constexpr_function", "jit", "language"]
__getattr__ = absent_names("triton.experimental.gluon", REASON)
