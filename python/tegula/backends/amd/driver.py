"""``triton.backends.amd.driver``"""
from ...absent import absent_class, absent_names

_REASON = "there are no AMD GPUs among the targets\n  hint: triton.backends.nvidia"
HIPDriver = absent_class("triton.backends.amd.driver.HIPDriver", _REASON)
HIPLauncher = absent_class("triton.backends.amd.driver.HIPLauncher", _REASON)
HIPUtils = absent_class("triton.backends.amd.driver.HIPUtils", _REASON)
__getattr__ = absent_names("triton.backends.amd.driver", _REASON)
