"""Launches on a GPU as far as they show without one: on a driver that writes its calls down (test/unit/drivers_cuda/fake).
Each test is a process of its own: a process opens one driver."""
import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture
def script(build_dir):
    library = build_dir / "lib" / "libtegula_fake_cuda.so"
    if not library.exists():
        pytest.skip(f"the driver for tests is not built: {library}")

    def run(code, **environment):
        text = "from fake_gpu import *\n" + textwrap.dedent(code)
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TEGULA_LIBCUDA": str(library), "PYTHONPATH": path, **environment})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def tool(tmp_path):
    """An assembler that does what the test says."""

    def make(body):
        path = tmp_path / "ptxas"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def test_the_arguments_choose_target_and_device(script):
    script("""
        first = launch()
        second = launch(OnGpu(1), OnGpu(1), OnGpu(1))
        assert first is second and first.target == "cuda" and first.arch == "sm_90a", "one architecture, one kernel"
        launches = [call for call in calls() if call.startswith("launch")]
        assert "on 0 grid 4,1,1 block 128" in launches[0] and "on 1 grid" in launches[1], launches
        assert calls().count("libraryLoad") == 1
    """)


def test_launches_go_to_the_current_stream_of_pytorch(script):
    script("""
        fake_torch()
        launch(OnGpu(1), OnGpu(1), OnGpu(1))
        assert calls()[-1].endswith("stream 4097"), calls()
    """)


def test_a_compiled_kernel_is_launched_again_where_its_arguments_are(script):
    script("""
        fake_torch()
        kernel = launch()
        kernel[(2, 1, 1)](OnGpu(1), OnGpu(1), OnGpu(1), 60, None)
        assert "on 1 grid 2,1,1" in calls()[-1] and calls()[-1].endswith("stream 4097"), calls()
        kernel[(2,)](OnGpu(1), OnGpu(1), OnGpu(1), 60, None, stream=77)
        assert calls()[-1].endswith("stream 77"), calls()
        nothing_kernel.target = "cuda"
        numbers = nothing_kernel[(3,)](5)
        numbers[(5,)](6)
        assert "on 0 grid 5,1,1" in calls()[-1] and calls()[-1].endswith("stream 4096"), calls()
        assert isinstance(error_of(lambda: kernel[(2,)](MEMORY, MEMORY, MEMORY, 60, None)), tegula.LaunchError)
        on_cores = add_kernel[(1,)](MEMORY, MEMORY, MEMORY, 60, BLOCK=64)
        assert "compiled for the target `cpu`" in str(error_of(lambda: on_cores[(1,)](OnGpu(), OnGpu(), OnGpu(), 60, None)))
    """)


def test_a_kernel_without_pointers_runs_on_the_current_device(script):
    script("""
        nothing_kernel.target = "cuda"
        nothing_kernel[(3,)](5)
        assert "on 0 grid 3,1,1" in calls()[-1], calls()
    """)


def test_numbers_alone_go_where_pytorch_works(script):
    """A kernel may take addresses as numbers, of other processes' memory, say."""
    script("""
        for is_initialized in (False, True, True):
            fake_torch()
            sys.modules["torch.cuda"] = types.SimpleNamespace(is_initialized=lambda: is_initialized)
            before = len(calls())
            nothing_kernel[(3,)](5)
            nothing_kernel[(3,)].bind(5)()
            assert sum(call.startswith("launch") for call in calls()[before:]) == 2 * is_initialized, calls()
            assert all(call.endswith("stream 4096") for call in calls()[before:] if call.startswith("launch")), calls()
        assert nothing_kernel.warmup(5, grid=(1,)).target == "cuda"
        nothing_kernel.target = "interp"
        before = len(calls())
        nothing_kernel[(3,)](5)
        assert len(calls()) == before, "a target that is named"
    """)


