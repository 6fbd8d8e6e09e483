"""Of numbers a launch knows whether 16 divides them, and from 24 on whether 8 does: rows of eight elements' multiples are read in wide
accesses, and a kernel runs for no number of another kind."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def rows_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + i
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=i < n, other=0.0) * 2, mask=i < n)


def kernel_of(decorate=triton.jit):
    return decorate(rows_kernel.fn)


def launch(kernel, n, rows=3):
    x, out = np.arange(rows * n, dtype=np.float16) % 512, np.zeros(rows * n, np.float16)
    compiled = kernel[(rows,)](x, out, n, BLOCK=2048)
    assert (out == 2 * x).all(), n
    return compiled


@pytest.fixture
def simulator(monkeypatch):
    monkeypatch.setenv("TEGULA_SIM_ARCH", "sm_90a")
    triton.set_target("ptxvm")
    yield
    triton.set_target("cpu")


def test_small_numbers_are_specialized_as_upstream_does():
    kernel = kernel_of()
    assert len({launch(kernel, n) for n in (1, 2, 4, 8, 16, 32, 12, 23)}) == 3


def test_numbers_that_8_divides_share_a_kernel():
    kernel = kernel_of()
    eights, sixteens, others = ({launch(kernel, n) for n in numbers}
                                for numbers in ((24, 72, 1000, 1016), (128, 1008), (25, 1001, 500)))
    assert [len(each) for each in (eights, sixteens, others)] == [1, 1, 1] and len(eights | sixteens | others) == 3


@pytest.mark.parametrize("decorate", [triton.jit(do_not_specialize=["n"]), triton.jit(do_not_specialize_on_alignment=["n"])],
                         ids=["any", "alignment"])
def test_parameters_that_are_not_specialized(decorate):
    kernel = kernel_of(decorate)
    assert len({launch(kernel, n) for n in (1000, 1001, 1008)}) == 1


def test_each_launch_takes_the_kernel_of_its_number(simulator):
    """Also where it is like one of the calls before: no access of 16 bytes meets an address that is not a multiple."""
    kernel = kernel_of()
    for n in (1000, 1001, 1000, 1008, 1016, 1004, 8, 24, 1000, 129, 136):
        launch(kernel, n)
    assert "ld.global.v4" in launch(kernel, 1000).asm["ptx"] and "ld.global.v4" not in launch(kernel, 1004).asm["ptx"]


def test_negative_distances(simulator):
    @triton.jit
    def backwards(x_ptr, out_ptr, step, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        row = tl.program_id(0)
        tl.store(out_ptr + row * BLOCK + i, tl.load(x_ptr + (row - 2) * step + i))

    for step in (-136, -132, -128):
        x, out = np.arange(3 * 136, dtype=np.float16), np.zeros(3 * 128, np.float16)
        compiled = backwards[(3,)](x, out, step, BLOCK=128, num_warps=1)
        assert (out.reshape(3, 128) == [[-step * (2 - row) + i for i in range(128)] for row in range(3)]).all()
        assert (".v2" in compiled.asm["ptx"].split("ld.global")[1][:4]) == (step % 8 == 0)


def test_a_bound_call_refuses_a_number_of_another_kind():
    x, out = np.ones(4000, np.float16), np.zeros(4000, np.float16)
    bound = kernel_of()[(3,)].bind(x, out, 1000, BLOCK=2048)
    bound["n"] = 1016
    bound()
    assert (out[:3048] == 2).all() and (out[3048:] == 0).all()
    for n in (1001, 1008):
        with pytest.raises(triton.LaunchError, match="another kind"):
            bound["n"] = n
