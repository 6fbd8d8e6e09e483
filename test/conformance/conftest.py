"""Documented behaviours of the language, one small test each, for Tegula and for upstream Triton."""
from meaning import *  # fixtures
