"""``triton.backends.driver``: what a driver of devices answers."""
from abc import ABCMeta, abstractmethod
from typing import Protocol


class Benchmarker(Protocol):
    """Measures a call: milliseconds, one for each quantile."""

    def __call__(self, kernel_call, *, quantiles, **kwargs):
        ...


class DriverBase(metaclass=ABCMeta):
    """A driver: which machine launches go to, and what it can do."""

    @classmethod
    @abstractmethod
    def is_active(cls):
        """Says whether this process can use it, and launches go there by default."""

    @abstractmethod
    def map_python_to_cpp_type(self, ty):
        """The type in C of a signature's type: "*fp32", "i64"."""

    @abstractmethod
    def get_current_target(self):
        """The GPUTarget that launches go to."""

    @abstractmethod
    def get_active_torch_device(self):
        """The torch.device that goes with it."""

    @abstractmethod
    def get_benchmarker(self):
        """The function that measures calls on it."""

    def __init__(self):
        pass


class GPUDriver(DriverBase):
    """A driver whose devices PyTorch knows."""

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        raise NotImplementedError("kernels take no tensor maps here: pass a TensorDescriptor")
