"""``tl.extra.hip.libdevice``: libdevice is the same for all targets."""
from ...core import module_getattr

__getattr__ = module_getattr("triton.language.extra.libdevice", globals())
