"""Time on the GPU, in three ways; each answers a list of seconds of one call.

`events`   between two events around one call, the L2 cache flushed before by writing a large buffer
`graph`    device time: many calls in a CUDA graph, over rotating inputs, divided by their number
`host`     what the calling thread spends on a launch, the queue never full
"""
import time

import torch

FLUSH_BYTES = 256 << 20
SYNCHRONIZE_AFTER = 200  # launches; the driver queues about a thousand


class Clock:
    device = "cuda"

    def __init__(self):
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=self.device)
        self.cache_bytes = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)

    def finish(self):
        torch.cuda.synchronize()

    def events(self, call, count):
        pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, end in pairs:
            self.flush.zero_()  # takes longer than the host needs to enqueue the call
            start.record()
            call()
            end.record()
        self.finish()
        return [start.elapsed_time(end) * 1e-3 for start, end in pairs]

    def record(self, calls):
        """A graph of all the calls, in order. They must have run before: nothing compiles while recording."""
        graph = torch.cuda.CUDAGraph()
        self.finish()
        with torch.cuda.graph(graph):
            for call in calls:
                call()
        graph.replay()
        self.finish()
        return graph

    def graph(self, graph, launches, count):
        seconds = []
        for _ in range(count):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            self.finish()
            seconds.append(start.elapsed_time(end) * 1e-3 / launches)
        return seconds

    def host(self, call):
        self.finish()
        started = time.perf_counter()
        for _ in range(SYNCHRONIZE_AFTER):
            call()
        seconds = (time.perf_counter() - started) / SYNCHRONIZE_AFTER
        self.finish()
        return seconds


def copy_bandwidth(clock, size=2 << 30):
    """Bytes a second of a device-to-device copy, those read and those written."""
    source = torch.empty(size // 4, dtype=torch.float32, device=clock.device).normal_()
    target = torch.empty_like(source)
    target.copy_(source)
    seconds = sorted(clock.events(lambda: target.copy_(source), 15))
    return 2 * size / seconds[len(seconds) // 2]
