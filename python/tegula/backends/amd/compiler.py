"""``triton.backends.amd.compiler``"""
from ...absent import absent_class, absent_names

_REASON = "there are no AMD GPUs among the targets\n  hint: triton.backends.nvidia"
HIPBackend = absent_class("triton.backends.amd.compiler.HIPBackend", _REASON)
HIPOptions = absent_class("triton.backends.amd.compiler.HIPOptions", _REASON)
__getattr__ = absent_names("triton.backends.amd.compiler", _REASON)
