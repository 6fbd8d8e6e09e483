"""``tl.extra.cuda.libdevice``: the functions are the compiler's."""
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.cuda.libdevice", globals())
