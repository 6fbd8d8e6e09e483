"""Launches with a TensorDescriptor are launches of the kernel that was written: hooks, names, caches and errors say nothing of
the one that takes descriptors apart."""
import copy
import pickle
import re
from collections import namedtuple

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor

runtime = triton.knobs.runtime


@pytest.fixture(autouse=True)
def fresh():
    with runtime.scope():
        yield


@pytest.fixture
def x():
    return torch.zeros(16, 16)


def describe(x, kind=TensorDescriptor):
    return kind(x, list(x.shape), list(x.stride()), [16, 16])


def make(**options):
    @triton.jit(**options)
    def add(d, n, B: tl.constexpr):
        d.store([0, 0], d.load([0, 0]) + n)

    return add


def test_metadata_and_names_are_the_kernels_own(x):
    seen, d = [], describe(x)
    runtime.launch_enter_hook.add(lambda data: seen.append(data.get()))
    add = make(launch_metadata=lambda grid, metadata, args: {"of": sorted(args), "is_own": args["d"] is d, "grid": grid},
               repr=lambda specialization: f"add_{specialization.signature['d']}_{specialization.constants['B']}")
    kernel = add[(1,)](d, 5, B=4)
    assert seen[0]["of"] == ["B", "d", "n"] and seen[0]["is_own"] and seen[0]["grid"] == (1,) and x[0, 0] == 5
    assert re.sub(r"_\$_", "|", kernel.name) == "add_tensordesc|fp32|16||16||_4"


def test_hooks_of_compiles_are_told_of_the_kernel(x):
    told, after = [], []
    runtime.jit_cache_hook = lambda **each: told.append(each)
    runtime.jit_post_compile_hook = lambda **each: after.append(each["fn"].jit_function)
    add = make()
    for n in (5, 7):
        add[(1,)](describe(x), n, B=4)
    assert len(told) == 1 and told[0]["fn"].jit_function is add and after == [add]
    assert told[0]["compile"]["signature"] == {"d": "tensordesc<fp32[16, 16]>", "n": "i32", "B": "constexpr"}


def test_a_hook_of_compiles_leaves_alone_what_is_compiled(x):
    add = make()
    add[(1,)](describe(x), 5, B=4)
    runtime.jit_cache_hook = lambda **each: True
    assert add[(1,)](describe(x), 5, B=4) is not None and x[0, 0] == 10
    assert make()[(1,)](describe(x), 5, B=4) is None and x[0, 0] == 10


def test_caches_have_the_kernels(x):
    add = make()
    kernel = add[(1,)](describe(x), 5, B=4)
    assert list(add.device_caches[0][0].values()) == [kernel]
    add.device_caches.clear()
    assert not add.device_caches and add[(1,)](describe(x), 5, B=4) is not kernel


@pytest.mark.parametrize("options", [{}, {"stream": 0}])
def test_a_compiled_kernel_is_launched(x, options):
    kernel = make()[(1,)](describe(x), 5, B=4)
    kernel[(1,)](describe(x), 2, 4, **options)
    kernel.run(1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, describe(x), 2, 4)
    assert (x == 9).all()


class Own(TensorDescriptor):
    pass


@pytest.mark.parametrize("make_it", [lambda d: d, copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
                         ids=["itself", "copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("kind", [TensorDescriptor, Own])
def test_subclasses_and_copies_are_descriptors(x, make_it, kind):
    d = make_it(describe(x, kind))
    make()[(1,)](d, 5, B=4)
    assert type(d) is kind and (d.base == 5).all()


def test_a_call_is_bound(x):
    bound = make()[(1,)].bind(describe(x), 5, B=4)
    bound()
    bound["n"] = 2
    bound()
    assert (x == 7).all()


@pytest.mark.parametrize("name", ["_kernel", "_tl", "_class0", "tl_", "d_base", "__kernel"])
def test_parameters_have_any_names(x, name):
    Pair = namedtuple("Pair", "a b")
    scope = {"triton": triton, "tl": tl}
    text = f"@triton.jit\ndef k(d, pair, {name}, F: tl.constexpr = 2):\n    d.store([0, 0], pair.a.load([0, 0]) + {name} + pair.b + F)\n"
    exec(text, scope)
    scope["k"][(1,)](describe(x), Pair(describe(x), 3), 5)
    assert (x == 10).all()


@triton.jit
def wrong(d, n):
    d.store([0, 0], missing)  # noqa: F821


@pytest.mark.parametrize("launch, kind, said", [
    (lambda d: make()[(1,)](d, B=4), triton.LaunchError, "`add` needs a value for its parameter `n`"),
    (lambda d: make()[(1,)](d, 1, 2, 3), triton.LaunchError, "`add` takes 3 arguments, not 4"),
    (lambda d: make()[(1,)](d, 1, d=d), triton.LaunchError, "`add` is given `d` twice"),
    (lambda d: make()[(1,)](d, 1, B=4, zz=1), KeyError, "its parameters: d, n, B;"),
    (lambda d: make()[(1,)](d, 1, B=4, num_warps=3), triton.LaunchError, "def add(d, n, B: tl.constexpr):"),
    (lambda d: make()[(1,)](d, "text", B=4), triton.LaunchError, "parameter `n` of kernel `add`"),
    (lambda d: wrong[(1,)](d, 1), triton.CompilationError, "`missing` is not defined"),
])
def test_errors_speak_of_what_was_written(x, launch, kind, said):
    with pytest.raises(kind) as raised:
        launch(describe(x))
    text = str(raised.value)
    assert said in text
    for generated in ("descriptors", "d_base", "d_shape0", "_kernel", "make_tensor_descriptor"):
        assert generated not in text
        assert all(generated not in f"{each.file}{each.message}{each.hint}" for each in raised.value.diagnostics)


def test_the_place_of_an_error_is_the_kernels(x):
    with pytest.raises(KeyError) as raised:
        wrong[(1,)](describe(x), 1, zz=1)
    line = wrong.def_file_line_number
    assert str(raised.value).startswith(f"{__file__}:{line}:5: error: ") and f"{line:5} | def wrong(d, n):" in str(raised.value)
    assert (raised.value.diagnostics[0].line, raised.value.diagnostics[0].file) == (line, __file__)


def test_a_grid_sees_the_parameters_that_were_written(x):
    seen = []
    make()[lambda meta: seen.append(sorted(meta)) or (1,)](describe(x), 1, B=4)
    assert seen == [["B", "d", "n"]]


def test_the_rest_of_the_arguments_has_descriptors(x):
    @triton.jit
    def kernel(d, n, *rest, F: tl.constexpr = 1):
        for each in rest:
            d.store([0, 0], d.load([0, 0]) + each.load([0, 0]) + n + F)

    kernel[(1,)](describe(x), 2, describe(torch.ones(16, 16)), describe(torch.ones(16, 16)), F=3)
    assert (x == 12).all()


def test_values_are_not_rounded(x):
    with pytest.raises(NotImplementedError, match="round_f32_to_tf32"):
        TensorDescriptor.from_tensor(x, [16, 16], round_f32_to_tf32=True)
    with pytest.raises(AssertionError, match="only supported for float32"):
        TensorDescriptor.from_tensor(x.half(), [16, 16], round_f32_to_tf32=True)
    assert TensorDescriptor.from_tensor(np.zeros((16, 16), np.float32), [16, 16]).round_f32_to_tf32 is False
