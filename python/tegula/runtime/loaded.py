"""A kernel whose code another process compiled: it is loaded through the driver's own interface, and launched with the
arguments that its compile wrote down."""
import ctypes
import os
import struct

from ..errors import DriverError, OutOfResources

_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MOST_THREADS = 0  # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
_MOST_SHARED = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_LARGE = 48 * 1024  # more shared memory than this is asked for
_FORMATS = {"fp32": "<f", "fp64": "<d"}
_HIDDEN = 2  # pointers behind the arguments, as upstream has them: global and profile scratch
_driver = None


def _library():
    global _driver
    if _driver is None:
        try:
            _driver = ctypes.CDLL(os.environ.get("TEGULA_LIBCUDA") or "libcuda.so.1")
        except OSError as error:
            raise DriverError(f"there is no GPU driver here: {error}") from None
        _call("cuInit", 0)
    return _driver


def _call(name, *arguments):
    status = getattr(_library() if name != "cuInit" else _driver, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _driver.cuGetErrorString(status, ctypes.byref(text))
        raise DriverError(f"{name} failed: {(text.value or b'').decode()} ({status})")


def _slot(argument, value):
    """The 8 bytes of an argument."""
    if hasattr(value, "data_ptr"):
        value = value.data_ptr()
    if value is None:
        value = 0
    if not argument.is_pointer and argument.dtype in _FORMATS:
        return struct.pack(_FORMATS[argument.dtype], value).ljust(8, b"\0")
    return (int(value) & (1 << 64) - 1).to_bytes(8, "little")


class LoadedKernel:
    """The code of a kernel on the current device."""

    def __init__(self, image, name, shared, warps, arguments, is_cooperative):
        self.arguments, self.threads, self.shared = arguments, 32 * warps, shared
        self.is_cooperative = is_cooperative
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._enter_context()
        _call("cuModuleLoadDataEx", ctypes.byref(self._module), image, 0, None, None)
        _call("cuModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())
        self._check_limits()
        if shared > _LARGE:
            _call("cuFuncSetAttribute", self._function, _DYNAMIC_SHARED, ctypes.c_int(shared))

    @staticmethod
    def target():
        return "cuda"

    @staticmethod
    def _enter_context():
        """The context that is current, else that of the first device, which PyTorch uses as well."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        _call("cuCtxGetCurrent", ctypes.byref(context))
        if not context.value:
            _call("cuDeviceGet", ctypes.byref(device), 0)
            _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            _call("cuCtxSetCurrent", context)

    def _check_limits(self):
        """Raises OutOfResources where the device cannot run a block of the kernel."""
        device, shared = ctypes.c_int(), ctypes.c_int()
        _call("cuCtxGetDevice", ctypes.byref(device))
        _call("cuDeviceGetAttribute", ctypes.byref(shared), _MOST_SHARED, device)
        if self.shared > shared.value:
            raise OutOfResources(self.shared, shared.value, "shared memory")
        threads = self.count(_MOST_THREADS)
        if self.threads > threads:
            raise OutOfResources(self.threads, threads, "threads")

    def count(self, attribute):
        found = ctypes.c_int()
        _call("cuFuncGetAttribute", ctypes.byref(found), attribute, self._function)
        return found.value

    def launch(self, grid, stream, values):
        slots = [ctypes.create_string_buffer(_slot(argument, value), 8) for argument, value in zip(self.arguments, values)]
        slots += [ctypes.create_string_buffer(8) for _ in range(_HIDDEN)]
        pointers = (ctypes.c_void_p * len(slots))(*(ctypes.addressof(slot) for slot in slots))
        sizes = [ctypes.c_uint(extent) for extent in (*grid, self.threads, 1, 1, self.shared)]
        if 0 in grid:
            return
        if self.is_cooperative:
            _call("cuLaunchCooperativeKernel", self._function, *sizes, ctypes.c_void_p(stream), pointers)
        else:
            _call("cuLaunchKernel", self._function, *sizes, ctypes.c_void_p(stream), pointers, None)
