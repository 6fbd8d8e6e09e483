"""``tl.standard``: functions of the language that upstream writes in the language itself."""
from . import core
from .core import _log2, cdiv, get_int_dtype as _get_int_dtype

__getattr__ = core.module_getattr("triton.language", globals())
