"""``triton.runtime.driver``: which driver is active. A GPU's when this process can use one, else that of the cores."""
from ..backends.drivers import CpuDriver, GpuDriver, device_properties, has_gpu, torch_with_gpu


class DriverConfig:
    """The driver that launches go to, as scripts ask for it. PyTorch may be loaded later than this module, so the
    answer is the one that fits at the time of the question, until a driver is set."""

    def __init__(self):
        self._set = None
        self._gpu, self._cpu = GpuDriver(), CpuDriver()

    @property
    def default(self):
        return self._gpu if has_gpu() and torch_with_gpu() else self._cpu

    @property
    def active(self):
        return self._set or self.default

    def set_active(self, driver):
        """Answers this driver from now on; kernels still run where their arguments are."""
        self._set = driver

    def reset_active(self):
        self._set = None

    def told_target(self):
        """The target that a program tells by a driver of its own, or by another `get_current_target` of this one, where launches
        have another; else None."""
        active, default = self.active, self.default
        if active is default and "get_current_target" not in vars(active):
            return None
        told = active.get_current_target()
        return None if told == type(default).get_current_target(default) else told


driver = DriverConfig()


def __getattr__(name):
    if name in ("active", "default"):
        return getattr(driver, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


__all__ = ["DriverConfig", "device_properties", "driver", "has_gpu"]
