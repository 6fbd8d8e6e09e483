"""``triton.experimental.gluon.language.nvidia.blackwell``"""
from .....absent import absent_names

__getattr__ = absent_names("triton.experimental.gluon.language.nvidia.blackwell", "kernels of Gluon are not compiled")
