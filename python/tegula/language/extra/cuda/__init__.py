"""``tl.extra.cuda``: scripts import libdevice from here too."""
from . import libdevice
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.cuda", globals())
