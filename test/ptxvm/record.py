"""Runs every form on this machine's GPU and writes golden.npz: `python record.py [FILE]`. Needs NumPy and the driver."""
import ctypes
import sys

import golden
import numpy as np
from forms import COUNT, all_forms, kernel, operands


class Driver:
    """As much of the driver's interface as one launch needs."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()

    def __call__(self, function, *arguments):
        status = getattr(self.cuda, function)(*arguments)
        if status:
            raise RuntimeError(f"{function} failed with {status}")

    def upload(self, array):
        pointer = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        self("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return pointer

    def run(self, text, arrays):
        """Runs the entry `form`; the last array comes back changed."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text.encode()))
        self("cuModuleGetFunction", ctypes.byref(function), module, b"form")
        pointers = [self.upload(array) for array in arrays]
        parameters = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(pointer) for pointer in pointers])
        self("cuLaunchKernel", function, 1, 1, 1, COUNT, 1, 1, 0, None, parameters, None)
        self("cuCtxSynchronize")
        last = arrays[-1]
        self("cuMemcpyDtoH_v2", last.ctypes.data_as(ctypes.c_void_p), pointers[-1], ctypes.c_size_t(last.nbytes))
        for pointer in pointers:
            self("cuMemFree_v2", pointer)
        self("cuModuleUnload", module)
        return last


def main():
    driver = Driver()
    results, failures = {}, []
    for form in all_forms():
        try:
            results[form] = driver.run(kernel(form), [*operands(form), np.zeros(COUNT, np.uint64)])
        except RuntimeError as error:
            failures.append(f"{form.text}: {error}")
    path = sys.argv[1] if len(sys.argv) > 1 else golden.FILE
    golden.write(path, results, driver.name)
    print(f"{len(results)} forms recorded on {driver.name}, {len(failures)} failed")
    print("\n".join(failures))


if __name__ == "__main__":
    main()
