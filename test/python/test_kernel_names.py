"""A kernel's name in code: the function's, or what `repr` of the decorator gives for a specialization."""
import subprocess
import sys

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TARGETS = ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim)]


def name_of(specialization):
    seen.append(specialization)
    return f"scale_{specialization.signature['x'].lstrip('*')}_{specialization.constants['N']}"


seen = []


@triton.jit(repr=name_of)
def scale(x, n, flag, pair, N: tl.constexpr, F: tl.constexpr = None):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * n + pair[1])


def launch(target, size=16, n=3):
    scale.target = target
    x = np.ones(32, np.float32)
    kernel = scale[(1, )](x, n, True, (x, 2), N=size)
    np.testing.assert_array_equal(x, [n + 2] * size + [1] * (32 - size))
    return kernel


@pytest.mark.parametrize("target", TARGETS)
def test_repr_names_the_kernel_of_each_specialization(target):
    kernels = [launch(target, size) for size in (16, 8)]
    assert [kernel.name for kernel in kernels] == ["scale_fp32_16", "scale_fp32_8"]
    if target == "ptxvm":
        assert all(f".entry {kernel.name}(" in kernel.asm["ptx"] for kernel in kernels)
    if target == "cpu":
        assert "scale_fp32_8" in kernels[1].asm["llir"]


def test_repr_sees_constants_and_types_by_parameter():
    seen.clear()
    launch("cpu", size=4, n=1)
    (specialization, ) = seen
    assert specialization.constants == {"n": 1, "N": 4, "F": None}
    assert specialization.signature == {"x": "*fp32", "n": "constexpr", "flag": "u1", "pair": ("*fp32", "i32"),
                                        "N": "constexpr", "F": "constexpr"}


def test_repr_is_asked_once_a_specialization():
    launch("cpu")
    seen.clear()
    launch("cpu")
    launch("cpu", n=7)
    assert seen == []


def test_another_name_is_another_entry_on_disk(tmp_path):
    script = tmp_path / "named.py"
    script.write_text("import sys, numpy, tegula\n"
                      "@tegula.jit(repr=lambda _: sys.argv[1])\n"
                      "def kernel(x):\n    tegula.language.store(x, 1.0)\n"
                      "k = kernel[(1,)](numpy.zeros(1, numpy.float32))\n"
                      "print(k.name, 'disk cache' in k.times)\n")

    def run(name):
        return subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=True,
                              env={**__import__("os").environ, "TEGULA_CACHE_DIR": str(tmp_path / "cache")}).stdout.split()

    assert run("one") == ["one", "False"]
    assert run("two") == ["two", "False"]
    assert run("one") == ["one", "True"]


@pytest.mark.parametrize("name, wanted", [("a.b c", "a_$_b_$_c"), ("2nd", "_2nd"), ("k<1>", "k_$_1_$_"), ("$ok_1", "$ok_1")])
@pytest.mark.sim
def test_characters_that_code_cannot_have_are_replaced(name, wanted):

    @triton.jit(repr=lambda _: name)
    def kernel(x):
        tl.store(x, 1.0)

    kernel.target = "ptxvm"
    compiled = kernel[(1, )](np.zeros(1, np.float32))
    assert compiled.name == wanted and f".entry {wanted}(" in compiled.asm["ptx"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_with_letters_beyond_ascii_is_a_kernel(target):

    @triton.jit
    def größe(x):
        tl.store(x, 5.0)

    größe.target = target
    x = np.zeros(1, np.float32)
    assert größe[(1, )](x).name == "gr_$__$__$__$_e" and x[0] == 5


@pytest.mark.parametrize("function, reason", [(lambda _: 1 / 0, "ZeroDivisionError"), (lambda _: "", "empty, or no text"),
                                              (lambda _: 7, "empty, or no text"), (lambda _: None, "empty, or no text")])
def test_a_repr_without_a_name_is_refused(function, reason):

    @triton.jit(repr=function)
    def kernel(x):
        tl.store(x, 1.0)

    with pytest.raises(triton.LaunchError, match=f"`repr` of the kernel `kernel` gave no name: .*{reason}") as caught:
        kernel[(1, )](np.zeros(1, np.float32))
    assert isinstance(caught.value.__cause__, ZeroDivisionError) or reason != "ZeroDivisionError"


def test_compile_without_a_launch_uses_the_name():
    source = triton.compiler.ASTSource(fn=scale, signature={"x": "*fp16", "n": "i32", "flag": "i1", "pair": ("*fp16", "i32"),
                                                            "N": "constexpr", "F": "constexpr"}, constexprs={"N": 8, "F": None})
    compiled = triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32))
    assert compiled.name == compiled.metadata.name == "scale_fp16_8" and ".entry scale_fp16_8(" in compiled.asm["ptx"]
