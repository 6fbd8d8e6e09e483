"""``tl.extra.cuda.utils``: a GPU's clock and what a program learns of its place on it."""
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.cuda", globals())
