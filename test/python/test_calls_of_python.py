"""A launch of what is compiled stays in the extension: it calls no function of Python's but those that it is told to call."""
import sys

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor

knobs = triton.knobs


@pytest.fixture(autouse=True)
def fresh():
    with knobs.runtime.scope(), knobs.compilation.scope(), knobs.language.scope():
        yield


def make():
    @triton.jit
    def add(x_ptr, n, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(x_ptr + i, tl.load(x_ptr + i) + n)

    return add


def calls_of(launch):
    """The names of Python's functions that the third of three launches calls."""
    names = []
    for _ in range(2):
        launch()
    sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        launch()
    finally:
        sys.setprofile(None)
    return names[1:]  # the first is `launch`


@pytest.fixture
def launch():
    kernel, x = make(), np.zeros(8, np.float32)

    def launch():
        return kernel[(1, )](x, 5, B=8)

    launch.kernel, launch.x = kernel, x
    return launch


def test_a_descriptor_that_somebody_made_costs_other_launches_nothing(launch):
    TensorDescriptor.from_tensor(np.zeros((16, 16), np.float32), [16, 16])
    assert calls_of(launch) == []


@pytest.mark.parametrize("grid", [(1, ), lambda meta: (meta["d"].shape[0] // meta["B"], )])
def test_descriptors_are_taken_apart_in_the_extension(grid):
    @triton.jit
    def add(d, e, n, B: tl.constexpr):
        e.store([0, 0], d.load([0, 0]) + n)

    x, y = (np.zeros((16, 16), np.float32) for _ in range(2))
    d, e = (TensorDescriptor.from_tensor(each, [16, 16]) for each in (x, y))
    assert calls_of(lambda: add[grid](d, e, n=3, B=16)) == ["<lambda>"] * callable(grid) and (y == 3).all()
    half = TensorDescriptor.from_tensor(y, [8, 16])
    y[:] = 0
    add[(1, )](TensorDescriptor.from_tensor(x, [8, 16]), half, 4, B=16)
    assert (y[:8] == 4).all() and not y[8:].any()
    d.block_shape = [4, 16]
    with pytest.raises(triton.CompilationError):
        add[(1, )](d, half, n=3, B=16)


def test_hooks_before_runs_cost_their_kernel_one_call(launch):
    seen = []

    def before(*args, **kwargs):
        seen.append((args, kwargs))

    other = make()
    other.add_pre_run_hook(before)
    assert calls_of(launch) == []
    launch.kernel.pre_run_hooks.append(before)
    assert calls_of(launch) == ["before"] and seen[0][0][0] is launch.x and seen[0][1] == {"B": 8}
    launch.kernel.pre_run_hooks.clear()
    assert calls_of(launch) == []
    launch.kernel.pre_run_hooks = [before, before]
    assert calls_of(launch) == ["before"] * 2


def test_hooks_of_compiles_cost_launches_nothing(launch):
    launch()
    knobs.runtime.jit_post_compile_hook = knobs.compilation.listener = lambda **told: None
    assert calls_of(launch) == []


def test_hooks_of_launches_are_all_that_is_asked(launch):
    told = []
    knobs.runtime.launch_enter_hook.add(lambda data: told.append(data.get()["name"]))
    assert "specialize" not in calls_of(launch) and told == ["add"] * 3


@pytest.mark.parametrize("group, switch, value", [("language", "default_fp_fusion", False), ("language", "fp32_default", "ieee"),
                                                  ("runtime", "debug", True)])
def test_switches_that_give_options_cost_launches_nothing(launch, group, switch, value):
    setattr(getattr(knobs, group), switch, value)
    assert calls_of(launch) == []


def test_a_hook_may_replace_the_memory_of_an_argument(launch):
    import torch

    x, other = torch.zeros(8), torch.zeros(8)
    for _ in range(2):
        launch.kernel[(1, )](x, 5, B=8)
    knobs.runtime.launch_enter_hook.add(lambda data: x.set_(other))
    launch.kernel[(1, )](x, 5, B=8)
    assert (other == 5).all()


def test_a_grid_is_asked_once_with_hooks(launch):
    asked = []

    def grid(meta):
        asked.append(meta["B"])
        return (1, )

    knobs.runtime.launch_exit_hook.add(lambda data: None)
    for size in (8, 8, 4, 8):
        launch.kernel[grid](launch.x, 5, B=size)
    assert asked == [8, 8, 4, 8]
