"""``triton.experimental.gluon``: modules with such kernels can be imported; a launch says that there is no compiler for them."""
from ...absent import absent_names, refuse
from ...runtime.jit import constexpr_function
from . import language

REASON = ("Gluon writes layouts and instructions of one architecture, and this compiler chooses those\n"
          "  hint: the same kernel with triton.jit")


class GluonJITFunction:
    """A function that `gluon.jit` decorates."""

    def __init__(self, fn):
        self.fn, self.__name__, self.__doc__, self.__module__ = fn, fn.__name__, fn.__doc__, fn.__module__

    def is_gluon(self):
        return True

    def _refuse(self, *args, **kwargs):
        refuse(f"gluon.jit of `{self.__name__}`", REASON)

    __getitem__ = __call__ = run = warmup = _refuse


def jit(fn=None, **options):
    """Takes a kernel, and refuses its launches."""
    return GluonJITFunction if fn is None else GluonJITFunction(fn)


__all__ = ["GluonJITFunction", "constexpr_function", "jit", "language"]
__getattr__ = absent_names("triton.experimental.gluon", REASON)
