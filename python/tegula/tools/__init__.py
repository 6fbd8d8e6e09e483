"""``triton.tools``"""
from . import disasm

__all__ = ["disasm"]
