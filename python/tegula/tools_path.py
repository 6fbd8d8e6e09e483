"""Where the assembler's tools lie that other packages brought: PyTorch's libraries, Triton's programs."""
import os
import sys

_BELOW = ("nvidia/cu13/lib", "nvidia/nvjitlink/lib", "triton/backends/nvidia/bin")


def announce():
    """Names their folders in TEGULA_TOOLS, where the process that assembles looks first."""
    if "TEGULA_TOOLS" in os.environ:
        return
    folders = [os.path.join(root, below) for root in sys.path if root for below in _BELOW]
    found = [folder for folder in folders if os.path.isdir(folder)]
    if found:
        os.environ["TEGULA_TOOLS"] = os.pathsep.join(found)
