"""``triton.experimental.gluon.language.nvidia``"""
from . import ampere, blackwell, hopper

__all__ = ["ampere", "blackwell", "hopper"]
