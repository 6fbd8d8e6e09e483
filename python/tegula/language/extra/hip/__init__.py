"""``tl.extra.hip``: imports find it; its functions are of GPUs that are no target."""
from . import libdevice, utils
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.hip", globals())
