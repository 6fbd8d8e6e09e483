"""What scripts of test_gpu_launch.py begin with: a driver that writes its calls down, and tensors that say they are on a GPU.
PyTorch itself takes seconds to load, and has no GPU here: a module stands for it."""
import ctypes
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
driver = ctypes.CDLL(os.environ["TEGULA_LIBCUDA"])
driver.fakeCudaCalls.restype = ctypes.c_char_p

import types  # noqa: E402

import numpy as np  # noqa: E402

import tegula  # noqa: E402
from kernels.vector_add import add_kernel  # noqa: E402

MEMORY = np.zeros(64, "f4")


@tegula.jit
def nothing_kernel(n):
    pass



class OnGpu:
    is_cpu, is_cuda, dtype = False, True, np.dtype("f4")

    def __init__(self, index=0):
        self.index = index

    @property
    def device(self):
        return f"cuda:{self.index}"

    def get_device(self):
        return self.index

    def data_ptr(self):
        return MEMORY.ctypes.data


def fake_torch(current_device=0):
    torch, inner = types.ModuleType("torch"), types.ModuleType("torch._C")
    torch._C, torch.device = inner, lambda kind, index: f"{kind}:{index}"
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: current_device)
    inner._cuda_getCurrentRawStream = lambda device: 4096 + device
    sys.modules.update({"torch": torch, "torch._C": inner})


def calls():
    return driver.fakeCudaCalls().decode().splitlines()


def launch(*tensors, grid=(4,), n=60, kernel=add_kernel):
    return kernel[grid](*(tensors or (OnGpu(), OnGpu(), OnGpu())), n, BLOCK=64)


def error_of(action):
    try:
        action()
    except Exception as error:
        return error
    raise AssertionError("nothing was refused")
