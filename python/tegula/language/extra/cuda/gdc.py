"""``tl.extra.cuda.gdc``: waiting for the launch ahead, and letting the next one begin."""
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.cuda", globals())
