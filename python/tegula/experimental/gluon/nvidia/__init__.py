"""``triton.experimental.gluon.nvidia``"""
from . import hopper

__all__ = ["hopper"]
