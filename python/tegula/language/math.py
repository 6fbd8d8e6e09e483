"""``tl.math``: the functions are the compiler's."""
from .core import module_getattr

__getattr__ = module_getattr("triton.language.math", globals())
