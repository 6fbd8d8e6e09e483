"""The package as a whole: what it imports, how it stands in for triton, how it is chosen."""
import sys

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

KERNEL = '''
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime import JITFunction
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.core import constexpr, load
import triton.testing
DEVICE = triton.runtime.driver.active.get_active_torch_device()

@triton.jit
def kernel(out_ptr):
    tl.store(out_ptr, 42)
'''


def test_imports_neither_numpy_nor_torch(python):
    done = python("import sys, tegula, tegula.language, tegula.testing\n"
                  "print([m for m in ('numpy', 'torch') if m in sys.modules])\n")
    assert done.stdout == "[]\n", done.stderr


def test_module_runs_scripts_that_say_import_triton(python):
    done = python(KERNEL + "import sys, numpy as np\nout = np.zeros(1, np.int32)\nkernel[(1,)](out)\n"
                  "print(__name__, out[0], sys.argv[1:], triton.__name__, isinstance(kernel, JITFunction))\n",
                  "a", "--b", module="tegula", env={"TEGULA_TARGET": "interp"})
    assert done.stdout == "__main__ 42 ['a', '--b'] tegula True\n", done.stderr


def test_module_names_a_missing_script():
    import subprocess

    done = subprocess.run([sys.executable, "-m", "tegula", "nowhere.py"], capture_output=True, text=True)
    assert done.returncode == 1 and "nowhere.py: error: " in done.stderr


def test_install_as_triton(python):
    done = python("import tegula\ntegula.install_as_triton()\nimport triton, triton.language as tl\n"
                  "assert triton is tegula and tl is tegula.language\nimport triton.language.math as m\n"
                  "assert m is tegula.language.math and tegula.language.__name__ == 'tegula.language'\n"
                  "try:\n    import triton.nowhere\nexcept ModuleNotFoundError as error:\n    print(error)\n")
    assert "triton.nowhere" in done.stdout, done.stderr


@pytest.mark.parametrize("text, is_on", [("1", True), (" 1 ", True), ("Yes", True), ("2", False), (" 0 ", False), ("disabled", False),
                                         ("", False)])
def test_switches_are_read_alike(python, text, is_on):
    script = """
import tegula as triton
@triton.jit
def kernel(): pass
print(kernel.is_interpreted, triton.knobs.runtime.interpret, type(kernel).__name__ == "CheckedFunction", triton.knobs.runtime.debug)
"""
    for name in ("TRITON_INTERPRET", "TRITON_DEBUG"):
        done = python(script, env={name: text})
        expected = [is_on and name == "TRITON_INTERPRET"] * 2 + [is_on and name == "TRITON_DEBUG"] * 2
        assert done.stdout.split() == list(map(str, expected)), done.stdout + done.stderr


@pytest.mark.parametrize("env, target", [({}, "cpu"), ({"TRITON_INTERPRET": "0"}, "cpu"),
                                         ({"TEGULA_TARGET": "interp"}, "interp")])
def test_target_by_environment(python, env, target):
    script = KERNEL.replace("import triton\n", "import tegula\ntegula.install_as_triton()\nimport triton\n", 1)
    done = python(script + "import numpy as np\nprint(kernel[(1,)](np.zeros(1, np.int32)).target)\n", env=env)
    assert done.stdout == target + "\n", done.stderr


def test_works_after_fork(python):
    done = python("import tegula\ntegula.install_as_triton()\n" + KERNEL + "import os, numpy as np\nout = np.zeros(1, np.int32)\n"
                  "kernel[(1,)](out)\nchild = os.fork()\nout[0] = 0\nkernel[(1,)](out)\nassert out[0] == 42\n"
                  "if not child:\n    os._exit(0)\nprint(os.waitpid(child, 0)[1])\n")
    assert done.stdout == "0\n", done.stderr


# ---- the language's names in Python -----------------------------------------------------------------


@pytest.mark.parametrize("dtype, name, bits, long", [
    (tl.float32, "fp32", 32, "float32"), (tl.float16, "fp16", 16, "float16"), (tl.bfloat16, "bf16", 16, "bfloat16"),
    (tl.int1, "int1", 1, "int1"), (tl.uint8, "uint8", 8, "uint8"), (tl.int64, "int64", 64, "int64"),
    (tl.float8e5, "fp8e5", 8, "float8e5")])
def test_dtypes(dtype, name, bits, long):
    assert (str(dtype), repr(dtype)) == (name, f"triton.language.{long}")
    assert dtype.primitive_bitwidth == bits and dtype.itemsize == max(1, bits // 8)


def test_predicates_of_dtypes():
    assert tl.float32.is_fp32() and not tl.float32.is_fp16() and tl.float32.is_floating() and not tl.float32.is_int()
    assert tl.uint8.is_int_unsigned() and tl.int8.is_int_signed() and tl.int1.is_bool() and tl.float8e5.is_fp8()
    assert tl.float32 == tl.dtype("fp32") and tl.float32 != tl.float64 and len({tl.int32, tl.dtype("int32")}) == 1


def test_constexpr_arithmetic_is_pythons():
    c = tl.constexpr(7)
    assert (c + 1).value == 8 and (1 - c).value == -6 and (c // -2).value == -4 and (c == 7).value and bool(c > 3)
    assert tl.constexpr(c).value == 7 and repr(c) == "constexpr[7]" and [10, 20][tl.constexpr(1)] == 20


@pytest.mark.parametrize("n, power", [(0, 0), (1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048), (2**40 + 1, 2**41)])
def test_next_power_of_2(n, power):
    assert triton.next_power_of_2(n) == power


@pytest.mark.parametrize("x, y, quotient", [(0, 4, 0), (1, 4, 1), (4, 4, 1), (5, 4, 2)])
def test_cdiv(x, y, quotient):
    assert triton.cdiv(x, y) == tl.cdiv(x, y) == quotient


# ---- testing ----------------------------------------------------------------------------------------


def test_do_bench():
    times = triton.testing.do_bench(lambda: None, warmup=1, rep=2, return_mode="all")
    assert len(times) > 1 and min(times) >= 0
    assert len(triton.testing.do_bench(lambda: None, warmup=1, rep=2, quantiles=[0.5, 0.2, 0.8])) == 3


def test_assert_close():
    triton.testing.assert_close(np.ones(3), np.ones(3) + 1e-3)
    with pytest.raises(AssertionError):
        triton.testing.assert_close(np.ones(3), np.ones(3) + 1)
