"""``tl.extra.libdevice``: the functions are the compiler's."""
from ..core import module_getattr

__getattr__ = module_getattr("triton.language.extra.libdevice", globals())
