"""``tl.target_info``: which machine a kernel is compiled for, as constants for kernels and for Python."""
from ..runtime.driver import driver
from ..runtime.jit import constexpr_function


def current_target():
    """The GPUTarget that launches go to."""
    return driver.active.get_current_target()


@constexpr_function
def is_cuda():
    return current_target().backend == "cuda"


@constexpr_function
def cuda_capability_geq(major, minor=0):
    """Says whether it is a GPU of this capability or above."""
    target = current_target()
    return target.backend == "cuda" and target.arch >= major * 10 + minor


@constexpr_function
def is_hip():
    return False


@constexpr_function
def is_hip_cdna3():
    return False


@constexpr_function
def is_hip_cdna4():
    return False
