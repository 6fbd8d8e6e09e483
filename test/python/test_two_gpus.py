"""Two GPUs of one host: each has its own code, maps of copies and scratch memory, and threads may use both at once."""
import socket
import subprocess
import sys
import textwrap
import threading

import pytest
import torch

import tegula
import tegula.language as tl
from kernels.attention import attention_kernel
from kernels.matmul import matmul_kernel
from kernels.vector_add import add_kernel
from tegula.tools.tensor_descriptor import TensorDescriptor

COUNT = torch.cuda.device_count() if torch.cuda.is_available() else 0
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(COUNT < 2, reason="fewer than two CUDA devices")]
BOTH = ["cuda:0", "cuda:1", "cuda:0"]


@pytest.fixture(autouse=True)
def arguments_choose(monkeypatch):
    monkeypatch.setenv("TEGULA_TARGET", "cpu")
    tegula.set_target("cpu")


def multiply(device, size=1024):
    """A product whose factors come in boxes, through maps that lie in the device's memory."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.float16) for _ in range(2))
    c = torch.empty(size, size, device=device, dtype=torch.float16)
    matmul_kernel[(size // 128 * (size // 256),)](a, b, c, size, size, size, *a.stride(), *b.stride(), *c.stride(), BLOCK_M=128,
                                                  BLOCK_N=256, BLOCK_K=64, GROUP=8, num_warps=8, num_stages=3)
    return c, a @ b


def check(pair):
    ours, expected = pair
    torch.testing.assert_close(ours.float(), expected.float(), rtol=1e-2, atol=0.1)


def test_products_in_boxes_on_each_device():
    for device in BOTH:
        check(multiply(device))
    assert torch.cuda.current_device() == 0


def test_attention_on_each_device():
    for device in BOTH:
        q, k, v = (torch.randn(4, 1024, 128, device=device, dtype=torch.float16) for _ in range(3))
        out = torch.empty_like(q)
        attention_kernel[(8, 4)](q, k, v, out, 1024, 1024, 128**-0.5, HEAD=128, BLOCK_Q=128, BLOCK_K=128, CAUSAL=True, num_warps=8)
        expected = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
        torch.testing.assert_close(out, expected, rtol=1e-2, atol=1e-2)


@tegula.jit
def copy_by_descriptor(source, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tl.store(out + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :], source.load([0, 0]))


@tegula.jit
def copy_by_made_descriptor(source, out, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    made = tl.make_tensor_descriptor(source, shape=[rows, COLUMNS], strides=[COLUMNS, 1], block_shape=[ROWS, COLUMNS])
    there = tl.make_tensor_descriptor(out, shape=[rows, COLUMNS], strides=[COLUMNS, 1], block_shape=[ROWS, COLUMNS])
    there.store([0, 0], made.load([0, 0]))


def test_descriptors_on_each_device():
    for device in BOTH:
        tegula.set_allocator(lambda size, alignment, stream: torch.empty(size, device=device, dtype=torch.int8))
        x = torch.randn(64, 64, device=device)
        out = torch.zeros_like(x)
        copy_by_descriptor[(1,)](TensorDescriptor.from_tensor(x, [64, 64]), out, ROWS=64, COLUMNS=64)
        torch.testing.assert_close(out, x, rtol=0, atol=0)
        made = torch.zeros_like(x)
        copy_by_made_descriptor[(1,)](x, made, 64, ROWS=64, COLUMNS=64)
        torch.testing.assert_close(made, x, rtol=0, atol=0)


def test_threads_with_a_device_each_that_compile_at_once():
    failed, start = [], threading.Barrier(4)

    def body(index):
        try:
            torch.cuda.set_device(index % COUNT)
            start.wait()
            for turn in range(10):
                block = 32 << (index + turn) % 4
                x, y = (torch.randn(10_000, device="cuda") for _ in range(2))
                out = torch.empty_like(x)
                add_kernel[(tegula.cdiv(10_000, block),)](x, y, out, 10_000, BLOCK=block)
                torch.testing.assert_close(out, x + y, rtol=0, atol=0)
                check(multiply(torch.device("cuda", torch.cuda.current_device()), size=512))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=body, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def test_a_graph_on_the_second_device():
    with torch.cuda.device(1):
        x, y = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
        out = torch.empty_like(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):  # PyTorch's own is the first device's, once that has had a graph
            add_kernel[(4,)](x, y, out, 4096, BLOCK=1024)
        for value in (1.0, 2.0):
            x.fill_(value)
            graph.replay()
            torch.testing.assert_close(out, value + y, rtol=0, atol=0)


@tegula.autotune([tegula.Config({"BLOCK": block}) for block in (256, 1024)], key=["n"])
@tegula.jit
def tuned_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n) + tl.load(y_ptr + at, at < n), at < n)


def test_tuning_where_the_arguments_are():
    for device, count in (("cuda:1", 5000), ("cuda:0", 6000), ("cuda:1", 6000)):
        x, y = torch.randn(count, device=device), torch.randn(count, device=device)
        out = torch.empty_like(x)
        tuned_add[lambda meta: (tegula.cdiv(count, meta["BLOCK"]),)](x, y, out, count)
        torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        assert 0 < tegula.testing.do_bench(lambda: tuned_add[(20,)](x, y, out, count), warmup=2, rep=5) < 10


@tegula.jit
def wait_long(x_ptr, ROUNDS: tl.constexpr):
    value = tl.load(x_ptr)
    for _ in range(ROUNDS):
        value = value * 1.0001 + 0.5
    tl.store(x_ptr, value)


def test_the_clock_is_that_of_the_arguments_device():
    """A kernel of milliseconds: events of the other device would tell of its launch alone."""
    x = torch.ones(1, device="cuda:1")

    def launch():
        wait_long[(1,)](x, ROUNDS=1_000_000)

    launch()
    assert tegula.testing.stopwatch([x]).milliseconds(launch) > 1
    with torch.cuda.device(1):
        assert tegula.testing.stopwatch([], is_on_gpu=True).milliseconds(launch) > 1


@tegula.jit
def sum_of_peers(addresses, out_ptr, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for peer in range(COUNT):
        pointer = tl.load(addresses + peer).to(tl.pointer_type(tl.float32))
        total += tl.load(pointer + at, at < n, other=0.0)
    tl.store(out_ptr + at, total, at < n)


def test_memory_of_the_other_device():
    if not torch.cuda.can_device_access_peer(0, 1):
        pytest.skip("the devices cannot read each other's memory")
    parts = [torch.randn(10_000, device=device) for device in ("cuda:0", "cuda:1")]
    parts[1].copy_(parts[0])  # with it PyTorch lets the devices read each other
    parts[0].copy_(parts[1])
    parts[0].add_(1.0)
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    for device in BOTH:
        addresses = torch.tensor([part.data_ptr() for part in parts], device=device)
        out = torch.empty(10_000, device=device)
        sum_of_peers[(10,)](addresses, out, 10_000, COUNT=2, BLOCK=1024)
        torch.testing.assert_close(out.cpu(), parts[0].cpu() + parts[1].cpu(), rtol=0, atol=0)


def test_tensors_of_two_devices():
    x, y = torch.ones(64, device="cuda:0"), torch.ones(64, device="cuda:1")
    with pytest.raises(ValueError, match="on two devices"):
        add_kernel[(1,)](x, y, x, 64, BLOCK=64)


@tegula.jit
def fill_from_address(address, value, BLOCK: tl.constexpr):
    tl.store(address.to(tl.pointer_type(tl.float32)) + tl.arange(0, BLOCK), value)


def test_a_call_without_tensors_goes_where_pytorch_works():
    for index in (1, 0):
        with torch.cuda.device(index):
            out = torch.zeros(64, device="cuda")
            fill_from_address[(1,)](out.data_ptr(), 2.5, BLOCK=64)
            assert (out == 2.5).all()


ALL_REDUCE = """
    import os, sys
    import torch, torch.distributed as dist, torch.distributed._symmetric_memory as symmetric
    import tegula as triton
    import tegula.language as tl

    @triton.jit
    def meet(pads, RANK: tl.constexpr, WORLD: tl.constexpr):
        at = tl.program_id(0) * WORLD
        pads = pads.to(tl.pointer_type(tl.uint64))
        mine = tl.load(pads + RANK).to(tl.pointer_type(tl.uint32)) + at
        tl.debug_barrier()
        for peer in tl.static_range(WORLD):
            theirs = tl.load(pads + peer).to(tl.pointer_type(tl.uint32)) + at
            while tl.atomic_cas(theirs + RANK, 0, 1, sem="release", scope="sys") != 0:
                pass
        for peer in tl.static_range(WORLD):
            while tl.atomic_cas(mine + peer, 1, 0, sem="acquire", scope="sys") != 1:
                pass
        tl.debug_barrier()

    @triton.jit
    def sum_over_ranks(buffers, pads, out, n, RANK: tl.constexpr, WORLD: tl.constexpr, BLOCK: tl.constexpr):
        meet(pads, RANK, WORLD)
        buffers = buffers.to(tl.pointer_type(tl.uint64))
        for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            at = start + tl.arange(0, BLOCK)
            total = tl.zeros([BLOCK], tl.float32)
            for peer in tl.static_range(WORLD):
                part = tl.load(buffers + peer).to(tl.pointer_type(tl.bfloat16))
                total += tl.load(part + at, at < n, other=0.0).to(tl.float32)
            tl.store(out + at, total, at < n)
        meet(pads, RANK, WORLD)

    @triton.jit
    def wait_for_all(pads, RANK: tl.constexpr, WORLD: tl.constexpr):
        meet(pads, RANK, WORLD)

    def main(rank, world):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
        n = 100_000
        part = symmetric.empty(n, dtype=torch.bfloat16, device="cuda")
        memory = symmetric.rendezvous(part, dist.group.WORLD)
        ranks = dict(RANK=rank, WORLD=world)
        for turn in range(20):
            part.copy_(torch.randn(n, device="cuda", generator=torch.Generator("cuda").manual_seed(100 * turn + rank)))
            expected = part.float()
            dist.all_reduce(expected)
            out = torch.empty(n, device="cuda")
            sum_over_ranks[(16,)](memory.buffer_ptrs_dev, memory.signal_pad_ptrs_dev, out, n, BLOCK=1024, num_warps=4, **ranks)
            torch.testing.assert_close(out, expected, rtol=0, atol=0)
            wait_for_all[(4,)](memory.signal_pad_ptrs_dev, num_warps=1, **ranks)
        torch.cuda.synchronize()
        dist.destroy_process_group()

    if __name__ == "__main__":
        torch.multiprocessing.spawn(main, args=(2,), nprocs=2)
"""


def test_a_sum_over_processes_through_symmetric_memory(tmp_path):
    """Two processes with a GPU each read each other's memory; addresses come as numbers, and one kernel gets nothing else."""
    file = tmp_path / "all_reduce.py"
    file.write_text(textwrap.dedent(ALL_REDUCE))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run([sys.executable, file, str(port)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
