"""Arguments of a launch whose class says nothing of what they are: what stands for a tensor, and what stands for nothing."""
import types
import weakref
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


class Proxy:
    """Passes all questions on."""

    def __init__(self, tensor):
        self.__dict__["tensor"] = tensor

    def __getattr__(self, name):
        return getattr(self.tensor, name)


class Failing:
    def __getattr__(self, name):
        raise ValueError(name)


@triton.jit
def store(x, value):
    tl.store(x, value)


@triton.jit
def constant(x, C: tl.constexpr):
    tl.store(x, 1.0)


@triton.jit
def first(pair, value):
    tl.store(pair[0], value)


PROXIES = {"getattr": Proxy, "weakref": weakref.proxy,
           "namespace": lambda x: types.SimpleNamespace(data_ptr=x.data_ptr, dtype=x.dtype)}


@pytest.mark.parametrize("kind", PROXIES)
def test_what_answers_as_a_tensor_is_one(kind):
    x = torch.zeros(4)
    proxy = PROXIES[kind](x)
    for value in (2, 3):
        store[(1,)](proxy, value)
        assert x[0] == value
    first[(1,)]((proxy, 1), 4)
    assert x[0] == 4
    hook = lambda data: None  # noqa: E731
    triton.knobs.runtime.launch_enter_hook.add(hook)
    try:
        store[(1,)](proxy, 5)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(hook)
    assert x[0] == 5


def test_a_proxy_of_nothing_stores_nothing():
    store[(0,)](Proxy(torch.zeros(0)), 1)


@pytest.mark.parametrize("value", [Mock(), MagicMock(), Failing(), types.SimpleNamespace(data_ptr=lambda: -16, dtype=torch.float32),
                                   types.SimpleNamespace(data_ptr=lambda: 0, dtype=torch.float32)], ids=lambda v: type(v).__name__)
def test_what_is_no_argument_is_told_by_its_class(value):
    with pytest.raises(triton.LaunchError, match=f"`x` of kernel `store` was given the constant a {type(value).__name__}"):
        store[(1,)](value, 1)
    x = np.zeros(1, np.float32)
    constant[(1,)](x, value)
    assert x[0] == 1


@pytest.mark.parametrize("value", [memoryview(b"abcd"), bytearray(4)], ids=lambda v: type(v).__name__)
def test_buffers_have_no_type(value):
    with pytest.raises(TypeError, match=f"a {type(value).__name__} says no type"):
        store[(1,)](value, 1)


def test_long_values_are_told_in_short():
    x = np.zeros(1, np.float32)
    with pytest.raises(triton.LaunchError, match="a text of 70000 characters; it may have 65536 bytes"):
        constant[(1,)](x, "a" * 70000)
    with pytest.raises(triton.CompilationError) as raised:
        store[(1,)](x, tuple(range(5000)))
    assert len(str(raised.value)) < 2500 and "tl.store" in str(raised.value)
    assert all(len(each.message) < 1500 for each in raised.value.diagnostics)