def test_a_kernel_that_another_process_compiled(script, tmp_path):
    """As Inductor's workers hand it over; its code is loaded here and launched with the arguments of its compile."""
    script("""
        import pickle
        from tegula.backends.compiler import GPUTarget
        from tegula.compiler import ASTSource, CompiledKernel
        pointers = {name: "*fp32" for name in ("x_ptr", "y_ptr", "out_ptr")}
        source = ASTSource(add_kernel, {**pointers, "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})
        made = tegula.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
        state = pickle.dumps({name: value for name, value in vars(made).items() if name != "metadata"})
        other = CompiledKernel.__new__(CompiledKernel)
        other.__dict__.update(pickle.loads(state), metadata=made.metadata, run=None)
        other._init_handles()
        other.run(5, 1, 1, 77, other.function, other.packed_metadata, None, None, None, OnGpu(), OnGpu(), None, -3, 64)
        assert calls()[-1].startswith("launch add_kernel on 0 grid 5,1,1 block 64") and calls()[-1].endswith("stream 77"), calls()
        driver.fakeCudaParameter.restype = ctypes.c_uint64
        seen = [driver.fakeCudaParameter(i) for i in range(6)]
        assert seen == [MEMORY.ctypes.data, MEMORY.ctypes.data, 0, 2**64 - 3, 0, 0], seen
        assert made.metadata.global_scratch_size == made.metadata.profile_scratch_size == 0
    """, FAKE_CUDA_PARAMETERS="6", TRITON_CACHE_DIR=str(tmp_path))


def test_num_warps_is_the_size_of_a_block(script):
    script("""
        kernel = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=64, num_warps=8)
        assert "block 256" in calls()[-1] and kernel.metadata.num_warps == 8
    """)


def test_a_cooperative_grid_is_launched_as_one(script):
    script("""
        kernel = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=64, launch_cooperative_grid=True)
        assert "cooperative" in calls()
        error = error_of(lambda: add_kernel[(300,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=64, launch_cooperative_grid=True))
        assert isinstance(error, tegula.LaunchError) and "grid of 300 programs is cooperative" in str(error), error
        before = calls().count("cooperative")
        assert launch() is not kernel and calls().count("cooperative") == before
    """)


def test_maxnreg_bounds_the_registers_of_a_thread(script):
    script("""
        free = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=4096)
        bound = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=4096, maxnreg=24)
        assert bound is not free and bound.n_regs <= 24 < free.n_regs, (bound.n_regs, free.n_regs)
        same = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=4096, maxnreg=None)
        assert same is free
        x = np.ones(64, "f4")
        assert add_kernel[(1,)](x, x, x, 64, BLOCK=64, maxnreg=24) is add_kernel[(1,)](x, x, x, 64, BLOCK=64)
        assert error_of(lambda: add_kernel[(1,)](x, x, x, 64, BLOCK=64, maxnreg="few")).kind == "OptionValue"
    """)


def test_maxnreg_is_no_wish_for_registers(script):
    script("""
        free = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=4096)
        bound = add_kernel[(4,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=4096, maxnreg=255)
        assert bound.n_regs == free.n_regs, (bound.n_regs, free.n_regs)
        assert ".maxnreg 255" in bound.asm["ptx"] and ".maxnreg" not in free.asm["ptx"]
    """)


def test_the_compiled_kernel_says_what_it_takes(script):
    script("""
        kernel = launch()
        assert kernel.n_regs > 0 and kernel.n_spills == 0 and kernel.metadata.shared >= 0
        assert kernel.metadata.name == kernel.name == "add_kernel" and "add_kernel" in kernel.asm["ptx"]
        assert kernel.asm["cubin"][1:4] == b"ELF" and {"ttir", "ttgir", "llir"} <= set(kernel.asm)
        assert "sass" not in kernel.asm
        kernel[(2,)](OnGpu(), OnGpu(), OnGpu(), 60, BLOCK=64)
        assert "grid 2,1,1" in calls()[-1]
    """)


