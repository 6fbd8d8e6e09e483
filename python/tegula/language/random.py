"""``tl.random``: the names are those of ``tl``."""
from . import core
from .core import constexpr

N_ROUNDS_DEFAULT = constexpr(10)  # of philox, where a call says none

__getattr__ = core.module_getattr("triton.language", globals())
