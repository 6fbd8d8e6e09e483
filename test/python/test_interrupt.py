"""Ctrl-C ends a launch whose loop waits for ever, wherever the loop runs; the process goes on."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

SCRIPT = '''
import signal, sys
import torch, tegula as triton, tegula.language as tl

@triton.jit(do_not_specialize=["n"])
def wait_kernel(flag_ptr, out_ptr, n):
    pid = tl.program_id(0)
    if pid == n:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
    tl.store(out_ptr + pid, pid)

target, waits, handles = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "handles"
triton.set_target(target)
flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(5000, dtype=torch.int32)
wait_kernel[(5000,)](flag, out, -1)
seen = []
if handles:
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
before = signal.getsignal(signal.SIGINT)
for turn in range(2):
    print("waits", flush=True)
    try:
        wait_kernel[(5000,)](flag, out, waits)
        print("ended by itself", flush=True)
    except KeyboardInterrupt:
        print("KeyboardInterrupt", flush=True)
    except triton.LaunchError as error:
        print("LaunchError", seen, str(error).replace(chr(10), " "), flush=True)
out.zero_()
wait_kernel[(5000,)](flag, out, -1)
assert torch.equal(out, torch.arange(5000, dtype=torch.int32)) and signal.getsignal(signal.SIGINT) is before
print("goes on", flush=True)
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.raise_signal(signal.SIGINT)
'''


COMPILING = """
import signal, sys
import torch, tegula as triton, tegula.language as tl

calls = []

@triton.constexpr_function
def slow(v):
    calls.append(v)
    if len(calls) == 1:
        {first}
    return v

@triton.jit
def kernel(p):
    tl.store(p, slow(1))

x = torch.zeros(1)
try:
    {launch}
except Exception as error:
    print("caught", type(error))
except BaseException as error:
    print(type(error).__name__, error)
kernel[(1,)](x)
print(x.item())
"""


@pytest.mark.parametrize("first, said", [("signal.raise_signal(signal.SIGINT)", "KeyboardInterrupt "), ("sys.exit(3)", "SystemExit 3")])
@pytest.mark.parametrize("launch", ["kernel[(1,)](x)", "kernel.warmup(torch.float32, grid=(1,))"])
def test_what_ends_a_program_passes_through_a_compile(python, first, said, launch):
    done = python(COMPILING.format(first=first, launch=launch))
    assert done.stdout.splitlines() == [said, "1.0"], done.stdout + done.stderr


@pytest.mark.compiled
@pytest.mark.parametrize("target, waits, handles", [("cpu", 0, ""), ("cpu", 4999, ""), ("cpu", 2500, "handles"), ("interp", 0, ""),
                                                    ("interp", 7, "handles")])
def test_interrupt_ends_a_launch_that_waits(tmp_path, target, waits, handles):
    path = tmp_path / "waits.py"
    path.write_text(SCRIPT)
    environment = {**os.environ, "TEGULA_NUM_THREADS": "4"}
    with subprocess.Popen([sys.executable, path, target, str(waits), handles], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment) as child:
        killer = threading.Timer(60, child.kill)  # readline has no limit of its own
        killer.start()
        try:
            for turn in range(2):
                assert child.stdout.readline() == "waits\n", child.communicate(timeout=10)
                time.sleep(1)  # a launch listens from its first milliseconds on
                child.send_signal(signal.SIGINT)
                said = child.stdout.readline()
                if handles:
                    assert said.startswith(f"LaunchError {[1] * (turn + 1)}") and "interrupted in this loop" in said
                    assert "earlier programs" in said
                else:
                    assert said == "KeyboardInterrupt\n"
            rest, errors = child.stdout.read(), child.stderr.read()
        finally:
            killer.cancel()
            child.kill()
    assert rest == "goes on\n", errors
    assert child.returncode == -signal.SIGINT


ASSEMBLING = """
import sys, time
import tegula as triton, tegula.language as tl
from tegula.backends.compiler import GPUTarget

@triton.jit
def kernel(p):
    tl.store(p, 1.0)

source = triton.compiler.ASTSource(kernel, {"p": "*fp32"})
try:
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
try:
    triton.compile(source, target=GPUTarget("cuda", 80, 32))
except triton.ToolchainError as error:
    print("the assembler refuses" in str(error))
"""


def test_interrupt_ends_a_compile_while_the_assembler_runs(tmp_path):
    """The assembler is a program that never ends for one architecture and refuses others; it is ended with the compile."""
    pid, path, tool = tmp_path / "pid", tmp_path / "waits.py", tmp_path / "ptxas"
    path.write_text(ASSEMBLING)
    tool.write_text(f"#!/bin/sh\ncase $* in *sm_90a*) echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300;; esac\nexit 1\n")
    tool.chmod(0o755)
    environment = {**os.environ, "TEGULA_PTXAS": str(tool), "TEGULA_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        killer = threading.Timer(60, child.kill)
        killer.start()
        try:
            while not pid.exists() and child.poll() is None:
                time.sleep(0.05)
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "KeyboardInterrupt\n", child.communicate(timeout=10)
            assert time.monotonic() - start < 10
            rest, errors = child.communicate()
        finally:
            killer.cancel()
            child.kill()
    assert rest == "True\n", errors
    assert _ends(int(pid.read_text()))


def test_interrupt_ends_the_wait_for_another_process_s_compile(tmp_path):
    """The other process compiles for ever, and would be waited for two minutes."""
    pid, path, tool = tmp_path / "pid", tmp_path / "waits.py", tmp_path / "ptxas"
    path.write_text(ASSEMBLING.replace("try:", "print('compiles', flush=True)\ntry:", 1))
    tool.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300\n")
    tool.chmod(0o755)
    environment = {**os.environ, "TEGULA_PTXAS": str(tool), "TEGULA_CACHE_DIR": str(tmp_path / "cache"), "TEGULA_DISK_CACHE": "1"}

    def start():
        return subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    with start() as first:
        killer = threading.Timer(60, first.kill)
        killer.start()
        try:
            while not pid.exists() and first.poll() is None:
                time.sleep(0.05)
            assembler = pid.read_text()
            with start() as second:
                try:
                    assert second.stdout.readline() == "compiles\n"
                    time.sleep(1)
                    begun = time.monotonic()
                    second.send_signal(signal.SIGINT)
                    assert second.stdout.readline() == "KeyboardInterrupt\n", second.communicate(timeout=10)
                    assert time.monotonic() - begun < 10 and first.poll() is None
                    assert pid.read_text() == assembler  # there was no second one
                finally:
                    second.kill()
        finally:
            killer.cancel()
            first.kill()
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(assembler), signal.SIGKILL)


def _ends(process):
    """Does it end within seconds? Nobody may have asked yet how it did."""
    for _ in range(100):
        try:
            with open(f"/proc/{process}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False
