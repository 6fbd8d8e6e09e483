"""``triton.runtime.driver.active``: scripts ask it for their device. A GPU when this process can use one, else the cores."""
import functools
import importlib
import sys
from collections import namedtuple

from .. import _tegula as core
from ..errors import TritonError

GPUTarget = namedtuple("GPUTarget", "backend arch warp_size")
Target = GPUTarget
_GPU = "cuda"


@functools.lru_cache(maxsize=None)
def device_properties(index):
    """What a device is, under upstream's names."""
    found = core.device(_GPU, index)
    return {"name": found["name"], "arch": found["arch"], "max_shared_mem": found["max_shared_bytes"],
            "max_num_regs": found["max_registers"], "multiprocessor_count": found["multiprocessors"],
            "warpSize": found["warp_size"], "max_threads_per_block": found["max_threads_per_block"],
            "sm_clock_rate": found["clock_khz"], "mem_clock_rate": found["memory_clock_khz"],
            "mem_bus_width": found["memory_bus_bits"], "l2_cache_size": found["cache_bytes"],
            "total_memory": found["memory_bytes"], "capability": (found["major"], found["minor"])}


class _Properties:

    @staticmethod
    def get_device_properties(device):
        return device_properties(0 if device is None else int(device))


def _torch():
    """PyTorch, when the script uses it with a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


class _GpuDriver:
    utils = _Properties()

    def get_current_device(self):
        torch = _torch()
        return torch.cuda.current_device() if torch else core.current_device(_GPU)

    def set_current_device(self, device):
        torch = _torch()
        if not torch:
            raise RuntimeError("the current device is set through PyTorch, which is not loaded")
        torch.cuda.set_device(device)

    def get_current_stream(self, device=None):
        torch = _torch()
        return torch.cuda.current_stream(device).cuda_stream if torch else 0

    def get_device_capability(self, device=None):
        return device_properties(self.get_current_device() if device is None else device)["capability"]

    def get_current_target(self):
        major, minor = self.get_device_capability()
        return GPUTarget(_GPU, major * 10 + minor, 32)

    def get_active_torch_device(self):
        torch = importlib.import_module("torch")
        return torch.device(_GPU, self.get_current_device())

    def get_device_interface(self):
        return importlib.import_module("torch").cuda

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        """Memory larger than the cache, to write between two measurements."""
        torch = importlib.import_module("torch")
        return torch.empty(256 << 18, dtype=torch.int, device=_GPU)

    def clear_cache(self, cache):
        cache.zero_()


class _CpuDriver:
    utils = _Properties()

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return GPUTarget("cpu", "native", 1)

    def get_active_torch_device(self):
        return importlib.import_module("torch").device("cpu")

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench


@functools.lru_cache(maxsize=None)
def has_gpu():
    """Whether a driver of GPUs is here and has a device."""
    try:
        return core.device_count(_GPU) > 0
    except TritonError:
        return False


class _Active:
    """The driver that fits at the time of the question: PyTorch may be loaded later than this module."""

    def __getattr__(self, name):
        return getattr(_GpuDriver() if has_gpu() and _torch() else _CpuDriver(), name)


active = _Active()
