"""``tl.extra.hip.utils``"""
from ....absent import absent_names

__getattr__ = absent_names("triton.language.extra.hip.utils", "there are no AMD GPUs among the targets")
