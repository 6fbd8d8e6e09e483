"""``triton.runtime.driver.active``: scripts ask it for their device. Kernels run on the cores here."""
from collections import namedtuple

Target = namedtuple("Target", "backend arch warp_size")


class _CpuDriver:

    def get_current_target(self):
        return Target("cpu", "native", 1)

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench


active = _CpuDriver()
