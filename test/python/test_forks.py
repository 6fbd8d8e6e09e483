"""A forked child has none of its parent's other threads: what they held, and what they left half made, is free and whole
for it."""
import os
import signal
import subprocess
import sys
import threading

import pytest

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import tegula, tegula.language as tl
@tegula.jit
def kernel(x, y, n, B: tl.constexpr, C: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) + C, mask=i < n)
x = np.arange(1024, dtype=np.float32)
isOver = False
def work(number):
    y, count = np.empty_like(x), 0
    while not isOver:
        count += 1
        kernel[(4,)](x, y, 1024, 256, 1).asm["ttir"]
        if number:
            kernel[(4,)](x, y, 1024, 256, 1000 * number + count)
kernel[(4,)](x, np.empty_like(x), 1024, 256, 1)
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
failures = 0
for number in range(12):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a wait ends the child
        y = np.empty_like(x)
        text = kernel[(4,)](x, y, 1024, 256, 1).asm["ttir"]
        kernel[(4,)](x, x.copy(), 1024, 256, 10 + number)
        os._exit(not ((y == x + 1).all() and "tt.load" in text))
    failures += os.waitpid(child, 0)[1] != 0
isOver = True
for thread in threads:
    thread.join()
sys.exit(failures)
"""


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_a_child_that_is_forked_amidst_calls_and_compiles_calls_and_compiles(target, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], timeout=900, capture_output=True, text=True,
                          env=os.environ | {"TEGULA_TARGET": target, "TEGULA_CACHE_DIR": str(tmp_path / "cache")})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_child_makes_a_key_that_a_thread_of_its_parent_was_making():
    from tegula import jit

    @jit
    def kernel(x):
        pass

    holds, is_over = threading.Event(), threading.Event()

    def make():
        with kernel._hash_lock:
            kernel.hash = "recursion:kernel"
            holds.set()
            is_over.wait()
            kernel.hash = None

    thread = threading.Thread(target=make)
    thread.start()
    holds.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(len(kernel.cache_key) != 64)
    status = os.waitpid(child, 0)[1]
    is_over.set()
    thread.join()
    assert status == 0
    assert len(kernel.cache_key) == 64
