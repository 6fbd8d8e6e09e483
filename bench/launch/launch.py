"""Host time of a launch with five and with twenty arguments, and of bound ones, in microseconds: what the calling thread spends, not the kernel.

    python bench/launch/launch.py                    on a GPU: ours, torch.add, and upstream's Triton when it is installed
    python bench/launch/launch.py --driver FAKE.so   without one: ours, on the driver of the tests (libtegula_fake_cuda.so),
                                                     that is without what the real driver takes

The contestants take turns, in batches short enough that the driver's queue never fills. JSON on stdout.
"""
import argparse
import ctypes
import functools
import importlib.util
import json
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BATCH, ROUNDS = 200, 200  # launches; the driver queues about a thousand
KERNEL = """
import {package} as triton
import {package}.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)
"""

NAMES = [f"p{i}" for i in range(10)] + [f"n{i}" for i in range(9)]
KERNEL += f"""

@triton.jit
def twenty_kernel({", ".join(NAMES)}, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(p0 + offsets, {" + ".join(f"tl.load({name} + offsets)" for name in NAMES[1:10])} + {" + ".join(NAMES[10:])})
"""


def kernels_of(package, folder):
    """The same source for each package; both read a kernel's text from its file."""
    path = Path(folder) / f"launch_{package}.py"
    path.write_text(KERNEL.format(package=package))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.add_kernel, module.twenty_kernel


def call_of_twenty(kernel, tensors, numbers):
    """The call with its arguments written out: unpacking lists costs the caller as much as three of them cost the launch."""
    names = [f"a{i}" for i in range(len(tensors) + len(numbers))]
    return eval(f"lambda kernel, {', '.join(names)}: lambda: kernel[(1,)]({', '.join(names)}, BLOCK=128)")(kernel, *tensors, *numbers)


def microseconds(call, finish):
    started = time.perf_counter()
    for _ in range(BATCH):
        call()
    spent = time.perf_counter() - started
    finish()
    return spent / BATCH * 1e6


def measure(contestants, finish):
    for call in contestants.values():
        call()  # compiles and loads
    finish()
    times = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            times[name].append(microseconds(call, finish))
    return {name: {"median": round(statistics.median(all_), 3), "least": round(min(all_), 3),
                   "ninetieth": round(sorted(all_)[int(len(all_) * 0.9)], 3)} for name, all_ in times.items()}


class FakeTensor:
    """Says that it is on a GPU, as fast as a tensor of PyTorch does."""
    is_cpu, is_cuda = False, True
    get_device = int  # int() is 0
    data_ptr = functools.partial(int, 4096)


def on_fake_driver(torch, folder):
    FakeTensor.dtype = torch.float32
    torch._C._cuda_getCurrentRawStream = int
    ctypes.CDLL(os.environ["TEGULA_LIBCUDA"]).fakeCudaQuiet(True)
    return measure(ours([FakeTensor() for _ in range(10)], folder), lambda: None)


def ours(tensors, folder):
    add, twenty = kernels_of("tegula", folder)
    x, y, out, *_ = tensors
    numbers = [3000 + i for i in range(9)]
    return {"tegula": lambda: add[(3,)](x, y, out, 3000, BLOCK=1024),
            "tegula, 20 arguments": call_of_twenty(twenty, tensors, numbers),
            "tegula, bound": add[(3,)].bind(x, y, out, 3000, BLOCK=1024),
            "tegula, bound, 20 arguments": twenty[(1,)].bind(*tensors, *numbers, BLOCK=128)}


def on_gpu(torch, folder):
    tensors = [torch.ones(3000, device="cuda") for _ in range(10)]
    x, y, out, *_ = tensors
    contestants = {**ours(tensors, folder), "torch.add": lambda: torch.add(x, y, out=out)}
    if importlib.util.find_spec("triton"):
        add, twenty = kernels_of("triton", folder)
        contestants["triton"] = lambda: add[(3,)](x, y, out, 3000, BLOCK=1024)
        contestants["triton, 20 arguments"] = call_of_twenty(twenty, tensors, [3000 + i for i in range(9)])
    return measure(contestants, torch.cuda.synchronize)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", help="a driver that is none: libtegula_fake_cuda.so")
    args = parser.parse_args()
    if args.driver:
        os.environ["TEGULA_LIBCUDA"] = str(Path(args.driver).resolve())
    import tempfile

    import torch

    if not args.driver and not torch.cuda.is_available():
        sys.exit("launch.py: PyTorch sees no GPU; --driver measures without one")
    with tempfile.TemporaryDirectory() as folder:
        result = (on_fake_driver if args.driver else on_gpu)(torch, folder)
    where = "no GPU: the driver of the tests" if args.driver else torch.cuda.get_device_name()
    print(json.dumps({"device": where, "torch": torch.__version__, "microseconds": result}, indent=1))


if __name__ == "__main__":
    main()
