"""``triton._C``: the compiler, as far as code outside of it looks in."""
from . import libtriton
