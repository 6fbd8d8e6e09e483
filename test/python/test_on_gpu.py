"""Launches on a real GPU: streams, graphs, threads, forks and faults. What a fault leaves unusable is a process of its own."""
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import torch

import tegula
import tegula.language as tl
from kernels.vector_add import add_kernel

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: PyTorch sees none")]
N = 10_000


@pytest.fixture(autouse=True)
def arguments_choose(monkeypatch):
    monkeypatch.setenv("TEGULA_TARGET", "cpu")
    tegula.set_target("cpu")


def add(x, y, out, block=1024, **options):
    return add_kernel[(tegula.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block, **options)


def tensors(device="cuda"):
    x, y = torch.randn(N, device=device), torch.randn(N, device=device)
    return x, y, torch.empty(N, device=device)


def script(code, **environment):
    """A process of its own, which has launched once."""
    text = """
        import os, sys, torch, tegula
        import tegula.language as tl
        from kernels.vector_add import add_kernel
        @tegula.jit
        def far_kernel(x_ptr, offset: tl.int64):
            tl.store(x_ptr + offset, 1.0)
        x = torch.ones(4096, device="cuda")
        def launch():
            return add_kernel[(4,)](x, x, x, 4096, BLOCK=1024)
        def fault():
            far_kernel[(1,)](x, 1 << 44)
        def error_of(action):
            try:
                action()
            except Exception as error:
                return error
            raise AssertionError("nothing was refused")
    """
    examples = Path(__file__).resolve().parents[2] / "examples"
    file = Path(os.environ.get("TMPDIR", "/tmp")) / f"tegula_on_gpu_{os.getpid()}.py"
    file.write_text(textwrap.dedent(text) + textwrap.dedent(code))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{examples}", **environment})
    file.unlink()
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_kernel_knows_what_it_takes():
    x, y, out = tensors()
    kernel = add(x, y, out, num_warps=8)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    assert kernel.target == "cuda" and kernel.n_regs > 0 and kernel.n_spills == 0 and kernel.metadata.num_warps == 8
    major, minor = torch.cuda.get_device_capability()
    assert kernel.arch.startswith(f"sm_{major}{minor}") and kernel.asm["cubin"][1:4] == b"ELF"


def test_pytorchs_profiler_shows_the_kernel_by_its_name():
    from torch.profiler import ProfilerActivity, profile

    x, y, out = tensors()
    add(x, y, out)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(3):
            add(x, y, out)
        torch.cuda.synchronize()
    assert {row.key: row.count for row in seen.key_averages()}.get("add_kernel") == 3


def test_the_device_is_what_pytorch_says():
    properties = tegula.runtime.driver.active.utils.get_device_properties(0)
    known = torch.cuda.get_device_properties(0)
    assert properties["multiprocessor_count"] == known.multi_processor_count
    assert properties["total_memory"] == known.total_memory and properties["warpSize"] == 32
    assert tegula.runtime.driver.active.get_current_target().backend == "cuda"


def test_launches_go_to_the_current_stream():
    x, y, out = tensors()
    add(x, y, out)  # compiled
    x.fill_(1.0)    # PyTorch loads its own kernel at the first use, and waits
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)  # cycles: on the default stream the kernel would be done before
        x.fill_(3.0)
        add(x, y, out)
        event = torch.cuda.Event()
        event.record(stream)
    assert not event.query(), "the launch went to another stream, or waited"
    stream.synchronize()
    torch.testing.assert_close(out, 3.0 + y, rtol=0, atol=0)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "first launch in the capture"])
def test_a_launch_in_a_graph(warm):
    x, y, out = tensors()
    block = 512 if warm else 256
    if warm:
        add(x, y, out, block)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(x, y, out, block)
    for value in (1.0, 2.0):
        x.fill_(value)
        graph.replay()
        torch.testing.assert_close(out, value + y, rtol=0, atol=0)


def test_threads_with_streams_of_their_own():
    failed = []

    def body(index):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for turn in range(20):
                    x, y, out = tensors()
                    add(x, y, out, block=[64, 128, 2048][(index + turn) % 3])
                    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=body, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def test_a_fresh_thread_without_a_context():
    x, y, out = tensors()
    failed = []

    def body():
        try:
            add(x, y, out)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not failed, failed[0]
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one device")
def test_the_arguments_choose_the_device():
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, y, out = tensors(device)
        add(x, y, out)
        torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    assert torch.cuda.current_device() == 0


def test_places_that_do_not_go_together():
    x, y, out = tensors()
    with pytest.raises(ValueError, match="some in the host's memory"):
        add(x, y.cpu(), out)


def test_too_long_a_grid():
    x = torch.ones(8, device="cuda")
    with pytest.raises(tegula.LaunchError, match="65535"):
        add_kernel[(1, 70000)](x, x, x, 8, BLOCK=8)


def test_clocks():
    x, y, out = tensors()
    assert 0 < tegula.testing.do_bench(lambda: add(x, y, out), warmup=2, rep=5) < 10
    assert 0 < tegula.testing.do_bench_cudagraph(lambda: add(x, y, out), rep=2) < 10


def test_a_fork_after_the_first_launch():
    script("""
        launch()
        child = os.fork()
        if child == 0:
            os._exit(0 if "fork" in str(error_of(launch)) else 1)
        assert os.waitpid(child, 0)[1] == 0
        launch()
        torch.cuda.synchronize()
        assert x[0] == 4
    """)


def test_a_fault_shows_when_someone_waits_and_at_the_next_launch():
    script("""
        launch()
        fault()
        assert "illegal" in str(error_of(torch.cuda.synchronize)).lower()
        error = error_of(launch)
        assert isinstance(error, tegula.DriverError) and "cannot be used any more" in str(error), error
        assert "`add_kernel`" in str(error) and "grid (4, 1, 1)" in str(error), error
        os._exit(0)
    """)


def test_a_fault_names_its_kernel_when_launches_wait():
    script("""
        launch()
        error = error_of(fault)
        assert isinstance(error, tegula.DriverError) and "`far_kernel`" in str(error) and "ILLEGAL_ADDRESS" in str(error), error
        os._exit(0)
    """, TEGULA_LAUNCH_BLOCKING="1")


def test_the_drivers_assembler_when_there_is_no_other():
    script("""
        kernel = launch()
        torch.cuda.synchronize()
        assert x[0] == 2 and kernel.n_regs > 0
        assert "tegula-worker" in str(error_of(lambda: kernel.asm["cubin"]))
    """, TEGULA_WORKER="/no/such/tegula-worker", TEGULA_DISK_CACHE="0")  # there it may lie assembled


def test_the_command_line_copies_arrays_there_and_back(tmp_path):
    import shutil

    import numpy as np

    tool = shutil.which("tegula")
    if tool is None:
        pytest.skip("the command line is not on the PATH")
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    source = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "vector_add.py"
    done = subprocess.run([tool, "run", f"{source}::add_kernel", "--target", "cuda", "--grid", "10", "--arg",
                           f"x_ptr=@{tmp_path}/x.npy", "--arg", f"y_ptr=@{tmp_path}/x.npy", "--arg", f"out_ptr=new:f32[{N}]",
                           "--arg", f"n={N}", "--arg", "BLOCK=1024", "--save", f"out_ptr={tmp_path}/out.npy"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x + x)
