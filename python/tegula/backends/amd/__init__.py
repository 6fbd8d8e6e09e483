"""``triton.backends.amd``: libraries import its classes to compare with. There is no target for these GPUs."""
from . import compiler, driver

__all__ = ["compiler", "driver"]
