"""The pipeline of a target is a list: it is printed, each pass can be looked at, and each can run alone."""
import re
import subprocess
from pathlib import Path

import pytest

from conftest import PROGRAM

SIGNATURE = "x_ptr=*f32:16,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=128"
DOT = '''import triton
import triton.language as tl


@triton.jit
def dot(a, b, c, K, STEP: tl.constexpr):
    m, k = tl.arange(0, 64), tl.arange(0, STEP)
    acc = tl.zeros([64, 64], tl.float32)
    for i in range(0, K, STEP):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * 64 + m[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 64 + m[None, :], acc)
'''
OF_DOT = "a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,STEP="


def names(tegula, target):
    done = tegula("passes", "--target", target)
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in done.stdout.splitlines()]


def forms(tegula, target):
    return [line.split()[1] for line in tegula("passes", "--target", target).stdout.splitlines()]


def shown(text):
    """(before or after, pass, text) of each look."""
    parts = re.split(r"^(?://|;) ---- (before|after) (\S+) ----\n", text, flags=re.M)
    return list(zip(parts[1::3], parts[2::3], parts[3::3]))


def look(tegula, target, *arguments, signature=OF_DOT + "32"):
    (tegula.folder / "dot.py").write_text(DOT)
    done = tegula("compile", "dot.py::dot", "--signature", signature, "--target", target, "-o", "code", *arguments)
    return done, shown(done.stderr)


def test_passes_are_listed_in_order(tegula):
    gpu = names(tegula, "sm_90a")
    assert gpu.index("tile-to-simt") < gpu.index("pipeline-loops") < gpu.index("allocate-shared") < gpu.index("emit-ptx")
    assert names(tegula, "cpu")[-1] == "emit-object"
    assert names(tegula, "interp") == ["canonicalize", "cse"]
    assert names(tegula, "ptxvm") == gpu


def test_a_machine_without_asynchronous_copies_has_no_pass_for_them(tegula):
    assert set(names(tegula, "sm_80")) - set(names(tegula, "sm_75")) == {
        "pipeline-loops", "version-clamped-loops", "version-unaligned-loops", "load-in-own-trip", "nest-flat-loops", "fill-masked-loads", "sink-loads",
        "unroll-as-asked", "move-copies-behind-reads", "version-writing-loops"}


@pytest.mark.parametrize("target", ["cpu", "sm_75", "sm_90a"])
def test_what_is_listed_is_what_runs(tegula, target):
    done, looks = look(tegula, target, "--print-after", "all")
    assert done.returncode == 0, done.stderr
    assert [name for _, name, _ in looks] == names(tegula, target)
    assert all(text.strip() for _, _, text in looks)


def test_one_pass_is_printed_as_often_as_it_runs(tegula):
    _, looks = look(tegula, "sm_90a", "--print-after", "cse", "--print-before", "tile-to-simt")
    assert [(when, name) for when, name, _ in looks] == [("after", "cse"), ("after", "cse"), ("before", "tile-to-simt"),
                                                         ("after", "cse")]
    assert "#simt.layout" not in looks[2][2] and "#simt.layout" in looks[3][2]


def test_ahead_of_the_first_pass_the_kernel_is_as_the_front_end_made_it(tegula):
    _, looks = look(tegula, "interp", "--emit", "ttir", "--print-before", "canonicalize")
    assert [look[:2] for look in looks] == [("before", "canonicalize")] and "tt.func @dot" in looks[0][2]


@pytest.mark.parametrize("target", ["cpu", "interp", "sm_90a"])
@pytest.mark.parametrize("flag", ["--print-after", "--print-before"])
def test_an_unknown_pass_is_refused_with_the_list(tegula, target, flag):
    done, _ = look(tegula, target, flag, "emit-nothing")
    assert done.returncode == 1 and "there is no pass `emit-nothing` [TargetFailed]" in done.stderr
    assert "hint: its passes: all, canonicalize, cse" in done.stderr


def test_a_pass_of_another_target_is_unknown(tegula):
    done, _ = look(tegula, "sm_75", "--print-after", "pipeline-loops")
    assert done.returncode == 1 and "there is no pass `pipeline-loops` [TargetFailed]" in done.stderr


def test_no_passes_of_an_unknown_target(tegula):
    assert "[TargetUnknown]" in tegula("passes", "--target", "vax").stderr
    assert "there is no architecture" in tegula("passes", "--target", "sm_77").stderr


def test_a_kernel_that_does_not_compile_is_shown_as_far_as_it_came(tegula):
    done, looks = look(tegula, "sm_86", "--print-after", "all", "--num-stages", "8", signature=OF_DOT + "1024")
    assert done.returncode == 1 and "[TargetTooSmall]" in done.stderr
    assert looks[-1][1] == "start-loads"


OPT = PROGRAM.parent / "tegula-opt"


def opt(text, *arguments):
    done = subprocess.run([OPT, *arguments], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not OPT.exists(), reason="this build has no tegula-opt")
@pytest.mark.parametrize("target", ["cpu", "sm_75", "sm_90a"])
def test_each_pass_does_alone_what_it_does_in_the_pipeline(tegula, target):
    _, looks = look(tegula, target, "--print-after", "all", "--print-before", "all", "--num-stages", "3")
    compared = 0
    for (_, name, before), (_, _, after), form in zip(looks[::2], looks[1::2], forms(tegula, target)):
        if form not in ("ttir", "simt"):
            break
        own = name in ("canonicalize", "cse", "loop-invariant-code-motion")
        flag = f"--{name}" if own else f"--{name}=target={target} warps=4 stages=3"
        assert opt(before, flag) == opt(after), name
        compared += 1
    assert compared >= 8
