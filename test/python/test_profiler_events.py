"""triton.profiler: times on a GPU, which events of PyTorch measure. A module stands for them but in the last test."""
import sys
import types

import pytest
from profiles import alone, fill, finish, frame, read, shape  # noqa: F401

import tegula as triton
import tegula.profiler as proton
from tegula.profiler import clocks, sessions


class FakeEvent:
    """Two of them are a millisecond apart for each launch between them."""
    now, done, made = 0.0, True, 0

    def __init__(self, enable_timing):
        assert enable_timing
        FakeEvent.made += 1

    def record(self, stream):
        self.at, self.stream = FakeEvent.now, stream

    def query(self):
        return FakeEvent.done

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.at - self.at


@pytest.fixture
def fake_torch(monkeypatch):
    FakeEvent.now, FakeEvent.done, FakeEvent.made = 0.0, True, 0
    clocks.DeviceSpan._spare.clear()
    stream = types.SimpleNamespace(cuda_stream=7)
    cuda = types.SimpleNamespace(
        Event=FakeEvent, is_initialized=lambda: True, is_capturing=False, current_device=lambda: 0,
        current_stream=lambda index: stream, ExternalStream=lambda handle, device: ("other", handle, device),
        default_stream=lambda index: ("default", index))
    cuda.is_current_stream_capturing = lambda: cuda.is_capturing
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(clocks, "describe", lambda kind, index: {"arch": "90"})
    yield cuda
    clocks.DeviceSpan._spare.clear()


def launch_on_device(index=0, milliseconds=1.0, stream=7):
    """Tells the hooks of a launch."""
    from tegula.runtime.compiled import LazyDict

    told = LazyDict({"name": "k", "function": None, "stream": stream})
    told.kernel = types.SimpleNamespace(name="k", target="cuda")
    told.arguments = (3, (types.SimpleNamespace(device=types.SimpleNamespace(type="cuda", index=index)),))
    triton.knobs.runtime.launch_enter_hook(told)
    FakeEvent.now += milliseconds
    triton.knobs.runtime.launch_exit_hook(told)


def test_events_are_read_when_the_session_ends(fake_torch):
    FakeEvent.done = False
    proton.start()
    for index in (0, 0, 1):
        launch_on_device(index)
    with proton.scope("library", {"flops16": 1e9}):
        FakeEvent.now += 4
    with proton.scope("ours", {"flops16": 1e9}):
        launch_on_device()
    fake_torch.is_capturing = True
    with proton.scope("captured", {"flops16": 1e9}):
        launch_on_device()
    fake_torch.is_capturing = False
    assert len(sessions._pending) == 5
    proton.finalize()
    root, devices = read()
    times = [(child["metrics"]["device_id"], child["metrics"]["time (ns)"]) for child in root["children"][:2]]
    assert times == [("0", 2000000), ("1", 1000000)] and devices == {"CUDA": {"0": {"arch": "90"}, "1": {"arch": "90"}}}
    found = shape(root)
    assert found["library"] == {"<whole scope>": 1} and found["ours"] == {"k": 1} and found["captured"] is None
    assert frame(root, "library", "<whole scope>")["metrics"]["time (ns)"] == 4000000


def test_a_gpu_that_has_failed_leaves_no_scope_open(fake_torch, monkeypatch):
    def fail(index):
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(fake_torch, "current_stream", fail)
    proton.start()
    with pytest.raises(RuntimeError, match="illegal"), proton.scope("s", {"flops": 1}):
        pass
    assert shape(finish()) == {"s": None}


def test_events_are_used_again(fake_torch):
    proton.start()
    for _ in range(2000):
        launch_on_device()
    assert FakeEvent.made <= 2 * sessions._MOST_PENDING
    assert frame(finish(), "k")["metrics"]["time (ns)"] == 2000 * 1000000


def test_streams_of_launches(fake_torch):
    assert clocks._stream_of(fake_torch_module(), 0, 9) == ("other", 9, 0)
    assert clocks._stream_of(fake_torch_module(), 0, 0) == ("default", 0)
    assert clocks._stream_of(fake_torch_module(), 1, 9).cuda_stream == 7


def fake_torch_module():
    return sys.modules["torch"]


def test_launches_on_a_gpu_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    proton.start()
    with pytest.raises(RuntimeError, match="PyTorch is not in use"):
        launch_on_device()


@pytest.mark.gpu
def test_times_on_a_gpu():
    torch = pytest.importorskip("torch")
    a, x = torch.randn(4096, 4096, device="cuda", dtype=torch.float16), torch.zeros(8, device="cuda")
    a @ a
    fill[(1,)](x, 5, B=8)
    torch.cuda.synchronize()
    began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    proton.start(hook="triton")
    began.record()
    with proton.scope("torch", {"flops16": 10 * 2.0 * 4096**3}):
        for _ in range(10):
            a @ a
    ended.record()
    with proton.scope("ours"):
        for _ in range(3):
            fill[(1,)](x, 5, B=8)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fill[(1,)](x, 5, B=8)
    proton.finalize()
    root, devices = read()
    assert shape(root) == {"torch": {"<whole scope>": 1}, "ours": {"fill [5]": 3}}
    took = frame(root, "torch", "<whole scope>")["metrics"]["time (ns)"] / 1e6
    assert began.elapsed_time(ended) / 2 < took < began.elapsed_time(ended) * 1.1
    assert 0 < frame(root, "ours", "fill [5]")["metrics"]["time (ns)"] < 3e6
    assert devices["CUDA"]["0"]["num_sms"] == torch.cuda.get_device_properties(0).multi_processor_count
