"""Launches beside PyTorch's operators: on the same threads while those spin, so that neither waits for the other's cores."""
import os
import subprocess
import sys
import textwrap

import pytest

BODY = """
    import os, sys
    import numpy as np
    import tegula as triton
    import tegula.language as tl

    @triton.jit
    def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, tl.exp(tl.load(x_ptr + offsets, mask=offsets < n)), mask=offsets < n)

    def launch():
        n = 1 << 22
        x, out = np.ones(n, np.float32), np.zeros(n, np.float32)
        scale[(n // 1024,)](x, out, n, BLOCK=1024)
        return bool((abs(out - np.e) < 1e-5).all())

    def threads():
        return len(os.listdir("/proc/self/task"))

    def own_threads():
        names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
        return names.count("tegula")
"""


@pytest.fixture
def run(tmp_path):
    def words(text):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(BODY) + textwrap.dedent(text))
        env = {**os.environ, "TEGULA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
        env.pop("OMP_WAIT_POLICY", None)  # its threads spin for a while, as a user's do
        done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    return words


def test_without_openmp_launches_make_threads(run):
    assert run("print(launch(), own_threads())") == ["True", "1"]


def test_behind_an_operator_a_launch_runs_on_its_threads(run):
    assert run("""
        import torch
        torch.softmax(torch.randn(512, 4096), 1)
        before = threads()
        right = launch()
        print(right, own_threads(), threads() - before)
    """) == ["True", "0", "0"]


def test_pytorch_imported_later_is_found(run):
    assert run("""
        print(launch(), own_threads())
        import torch
        before = threads()
        print(launch(), own_threads(), threads() - before)
    """) == ["True", "1", "True", "1", "1"]


def test_a_launch_leaves_a_sleeping_team_alone(run):
    assert run("""
        import torch, time
        print(launch(), own_threads())
        time.sleep(3)
        print(launch(), own_threads())
    """) == ["True", "0", "True", "1"]


def test_pytorch_of_one_thread_leaves_launches_their_own(run):
    assert run("""
        import torch
        torch.set_num_threads(1)
        print(launch(), own_threads())
    """) == ["True", "1"]


def test_a_child_forked_after_pytorch_ran_launches(run):
    assert run("""
        import torch
        torch.softmax(torch.randn(512, 4096), 1)
        if os.fork() == 0:
            print(launch(), own_threads(), flush=True)
            os._exit(0)
        print(os.wait()[1], flush=True)
    """) == ["True", "1", "0"]


def test_a_child_forked_after_a_launch_launches(run):
    assert run("""
        import torch
        torch.softmax(torch.randn(512, 4096), 1)
        launch()
        if os.fork() == 0:
            print(launch(), own_threads(), flush=True)
            os._exit(0)
        print(os.wait()[1], flush=True)
    """) == ["True", "1", "0"]
