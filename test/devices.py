"""Devices that tests run on besides the host's own targets: `sim`, the PTX machine, and `cuda`, a GPU.

On `cuda` a test's tensors and arrays stay on the host, where it looks at them; a launch gets a mirror: the memory
behind all arguments is copied to the GPU as whole pieces, so that arguments that overlap, and what lies around
them, are there as they are here; afterwards it is copied back.
"""
import ctypes
import dataclasses
import functools

import numpy as np
import pytest
import torch

import tegula
from tegula.tools.tensor_descriptor import TensorDescriptor

TARGET_OF = {"sim": "ptxvm", "cuda": "cuda"}  # the names that launches know them by
MIRROR = "cuda"  # where PyTorch puts the copies


def missing(device):
    """Why the device cannot be used here, or None. What the build has not is no reason: its tests fail."""
    if device == "cuda" and not torch.cuda.is_available():
        return "no CUDA device: PyTorch sees none"
    return None


# --- the mirror ------------------------------------------------------------------------------


def memory_of(value):
    """(first byte, end) of the whole memory behind an array or tensor."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    while isinstance(value.base, np.ndarray):
        value = value.base
    low, high = np.lib.array_utils.byte_bounds(value)
    return low, high


def is_host_array(value):
    return isinstance(value, np.ndarray) or (isinstance(value, torch.Tensor) and value.device.type == "cpu")


def arrays_in(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from arrays_in(value)
        elif isinstance(value, TensorDescriptor):
            yield from arrays_in([value.base])
        elif is_host_array(value):
            yield value


class Piece:
    """A range of the host's memory and its copy on the GPU, at the same place modulo 16."""

    def __init__(self, low, high):
        self.low, self.pad = low, low % 16
        self.host = torch.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), dtype=torch.uint8)
        self.device = torch.empty(self.pad + high - low, dtype=torch.uint8, device=MIRROR)
        self.device[self.pad:].copy_(self.host)

    def from_address(self, address, dtype):
        begin = self.pad + address - self.low
        count = (len(self.device) - begin) // dtype.itemsize
        return self.device[begin:begin + count * dtype.itemsize].view(dtype)

    def copy_back(self):
        self.host.copy_(self.device[self.pad:])


class Mirror:

    def __init__(self, values):
        ranges = sorted(memory_of(array) for array in arrays_in(values))
        merged = []
        for low, high in ranges:
            if merged and low < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high)
            elif low < high:
                merged.append([low, high])
        self.pieces = [Piece(low, high) for low, high in merged]

    def of(self, value):
        if isinstance(value, (tuple, list)):
            items = [self.of(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, TensorDescriptor):
            return dataclasses.replace(value, base=self.of(value.base))
        if not is_host_array(value):
            return value
        is_tensor = isinstance(value, torch.Tensor)
        dtype = value.dtype if is_tensor else getattr(torch, value.dtype.name)
        address = value.data_ptr() if is_tensor else value.__array_interface__["data"][0]
        for piece in self.pieces:
            if piece.low <= address < piece.low + len(piece.host):
                return piece.from_address(address, dtype)
        return torch.empty(0, dtype=dtype, device=MIRROR)

    def copy_back(self):
        if MIRROR == "cuda":
            torch.cuda.synchronize()
        for piece in self.pieces:
            piece.copy_back()


def launch_mirrored(launcher, *arguments, **keywords):
    mirror = Mirror([*arguments, *keywords.values()])
    compiled = launcher(*map(mirror.of, arguments), **{name: mirror.of(value) for name, value in keywords.items()})
    mirror.copy_back()
    return compiled


def target_of(kernel):
    """The target of what can be launched: of a kernel, or of the kernel that tuners and heuristics are around."""
    while not hasattr(kernel, "target"):
        kernel = kernel.fn
    return kernel.target


def mirror_launches(monkeypatch):
    """From now on launches on `cuda` take the host's arrays; the outermost launch of a wrapped kernel makes the mirror."""
    for kind in (tegula.JITFunction, tegula.KernelInterface):
        monkeypatch.setattr(kind, "__getitem__", mirroring(kind.__getitem__))


def mirroring(plain):

    def subscript(kernel, grid):
        launcher = plain(kernel, grid)
        if target_of(kernel) != TARGET_OF["cuda"]:
            return launcher
        return functools.partial(launch_mirrored, launcher)

    return subscript


def use(device, monkeypatch):
    """Makes launches go to the device, or skips the test with the reason why it cannot be used."""
    reason = missing(device)
    if reason:
        pytest.skip(reason)
    if device == "cuda":
        mirror_launches(monkeypatch)
    tegula.set_target(TARGET_OF[device])
