"""When `tl.device_assert` is checked: the launch says so, the decorator, or the environment."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

SCRIPT = """
import numpy as np
import tegula
import tegula.language as tl


@tegula.jit
def kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


tegula.set_target("interp")
kernel[(1,)](np.zeros(1, np.float32){option})
print("done")
"""


@triton.jit
def plain_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


@triton.jit(debug=True)
def checked_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


@pytest.fixture
def zero(monkeypatch):
    monkeypatch.setenv("TEGULA_TARGET", "cpu")
    triton.set_target("interp")
    yield np.zeros(1, np.float32)
    triton.set_target("cpu")


def test_a_launch_says_so(zero):
    plain_kernel[(1,)](zero)
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        plain_kernel[(1,)](zero, debug=True)


def test_the_decorator_says_so(zero):
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        checked_kernel[(1,)](zero)
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        checked_kernel.run(zero, grid=(1,))
    checked_kernel[(1,)](zero, debug=False)
    assert "tt.assert" in checked_kernel.warmup(zero, grid=(1,)).asm["ttir"]


@pytest.mark.parametrize("make", [triton.jit, triton.JITFunction], ids=["jit", "class"])
def test_debug_is_assigned(zero, make):
    kernel = make(plain_kernel.fn)
    kernel[(1,)](zero)
    kernel.debug = True
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        kernel[(1,)](zero)
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        kernel[(1,)].bind(zero)()
    kernel.run = lambda *args, **kwargs: triton.JITFunction.run(kernel, *args, **kwargs)
    kernel.debug = False
    kernel[(1,)](zero)
    del kernel.run
    kernel[(1,)](zero)
    assert len(kernel.device_caches[0][0]) == 2


def test_debug_of_the_class_is_that_of_the_decorator(zero):
    with pytest.raises(triton.DeviceAssertionError, match="not positive"):
        triton.JITFunction(plain_kernel.fn, debug=True)[(1,)](zero)


def test_an_assertion_is_a_runtime_error(zero):
    with pytest.raises(RuntimeError):
        checked_kernel[(1,)](zero)


@pytest.mark.parametrize("variable", ["TEGULA_DEBUG", "TRITON_DEBUG"])
@pytest.mark.parametrize("value, fails", [("1", True), ("0", False), ("", False)])
def test_the_environment_says_so(python, variable, value, fails):
    done = python(SCRIPT.format(option=""), env={variable: value})
    assert (done.returncode != 0) == fails
    assert ("assertion failed: not positive" in done.stderr) == fails


def test_a_launch_overrules_the_environment(python):
    assert python(SCRIPT.format(option=", debug=False"), env={"TEGULA_DEBUG": "1"}).stdout == "done\n"
