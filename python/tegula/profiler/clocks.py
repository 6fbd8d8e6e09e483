"""The clocks of launches: the host's, and that of a GPU, which is read by events of PyTorch. A span begins and ends
without waiting; what it took is asked for later."""
import sys
import time

from .. import _tegula as core
from ..backends.drivers import device_properties

HOST = ("CPU", "0")
_GPU = "CUDA"


class HostSpan:
    """Work that has been done when the call for it returns."""

    __slots__ = ("began", "ended", "device")

    def __init__(self):
        self.device, self.ended = HOST, None
        self.began = time.perf_counter_ns()

    def end(self):
        self.ended = time.perf_counter_ns()

    def is_ready(self):
        return True

    def nanoseconds(self):
        return self.ended - self.began

    def release(self):
        """Nothing is held."""


class DeviceSpan:
    """Work of a stream of a GPU."""

    __slots__ = ("device", "_index", "_stream", "_first", "_last")
    _spare = {}  # pairs of events by device, to be used again

    def __init__(self, torch, index, stream):
        self.device, self._index, self._stream = (_GPU, str(index)), index, stream
        try:
            self._first, self._last = self._spare.setdefault(index, []).pop()
        except IndexError:
            self._first, self._last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._first.record(stream)

    def end(self):
        self._last.record(self._stream)

    def is_ready(self):
        return self._last.query()

    def nanoseconds(self):
        """Waits for the end of the work."""
        self._last.synchronize()
        return max(round(self._first.elapsed_time(self._last) * 1e6), 0)

    def release(self):
        """The events may be used for other spans."""
        self._spare[self._index].append((self._first, self._last))


def torch_in_use():
    """PyTorch, if this process works with it on a GPU."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return torch if cuda is not None and hasattr(cuda, "is_initialized") and cuda.is_initialized() else None


def _index_of(values):
    """The index of the GPU that holds the first of the values which lies on one."""
    for value in values:
        if isinstance(value, (tuple, list)):
            found = _index_of(value)
        else:
            value = getattr(value, "base", value) if hasattr(value, "block_shape") else value
            device = getattr(value, "device", None)
            found = getattr(device, "index", None) if getattr(device, "type", "cpu") != "cpu" else None
        if isinstance(found, int):
            return found
    return None


def _stream_of(torch, index, handle):
    """The stream of a launch: PyTorch's current one of the device, unless the launch names another."""
    current = torch.cuda.current_stream(index)
    if handle is None or handle == current.cuda_stream or index != torch.cuda.current_device():
        return current
    return torch.cuda.ExternalStream(handle, device=index) if handle else torch.cuda.default_stream(index)


def begin_launch(kernel, arguments, stream):
    """A span for a launch that comes now; None while a graph is captured, since nothing runs then."""
    if kernel is not None and kernel.target != "cuda":
        return HostSpan()
    torch = torch_in_use()
    if torch is None:
        if kernel is None:
            return HostSpan()
        raise RuntimeError(f"profiler: launches of `{kernel.name}` on a GPU are timed by PyTorch's events, and PyTorch is not "
                           "in use here\n  hint: import torch, and launch with its tensors")
    if torch.cuda.is_current_stream_capturing():
        return None
    index = _index_of(arguments)
    index = torch.cuda.current_device() if index is None else index
    return DeviceSpan(torch, index, _stream_of(torch, index, stream))


def begin_scope():
    """A span of whatever is done now, on the current stream; None while a graph is captured."""
    torch = torch_in_use()
    if torch is None:
        return HostSpan()
    if torch.cuda.is_current_stream_capturing():
        return None
    index = torch.cuda.current_device()
    return DeviceSpan(torch, index, torch.cuda.current_stream(index))


def can_end(span):
    """Says whether a span of a scope means something: no graph is being captured, and no GPU has come into use since a clock
    of the host began."""
    torch = torch_in_use()
    if isinstance(span, HostSpan):
        return torch is None
    return torch is not None and not torch.cuda.is_current_stream_capturing()


def describe(kind, index):
    """A device as files of profiles name its properties."""
    if kind != _GPU:
        return {"arch": "native", "bus_width": 0, "clock_rate": 0, "memory_clock_rate": 0, "num_sms": core.threads()}
    found = device_properties(int(index))
    major, minor = found["capability"]
    return {"arch": f"{major}{minor}", "bus_width": found["mem_bus_width"], "clock_rate": found["sm_clock_rate"],
            "memory_clock_rate": found["mem_clock_rate"], "num_sms": found["multiprocessor_count"]}
