"""``triton.experimental.gluon.language.nvidia.ampere``"""
from .....absent import absent_names

__getattr__ = absent_names("triton.experimental.gluon.language.nvidia.ampere", "kernels of Gluon are not compiled")
