"""Where the assembler's tools lie that other packages brought: Triton's programs, PyTorch's libraries."""
import os
import sys

_BELOW = ("triton/backends/nvidia/bin", "nvidia/cu13/lib", "nvidia/nvjitlink/lib")


def announce():
    """Names their folders in TEGULA_TOOLS, for the process that assembles, unless the machine has a `ptxas` of its own."""
    own = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin"]
    if "TEGULA_TOOLS" in os.environ or any(os.access(os.path.join(folder, "ptxas"), os.X_OK) for folder in own):
        return
    folders = [os.path.join(root, below) for root in sys.path if root for below in _BELOW]
    found = [folder for folder in folders if os.path.isdir(folder)]
    if found:
        os.environ["TEGULA_TOOLS"] = os.pathsep.join(found)
