"""``tl.extra.cuda``: scripts import libdevice from here too."""
from . import gdc, libdevice, utils
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.cuda", globals())
