"""Timing and comparing, as kernels' own tests and benchmarks want it."""
import functools
import gc
import math
import os
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager

from .benchmarks import Benchmark, Mark, perf_report
from .limits import (cuda_memcheck, get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops, nvsmi, set_gpu_clock)


def _quantile(ordered, q):
    """Linear interpolation between the two nearest ranks."""
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class _HostClock:
    """Kernels that have run when their launch returns."""

    def flush(self):
        """There is no cache of a device."""

    def milliseconds(self, fn):
        start = time.perf_counter()
        fn()
        return (time.perf_counter() - start) * 1e3

    def each(self, fn, count, before):
        times = []
        for _ in range(count):
            before()
            times.append(self.milliseconds(fn))
        return times

    def of_a_repetition(self, fn, count):
        return sum(self.each(fn, count, lambda: None)) / count


class _DeviceClock:
    """Kernels on a GPU: PyTorch's events around each, the cache overwritten before it. `device` is the GPU, None the current one."""

    def __init__(self, torch, device=None):
        self.torch, self.device = torch, device
        self.cache = None

    def _events(self):
        return [self.torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def flush(self):
        if self.cache is None:
            self.cache = self.torch.empty(64 << 20, dtype=self.torch.int, device="cuda")
        self.cache.zero_()

    def milliseconds(self, fn):
        return self.each(fn, 1, lambda: None)[0]

    def each(self, fn, count, before):
        """All are queued before the first is waited for: what the host does between them is not measured."""
        with self.torch.cuda.device(self.device):  # events are the current device's
            pairs = [self._events() for _ in range(count)]
            for start, stop in pairs:
                before()
                self.flush()
                start.record()
                fn()
                stop.record()
            self.torch.cuda.synchronize()
        return [start.elapsed_time(stop) for start, stop in pairs]

    def of_a_repetition(self, fn, count):
        """The mean with all that measuring adds: overwriting the cache takes longer than a small kernel."""
        start, stop = self._events()
        start.record()
        for _ in range(count):
            self.flush()
            fn()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / count


def _gpu():
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def stopwatch(arguments, is_on_gpu=False):
    """The clock for launches with these arguments: of the GPU on which one of them lies; if the launches go to a GPU and none says to
    which, of the current one; else the host's."""
    torch = _gpu()
    devices = [value.device for value in arguments if getattr(value, "is_cuda", False) is True] if torch is not None else []
    if devices or (torch is not None and is_on_gpu):
        return _DeviceClock(torch, devices[0] if devices else None)
    return _HostClock()


def is_device_clock(clock):
    return isinstance(clock, _DeviceClock)


def summary(times, quantiles, return_mode):
    ordered = sorted(times)
    if quantiles is not None:
        found = [_quantile(ordered, q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    return {"all": times, "min": ordered[0], "max": ordered[-1], "median": _quantile(ordered, 0.5),
            "mean": sum(times) / len(times)}[return_mode]


def _check_mode(return_mode):
    if return_mode not in ("mean", "min", "max", "median", "all"):
        raise ValueError(f"return_mode is `{return_mode}`; it is mean, min, max, median or all")


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of a call of `fn`: its mean (or min, max, median, all), or quantiles.
    `warmup` and `rep` are milliseconds that all repetitions take together. Where PyTorch has a GPU, its events measure, and the cache
    is overwritten before each call."""
    _check_mode(return_mode)
    torch = _gpu()
    clock = _DeviceClock(torch) if torch else _HostClock()
    fn()
    estimate = max(clock.of_a_repetition(fn, 5), 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()

    def clear():
        for tensor in grad_to_none or ():
            tensor.grad = None

    return summary(clock.each(fn, max(1, int(rep / estimate)), clear), quantiles, return_mode)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """The same for a graph of many calls: what the host costs is not in it, and the cache stays warm."""
    _check_mode(return_mode)
    torch = _gpu()
    if torch is None:
        raise RuntimeError("do_bench_cudagraph measures on a GPU, and PyTorch is not loaded or has none")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        fn()
        for tensor in grad_to_none or ():
            tensor.detach_()
            tensor.requires_grad_(True)
            tensor.grad = None

        def graph_of(count):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(count):
                    for tensor in grad_to_none or ():
                        tensor.grad = None
                    fn()
            return graph

        def milliseconds(graph):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            stop.record()
            torch.cuda.synchronize()
            return start.elapsed_time(stop)

        few = graph_of(5)
        milliseconds(few)
        count = max(1, int(rep / max(milliseconds(few) / 5, 1e-4)))
        graph = graph_of(count)
        times = [milliseconds(graph) / count for _ in range(10)]
    return summary(times, quantiles, return_mode)


def do_bench_proton(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds that the kernels of a call of `fn` take, as the profiler times them: launches of this package's kernels,
    and nothing else of the call."""
    from . import profiler

    _check_mode(return_mode)
    torch = _gpu()
    clock = _DeviceClock(torch) if torch else _HostClock()
    fn()
    estimate = max(clock.of_a_repetition(fn, 5), 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    prefix = f"do_bench_proton.{uuid.uuid4().hex}."
    with tempfile.TemporaryDirectory() as folder:
        session = profiler.start(os.path.join(folder, "profile"))
        if session is None:
            raise RuntimeError("do_bench_proton: no session can be started: the profiler is switched off, or the script runs "
                               "under the command `proton`")
        try:
            for number in range(max(1, int(rep / estimate))):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                clock.flush()
                with profiler.scope(f"{prefix}{number:08d}"):
                    fn()
            profiler.deactivate(session, flushing=True)
            times = sorted(_times_below(profiler.data.get(session)[0], prefix))
        finally:
            profiler.finalize(session)
    if not times:
        raise RuntimeError("do_bench_proton times kernels of this package, and the function launches none\n"
                           "  hint: do_bench times all that a call does")
    return summary([time for _, time in times], quantiles, return_mode)


def _times_below(frame, prefix):
    """(name, milliseconds) of each scope whose name begins so."""
    name = frame["frame"]["name"]
    if name.startswith(prefix):
        if nanoseconds := _nanoseconds(frame):
            yield name, nanoseconds / 1e6
        return
    for child in frame["children"]:
        yield from _times_below(child, prefix)


def _nanoseconds(frame):
    return frame["metrics"].get("time (ns)", 0) + sum(map(_nanoseconds, frame["children"]))


def do_bench_cudagraph_proton(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    raise NotImplementedError("do_bench_cudagraph_proton: the profiler sees nothing of a CUDA graph here\n"
                              "  hint: do_bench_cudagraph, or do_bench_proton")


@contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """`torch.cuda.graph(...)` in which no object is collected: an end of a kernel unloads its code, which breaks a capture."""
    import torch

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if was_enabled:
            gc.enable()


@functools.lru_cache(maxsize=None)
def _cublas_of(device):
    import torch

    from ._C.libtriton.nvidia import cublas as module

    return module.CublasLt(torch.empty(0, dtype=torch.uint8, device=f"cuda:{device}"))


def cublas():
    """cuBLAS on PyTorch's current GPU."""
    torch = _gpu()
    if torch is None:
        raise RuntimeError("testing.cublas: there is no GPU, or PyTorch is not loaded")
    return _cublas_of(torch.cuda.current_device())


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises AssertionError unless the arrays agree: |x - y| <= atol + rtol * |y|."""
    import numpy

    def array(value):
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            return value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
        return numpy.asarray(value)

    x, y = array(x), array(y)
    atol = atol(x.dtype) if callable(atol) else 1e-2 if atol is None else atol
    rtol = rtol(x.dtype) if callable(rtol) else 0.0 if rtol is None else rtol
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, err_msg=err_msg, equal_nan=True)
