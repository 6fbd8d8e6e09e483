"""Programs that watch launches put a function of theirs in the place of JITFunction.run, or of one kernel's."""
import pickle
from unittest import mock

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def fill(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)


def launched(kernel):
    x = np.zeros(4, np.float32)
    kernel[(1,)](x, 2.0, N=4)
    return x.tolist() == [2.0] * 4


def watching(original, seen):
    def run(*args, **kwargs):
        seen.append((kwargs["grid"], kwargs["warmup"], kwargs["N"]))
        return original(*args, **kwargs)

    return run


def test_on_the_class():
    seen, original = [], triton.JITFunction.run
    triton.JITFunction.run = watching(original, seen)
    try:
        assert launched(fill) and seen == [((1,), False, 4)]
    finally:
        triton.JITFunction.run = original
    assert launched(fill) and len(seen) == 1
    assert triton.JITFunction.__getitem__ is triton._tegula.Function.__getitem__


def test_on_a_kernel():
    seen = []
    with mock.patch.object(fill, "run", watching(fill.run, seen)):
        assert launched(fill) and seen == [((1,), False, 4)]
    assert launched(fill) and len(seen) == 1 and type(fill) is triton.JITFunction
    checked = triton.jit(fill.fn, debug=True)
    checked.run = watching(checked.run, seen)
    assert launched(checked) and len(seen) == 2


def test_in_a_subclass():
    seen = []

    class Watched(triton.JITFunction):

        def run(self, *args, **kwargs):
            seen.append(kwargs["grid"])
            return super().run(*args, **kwargs)

    kernel = Watched(fill.fn)
    assert launched(kernel) and seen == [(1,)]


def test_a_getitem_that_was_replaced_stays():
    original, seen = triton.JITFunction.run, []
    with mock.patch.object(triton.JITFunction, "__getitem__", lambda self, grid: lambda *a, **k: seen.append(grid)):
        triton.JITFunction.run = watching(original, [])
        triton.JITFunction.run = original
        fill[(3,)](1)
    assert seen == [(3,)] and launched(fill)


def test_is_pickled_as_before():
    with mock.patch.object(fill, "run", print):
        assert pickle.loads(pickle.dumps(fill)) is fill
    assert pickle.loads(pickle.dumps(fill)) is fill and launched(fill)


torch = pytest.importorskip("torch")


def test_a_tensor_without_memory_is_compiled_for_and_not_launched():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(4)
    with pytest.warns(UserWarning, match="data pointer of FakeTensor"):
        assert fill.warmup(fake, 2.0, N=4, grid=(1,)).name == "fill"
    for tensor in (fake, triton.MockTensor(torch.float32, (4,))):
        with pytest.raises(triton.LaunchError, match=f"class {type(tensor).__name__}|MockTensor has no memory"):
            fill[(1,)](tensor, 2.0, N=4)
        with pytest.raises(triton.LaunchError, match="has no memory"):
            fill[(1,)].bind(tensor, 2.0, N=4)
    bound = fill[(1,)].bind(torch.empty(4), 2.0, N=4)
    with pytest.raises(triton.LaunchError, match="has no memory"):
        bound["x_ptr"] = fake


def test_a_tensor_of_no_elements_is_launched():
    @triton.jit
    def some(x_ptr, n):
        i = tl.arange(0, 4)
        tl.store(x_ptr + i, 1.0, mask=i < n)

    some[(1,)](torch.empty(0), 0)


def test_no_grid_is_no_launch():
    for launch in (lambda: fill[None](np.zeros(4, np.float32), 2.0, N=4),
                   lambda: fill.run(np.zeros(4, np.float32), 2.0, N=4, grid=None)):
        with pytest.raises(triton.LaunchError, match="the grid is None; .*\n.*kernel.warmup"):
            launch()