def test_profilers_find_names_and_lines(script):
    """The kernel's own name, and a table of lines of its file in the text and in the code."""
    script("""
        import re
        from kernels import vector_add
        kernel = launch()
        ptx, cubin = kernel.asm["ptx"], kernel.asm["cubin"]
        files = dict(re.findall(r'[.]file\\s+(\\d+) "([^"]*)"', ptx))
        places = set(re.findall(r"[.]loc\\s+(\\d+) (\\d+)", ptx))
        text = open(vector_add.__file__).read().splitlines()
        stores = {(number, str(line + 1)) for number, name in files.items() if name.endswith("vector_add.py")
                  for line, words in enumerate(text) if "tl.store" in words}
        assert stores and stores <= places, (files, places)
        assert b".debug_line" in cubin and b"vector_add.py" in cubin and b".text.add_kernel" in cubin
    """)


@pytest.mark.parametrize("tensors, words", [
    ("OnGpu(), MEMORY, OnGpu()", "some arguments are on the GPU and some in the host's memory"),
    ("OnGpu(0), OnGpu(1), OnGpu(0)", "on two devices, cuda:0 and cuda:1"),
])
def test_arguments_in_two_places(script, tensors, words):
    script(f"""
        error = error_of(lambda: launch({tensors}))
        assert isinstance(error, tegula.LaunchError) and {words!r} in str(error), error
    """)


def test_an_empty_tensor_of_the_host_goes_beside_tensors_on_the_gpu(script):
    """`torch.empty(0)` in the place of a mask that is not there: it has no memory that a kernel could read."""
    script("""
        class OnHost(OnGpu):
            is_cpu, is_cuda, device, address, elements = True, False, "cpu", 0, 0
            data_ptr = lambda self: self.address
            numel = lambda self: self.elements

        for _ in range(2):
            launch(OnGpu(1), OnHost(), OnGpu(1))
            assert "on 1 grid" in calls()[-1], calls()
        full = OnHost()
        full.address, full.elements = MEMORY.ctypes.data, 64
        error = error_of(lambda: launch(OnGpu(1), full, OnGpu(1)))
        assert "some in the host's memory" in str(error), error
        before = len(calls())
        add_kernel[(1,)](full, OnHost(), full, 0, BLOCK=64)
        add_kernel[(1,)](OnHost(), OnHost(), OnHost(), 0, BLOCK=64)
        assert len(calls()) == before, "without one on the GPU they stay on the host"
    """)


def test_targets_that_cannot_reach_the_arguments(script):
    script("""
        add_kernel.target = "interp"
        assert "works on the host's memory" in str(error_of(launch))
        add_kernel.target = "cuda"
        assert "in the host's memory" in str(error_of(lambda: launch(MEMORY, MEMORY, MEMORY)))
    """)


def test_a_fault_names_kernel_grid_and_arguments(script):
    script("""
        driver.fakeCudaFail(b"cuLaunchKernel", 700)
        error = error_of(launch)
        assert isinstance(error, tegula.DriverError) and isinstance(error, RuntimeError) and error.kind == "DriverFailed"
        for part in ("CUDA_ERROR_ILLEGAL_ADDRESS", "`add_kernel`", "grid (4, 1, 1)", "n=int32 60", "out_ptr=pointer<fp32> 0x"):
            assert part in str(error), (part, str(error))
    """)


def test_a_fault_shows_at_its_launch_when_launches_wait(script):
    script("""
        driver.fakeCudaFail(b"cuStreamSynchronize", 700)
        assert "the kernel itself: CUDA_ERROR_ILLEGAL_ADDRESS" in str(error_of(launch))
    """, TEGULA_LAUNCH_BLOCKING="1")


def test_a_grid_that_the_hardware_does_not_have(script):
    script("""
        error = error_of(lambda: launch(grid=(1, 70000)))
        assert error.kind == "LaunchFailed" and "at most 65535" in str(error)
    """)


