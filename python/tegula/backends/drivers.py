"""The drivers of GPUs and of the cores, as scripts and libraries ask them for their device."""
import ctypes
import functools
import importlib
import os
import sys

from .. import _tegula as core
from .compiler import GPUTarget
from .driver import DriverBase, GPUDriver
from ..errors import TritonError

_GPU = "cuda"


@functools.lru_cache(maxsize=None)
def device_properties(index):
    """Says what a device is, under upstream's names."""
    found = core.device(_GPU, index)
    return {"name": found["name"], "arch": found["arch"], "max_shared_mem": found["max_shared_bytes"],
            "max_num_regs": found["max_registers"], "multiprocessor_count": found["multiprocessors"],
            "warpSize": found["warp_size"], "max_threads_per_block": found["max_threads_per_block"],
            "sm_clock_rate": found["clock_khz"], "mem_clock_rate": found["memory_clock_khz"],
            "mem_bus_width": found["memory_bus_bits"], "l2_cache_size": found["cache_bytes"],
            "total_memory": found["memory_bytes"], "capability": (found["major"], found["minor"])}


def _has_no(name, instead):
    """A function of upstream's driver that there is nothing for here; it says so when it is called."""

    def refuse(*args, **kwargs):
        raise NotImplementedError(f"driver.utils.{name} is not here\n  hint: {instead}")

    refuse.__name__ = name
    return staticmethod(refuse)


_PRINTF_FIFO_SIZE = 1  # CU_LIMIT_PRINTF_FIFO_SIZE


def _driver_library():
    return ctypes.CDLL(os.environ.get("TEGULA_LIBCUDA") or "libcuda.so.1")


def _done(api, name, *arguments):
    """Calls a function of CUDA's driver."""
    if result := getattr(api, name)(*arguments):
        raise RuntimeError(f"{name} failed with the result {result} of CUDA's driver")


class _GpuFunctions:
    """``driver.active.utils``"""

    @staticmethod
    def get_device_properties(device):
        return device_properties(0 if device is None else int(device))

    load_binary = _has_no("load_binary", "a CompiledKernel loads its code at its first launch")
    unload_module = _has_no("unload_module", "a CompiledKernel unloads its code when it is destroyed")
    cuOccupancyMaxActiveClusters = _has_no("cuOccupancyMaxActiveClusters", "blocks are not grouped into clusters")

    @staticmethod
    def set_printf_fifo_size(size):
        """Sets how many bytes of tl.device_print's output the current device keeps between two synchronizations; more is lost."""
        api = _driver_library()
        context = ctypes.c_void_p()
        _done(api, "cuInit", 0)
        _done(api, "cuCtxGetCurrent", ctypes.byref(context))
        if not context:
            device = ctypes.c_int()
            _done(api, "cuDeviceGet", ctypes.byref(device), GpuDriver().get_current_device())
            _done(api, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            _done(api, "cuCtxSetCurrent", context)
        _done(api, "cuCtxSetLimit", _PRINTF_FIFO_SIZE, ctypes.c_size_t(size))

    fill_tma_descriptor_tiled = _has_no("fill_tma_descriptor_tiled", "pass a TensorDescriptor to the kernel")
    fill_tma_descriptor_im2col = _has_no("fill_tma_descriptor_im2col", "pass a TensorDescriptor to the kernel")


class _CpuFunctions:
    """``driver.active.utils`` where launches go to the cores."""

    @staticmethod
    def set_printf_fifo_size(size):
        """All output of tl.device_print is written: there is no queue that could be too short."""

    @staticmethod
    def get_device_properties(device):
        """Upstream's names for the cores: one multiprocessor a thread of a launch, and no shared memory of a block."""
        if has_gpu():
            return device_properties(0 if device is None else int(device))
        return {"name": "cpu", "arch": "native", "multiprocessor_count": core.threads(), "warpSize": 1,
                "max_shared_mem": 1 << 30, "max_num_regs": 1 << 30, "max_threads_per_block": 1024}


def torch_with_gpu():
    """PyTorch, when the script uses it with a GPU."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)  # not there yet while PyTorch is being imported
    return torch if cuda is not None and hasattr(cuda, "is_available") and cuda.is_available() else None


_C_TYPES = {"i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u1": "uint8_t",
            "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "fp16": "double",
            "bf16": "double", "fp32": "double", "f32": "double", "fp64": "double"}


def _c_type(pointer, ty):
    if ty.startswith("*"):
        return pointer
    if ty not in _C_TYPES:
        raise KeyError(f"a kernel's run-time argument has no type `{ty}`")
    return _C_TYPES[ty]


class GpuDriver(GPUDriver):
    """Launches on GPUs."""

    utils = _GpuFunctions()
    launcher_cls = None  # launches are the extension's

    @classmethod
    def is_active(cls):
        return has_gpu()

    def map_python_to_cpp_type(self, ty):
        return _c_type("CUdeviceptr", ty)

    def get_current_device(self):
        torch = torch_with_gpu()
        return torch.cuda.current_device() if torch else core.current_device(_GPU)

    def set_current_device(self, device):
        torch = torch_with_gpu()
        if not torch:
            raise RuntimeError("the current device is set through PyTorch, which is not loaded")
        torch.cuda.set_device(device)

    def get_current_stream(self, device=None):
        torch = torch_with_gpu()
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


class _CpuInterface:

    @staticmethod
    def synchronize(device=None):
        """Launches on the cores have ended when they return."""

    @staticmethod
    def current_device():
        return 0


class CpuDriver(DriverBase):
    """Launches on the cores; active where there is no GPU."""

    utils = _CpuFunctions()
    launcher_cls = None

    @classmethod
    def is_active(cls):
        return not has_gpu()

    def map_python_to_cpp_type(self, ty):
        return _c_type("void *", ty)

    def set_current_device(self, device):
        if device not in (0, None):
            raise ValueError("the cores are one device, 0")

    def get_device_capability(self, device=None):
        return (0, 0)

    def get_device_interface(self):
        """The part that torch.cuda plays for GPUs: here there is nothing to wait for."""
        return _CpuInterface()

    def get_empty_cache_for_benchmark(self):
        return importlib.import_module("torch").empty(64 << 20, dtype=importlib.import_module("torch").int8)

    def clear_cache(self, cache):
        cache.zero_()

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


def has_gpu():
    """Says whether a driver of GPUs is here and has a device. A process that was forked may not ask the driver
    again; PyTorch, which knows that, is asked first."""
    return torch_with_gpu() is not None or _driver_has_device()


@functools.lru_cache(maxsize=None)
def _driver_has_device():
    try:
        return core.device_count(_GPU) > 0
    except TritonError:
        return False
