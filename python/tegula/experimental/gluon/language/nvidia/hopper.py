"""``triton.experimental.gluon.language.nvidia.hopper``"""
from .....absent import absent_names

__getattr__ = absent_names("triton.experimental.gluon.language.nvidia.hopper", "kernels of Gluon are not compiled")
