"""``tl.random``: the names are those of ``tl``."""
from . import core

__getattr__ = core.module_getattr("triton.language", globals())
