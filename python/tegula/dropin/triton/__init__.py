"""Makes `import triton` find Tegula in processes that a program which uses Tegula starts."""
import sys

from tegula.alias import install_as_triton

install_as_triton()
import tegula

sys.modules[__name__] = tegula
