"""``triton._C.libtriton.amd``: what libraries import beside `nvidia`. There is no target for these GPUs."""
import types


class HipblasLt:
    """Products of matrices by hipBLASLt."""

    def __init__(self, workspace):
        raise NotImplementedError("there are no AMD GPUs for hipBLASLt here\n  hint: torch.matmul(a, b.T)")


hipblas = types.SimpleNamespace(HipblasLt=HipblasLt)
