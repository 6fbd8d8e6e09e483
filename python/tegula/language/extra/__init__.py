"""``tl.extra``: libdevice and what belongs to one vendor."""
from . import cuda, hip, libdevice
from ..core import module_getattr

__getattr__ = module_getattr("triton.language.extra", globals())