def test_no_device(script):
    script("""
        error = error_of(launch)
        assert error.kind == "TargetNeedsDevice" and isinstance(error, tegula.DriverError), error
        assert "CUDA_ERROR_NO_DEVICE" in str(error) and tegula.runtime.driver.active.get_current_target().backend == "cpu"
        x = np.ones(64, "f4")
        launch(x, x, x)
        assert x[0] == 2, "the cores work on"
    """, FAKE_CUDA_DEVICES="0")


def test_a_fork_after_the_first_launch(script):
    script("""
        launch()
        child = os.fork()
        if child == 0:
            os._exit(0 if "fork" in str(error_of(launch)) else 1)
        assert os.waitpid(child, 0)[1] == 0
        launch()
    """)


def test_first_launches_from_many_threads(script):
    script("""
        import threading
        failed = []
        def body(index):
            try:
                launch(*[OnGpu(index % 2)] * 3)
            except Exception as error:
                failed.append(error)
        threads = [threading.Thread(target=body, args=(i,)) for i in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not failed and sum(call.startswith("launch") for call in calls()) == 16, failed
    """)


def test_an_assembler_that_refuses(script, tool):
    script("""
        from tegula.runtime.errors import PTXASError
        error = error_of(launch)
        assert error.kind == "ToolchainFailed" and isinstance(error, PTXASError) and ".ptx" in str(error), error
    """, TRITON_PTXAS_PATH=tool("echo 'ptxas error : no' >&2; exit 1"))


def test_a_kernel_that_needs_more_than_there_is(script, tool):
    script("""
        error = error_of(launch)
        assert error.kind == "TargetTooSmall" and isinstance(error, tegula.OutOfResources), error
    """, TEGULA_PTXAS=tool("echo 'ptxas error : Entry function uses too much shared data' >&2; exit 1"))


def test_what_scripts_ask_of_the_driver(script):
    script("""
        fake_torch(current_device=1)
        active = tegula.runtime.driver.active
        assert active.get_current_target() == tegula.backends.compiler.GPUTarget("cuda", 90, 32)
        assert active.get_current_device() == 1 and str(active.get_active_torch_device()) == "cuda:1"
        properties = active.utils.get_device_properties(0)
        assert properties["multiprocessor_count"] == 132 and properties["max_shared_mem"] == 232448
        assert properties["warpSize"] == 32 and properties["max_num_regs"] > 0
    """)


def test_a_launch_costs_microseconds(build_dir):
    library = build_dir / "lib" / "libtegula_fake_cuda.so"
    if not library.exists():
        pytest.skip(f"the driver for tests is not built: {library}")
    script = HERE.parents[1] / "bench" / "launch" / "launch.py"
    done = subprocess.run([sys.executable, script, "--driver", library], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["microseconds"]["tegula"]
    assert measured["least"] < 10, measured  # 1.6 on the machine that it was written on


def test_stand_ins_for_tensors_say_their_device(script):
    script("""
        class Buffer:
            dtype = np.dtype("f4")

            def __init__(self, device):
                self.device = device

            def data_ptr(self):
                return MEMORY.ctypes.data

        launch(Buffer("cuda:1"), Buffer("cuda:1"), Buffer("cuda:1"))
        assert "on 1 grid" in calls()[-1], calls()
        count = len(calls())
        launch(Buffer("cpu"), Buffer("cpu"), Buffer("cpu"), n=0)
        assert len(calls()) == count, "the cores"
    """)


def test_addresses_that_say_nothing_are_where_pytorch_works(script):
    script("""
        class Address:
            dtype = np.dtype("f4")

            def data_ptr(self):
                return MEMORY.ctypes.data

        for is_initialized in (False, True):
            fake_torch()
            sys.modules["torch.cuda"] = types.SimpleNamespace(is_initialized=lambda: is_initialized)
            before = len(calls())
            launch(Address(), Address(), Address(), n=0)
            assert (len(calls()) > before) == is_initialized, calls()
            after = len(calls())
            launch(Address(), MEMORY, Address(), n=0)
            assert len(calls()) == after, "beside memory of the host: the cores"
    """)
