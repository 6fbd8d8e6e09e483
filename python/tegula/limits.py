"""Says what a GPU can do at most, from what its driver says of it."""
import subprocess
from contextlib import contextmanager


def _properties(device):
    from .backends.drivers import has_gpu
    from .runtime.driver import driver

    if not has_gpu():
        raise RuntimeError("there is no GPU whose limits could be told")
    return driver.active.utils.get_device_properties(driver.active.get_current_device() if device is None else device)


def get_dram_gbps(device=None):
    """GB/s of the memory: two transfers a clock."""
    found = _properties(device)
    return found["mem_clock_rate"] * found["mem_bus_width"] * 2 / 1e6 / 8


# Multiply-adds a clock of a quarter of a multiprocessor, as upstream counts them: those of capability 8 and of all after
# it, and those before.
_TENSOR = {"float32": 256, "int32": 256, "float16": 512, "bfloat16": 512, "int16": 512, "int8": 1024, "fp8": 1024}
_TENSOR_BEFORE = {"float16": 256}
_PLAIN, _PLAIN_BEFORE = {"float32": 32, "float16": 64, "bfloat16": 64}, {"float32": 32, "float16": 64}


def _tflops(tables, dtype, clock_rate, device):
    found = _properties(device)
    name = (getattr(dtype, "name", None) or str(dtype)).rsplit(".", 1)[-1]
    name = "fp8" if name.startswith(("fp8", "float8")) else {"fp": "float", "bf": "bfloat"}.get(name[:2], name[:2]) + name[2:]
    rates = tables[found["capability"][0] < 8]
    if name not in rates:
        raise RuntimeError("dtype not supported")
    return found["multiprocessor_count"] * 4 * clock_rate * rates[name] * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """TFLOP/s of matrix products at `clock_rate` kHz, as upstream counts them for all GPUs since capability 8."""
    return _tflops((_TENSOR, _TENSOR_BEFORE), dtype, clock_rate, device)


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """TFLOP/s outside of tensor cores at `clock_rate` kHz, counted in the same way."""
    return _tflops((_PLAIN, _PLAIN_BEFORE), dtype, clock_rate, device)


@contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    """Holds the clocks of the first GPU (MHz) for a block, which needs the rights for it. Gives (TFLOP/s, GB/s)."""
    def tell(*options):
        subprocess.check_output(["nvidia-smi", "-i", "0", *options])

    try:
        tell("-pm", "1")
        tell(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        tell(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        for name, wanted in (("sm", ref_sm_clock), ("memory", ref_mem_clock)):
            if abs(nvsmi([f"clocks.current.{name}"])[0] - wanted) >= 10:
                raise RuntimeError(f"the {name} clock is not {wanted} MHz")
        yield get_max_tensorcore_tflops("float16", ref_sm_clock * 1e3), get_dram_gbps()
    finally:
        for options in (("-pm", "0"), ("-rgc",), ("-rmc",)):
            tell(*options)


def cuda_memcheck(**target_kwargs):
    """Upstream runs a test under a checker of memory that drivers have no more."""
    raise NotImplementedError("cuda-memcheck is gone from drivers\n  hint: TEGULA_DEVICE=sim checks each access of a kernel, "
                              "and compute-sanitizer those on a GPU")


def nvsmi(attrs):
    """The attributes as nvidia-smi tells them: ints."""
    text = subprocess.check_output(["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}",
                                    "--format=csv,noheader,nounits"]).decode()
    return [int(number) for number in text.split(",")]
