"""Switches of the process that stand in for options of launches: the architecture, contraction, the precision of tl.dot."""
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.backends.compiler import GPUTarget


@triton.jit
def multiply_add(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * tl.load(y_ptr + i) + tl.load(z_ptr + i))


@triton.jit
def dot(a_ptr, out_ptr):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(a_ptr + i)
    tl.store(out_ptr + i, tl.dot(a, a))


@pytest.fixture
def knobs():
    with triton.knobs.runtime.scope(), triton.knobs.language.scope():
        yield triton.knobs


def launch(target="cpu", **options):
    multiply_add.target = target
    x = np.full(16, 1 + 2.0**-12, np.float32)
    out = np.zeros(16, np.float32)
    try:
        return multiply_add[(1, )](x, x, np.full(16, -(1 + 2.0**-11), np.float32), out, BLOCK=16, **options), out
    finally:
        multiply_add.target = "cpu"


# ---- the architecture ----


@pytest.mark.sim
@pytest.mark.parametrize("arch, wanted", [("sm80", "sm_80"), ("sm_80", "sm_80"), ("sm90", "sm_90a"), ("sm_90a", "sm_90a"),
                                          ("sm89", "sm_89")])
def test_arch_of_a_launch_names_the_architecture(arch, wanted):
    kernel, _ = launch("ptxvm", arch=arch)
    assert f".target {wanted}" in kernel.asm["ptx"]


@pytest.mark.sim
def test_arch_is_part_of_the_key():
    kernels = [launch("ptxvm", **options)[0] for options in ({"arch": "sm80"}, {"arch": "sm86"}, {"arch": "sm_80"}, {})]
    assert kernels[0] is kernels[2] and kernels[1] is not kernels[0] and kernels[3] is not kernels[0]


@pytest.mark.sim
@pytest.mark.parametrize("arch", ["sm70", "sm", "gfx942", "90", "sm_9000", 90])
def test_another_arch_is_refused(arch):
    with pytest.raises(triton.LaunchError, match="option `arch` was given .*; it must be None or an architecture"):
        launch("ptxvm", arch=arch)


def test_cores_have_no_arch():
    with pytest.raises(triton.LaunchError, match="option `arch` was given the constant 'sm90'.*cores have none"):
        launch("cpu", arch="sm90")


@pytest.mark.sim
def test_the_switch_names_the_architecture_of_gpus_and_of_no_cores(knobs):
    knobs.runtime.override_arch = "sm80"
    assert ".target sm_80" in launch("ptxvm")[0].asm["ptx"]
    assert ".target sm_86" in launch("ptxvm", arch="sm86")[0].asm["ptx"]
    assert launch("cpu")[1][0] in (0, 2.0**-24)
    source = triton.compiler.ASTSource(fn=dot, signature={"a_ptr": "*fp32", "out_ptr": "*fp32"}, constexprs={})
    assert ".target sm_80" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    knobs.runtime.override_arch = None
    assert ".target sm_90a" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


# ---- contraction ----


@pytest.mark.parametrize("target", ["cpu", pytest.param("ptxvm", marks=pytest.mark.sim)])
def test_the_switch_turns_contraction_off(knobs, target):
    knobs.language.default_fp_fusion = False
    kernel, out = launch(target)
    assert out[0] == 0
    assert launch(target, enable_fp_fusion=False)[0] is kernel and launch(target, enable_fp_fusion=True)[0] is not kernel
    knobs.language.default_fp_fusion = True
    assert launch(target)[0] is launch(target, enable_fp_fusion=True)[0] is not kernel


def test_the_switch_counts_for_bound_calls(knobs):
    knobs.language.default_fp_fusion = False
    x = np.full(16, 1 + 2.0**-12, np.float32)
    outs = []
    for options in ({}, {"enable_fp_fusion": False}, {"enable_fp_fusion": True}):
        outs.append(np.zeros(16, np.float32))
        multiply_add[(1, )].bind(x, x, np.full(16, -(1 + 2.0**-11), np.float32), out_ptr=outs[-1], BLOCK=16, **options)()
    assert outs[0][0] == outs[1][0] == 0 and outs[2][0] == launch(enable_fp_fusion=True)[1][0]


def test_the_switch_counts_for_warmup_and_compile(knobs):
    knobs.language.default_fp_fusion = False
    x = np.zeros(16, np.float32)
    assert multiply_add.warmup(x, x, x, x, BLOCK=16, grid=(1, )) is launch(enable_fp_fusion=False)[0]
    pointers = {name: "*fp32" for name in ("x_ptr", "y_ptr", "z_ptr", "out_ptr")}
    source = triton.compiler.ASTSource(fn=multiply_add, signature={**pointers, "BLOCK": "constexpr"}, constexprs={"BLOCK": 16})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert "fma." not in compiled.asm["ptx"] and compiled.metadata.enable_fp_fusion is False


def test_no_option_turns_contraction_on_where_it_is_forbidden(knobs):
    knobs.language.force_disable_fp_fusion = True
    assert launch()[1][0] == 0 and launch(enable_fp_fusion=True)[1][0] == 0
    pointers = {name: "*fp32" for name in ("x_ptr", "y_ptr", "z_ptr", "out_ptr")}
    source = triton.compiler.ASTSource(fn=multiply_add, signature={**pointers, "BLOCK": "constexpr"}, constexprs={"BLOCK": 16})
    assert "fma." not in triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": True}).asm["ptx"]
    assert not knobs.language.fp_fusion_enabled(True)
    knobs.language.force_disable_fp_fusion = False
    assert knobs.language.fp_fusion_enabled() and knobs.language.fp_fusion_enabled(True)
    assert not knobs.language.fp_fusion_enabled(False)


# ---- the precision of tl.dot ----


@pytest.mark.parametrize("word, number", [("tf32x3", "1"), ("bf16x3", "3"), ("ieee", None)])
def test_the_switch_says_what_dot_of_f32_does(knobs, word, number):
    knobs.language.fp32_default = word
    a = np.ones((16, 16), np.float32)
    assert re.search(r"tt\.dot [^{:]*(?:\{precision = (\d) : i32\})?", dot.warmup(a, a).asm["ttir"]).group(1) == number


def test_the_environment_sets_the_switches(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy, tegula as triton\nimport tegula.language as tl\n@triton.jit\n"
                      "def kernel(x, out):\n    v = tl.load(x)\n    tl.store(out, v * v + tl.load(x + 1))\n"
                      "out = numpy.zeros(1, numpy.float32)\n"
                      "kernel[(1,)](numpy.array([1 + 2.0**-12, -(1 + 2.0**-11)], numpy.float32), out)\nprint(float(out[0]))\n")
    run = lambda value: float(subprocess.run([sys.executable, script], env={**os.environ, "TRITON_DEFAULT_FP_FUSION": value},
                                             capture_output=True, text=True, check=True).stdout)
    assert run("0") == 0 and run("1") in (0, 2.0**-24)
