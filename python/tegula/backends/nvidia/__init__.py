"""``triton.backends.nvidia``: the backend for GPUs under upstream's names."""
from . import compiler, driver

__all__ = ["compiler", "driver"]
