"""A kernel that needs more than a device has is out of resources, with numbers."""
import copy
import pickle

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.runtime.errors import OutOfResources

SIM = "ptxvm"


@triton.jit
def fill(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, 1.0, mask=i < n)


@triton.jit
def product(x, o, B: tl.constexpr, K: tl.constexpr):
    i, k = tl.arange(0, B), tl.arange(0, K)
    total = tl.zeros([B, B], tl.float32)
    for trip in range(8):
        a = tl.load(x + i[:, None] * 1024 + trip * K + k[None, :])
        total = tl.dot(a, tl.trans(a), total)
    tl.store(o + i[:, None] * B + i[None, :], total)


def on_sim(kernel, *args, **kwargs):
    kernel.target = SIM
    try:
        return kernel[(1,)](*args, **kwargs)
    finally:
        kernel.target = "cpu"


def over(call):
    with pytest.raises(OutOfResources) as raised:
        call()
    error = raised.value
    assert f"out of resource: {error.name}, Required: {error.required}, Hardware limit: {error.limit}" in str(error)
    assert error.required > error.limit and not isinstance(error, triton.CompilationError)
    return error


@pytest.mark.parametrize("run", [lambda x: on_sim(fill, x, 64, B=64, num_warps=64),
                                 lambda x: triton.compile(triton.compiler.ASTSource(fill, {"x": "*fp32", "n": "i32"}, {"B": 64}),
                                                          target=triton.backends.compiler.GPUTarget("cuda", 90, 32), options={"num_warps": 64})],
                         ids=["launch", "compile"])
def test_more_threads_than_a_block_has(run):
    x = np.zeros(64, np.float32)
    error = over(lambda: run(x))
    assert (error.required, error.limit, error.name) == (2048, 1024, "threads") and not x.any()


def test_a_configuration_of_too_many_warps_does_not_end_the_tuning():
    tuned = triton.autotune([triton.Config({"B": 64}, num_warps=64), triton.Config({"B": 32}, num_warps=4)], key=["n"])(fill)
    x, fill.target = np.zeros(64, np.float32), SIM
    try:
        tuned[lambda meta: (triton.cdiv(64, meta["B"]),)](x, 64)
    finally:
        fill.target = "cpu"
    assert x.all() and tuned.best_config.num_warps == 4
    assert next(times for config, times in tuned.configs_timings.items() if config.num_warps == 64)[0] == float("inf")


def test_more_shared_memory_than_a_block_has():
    x, out = np.zeros(128 * 1024, np.float16), np.zeros(128 * 128, np.float32)
    error = over(lambda: on_sim(product, x, out, B=128, K=256, num_stages=8))
    assert error.name == "shared memory" and error.limit == 227 * 1024 and "num_stages=" in error.diagnostics[0].hint


def test_more_arguments_than_a_kernel_has():
    @triton.jit
    def kernel(*pointers):
        tl.store(pointers[0], 1.0)

    error = over(lambda: on_sim(kernel, *[np.zeros(1, np.float32)] * 4095))
    assert (error.limit, error.name) == (32764, "arguments")


def test_where_no_configuration_can_run_the_numbers_are_those_of_the_first():
    tuned = triton.autotune([triton.Config({"B": 64}, num_warps=warps) for warps in (128, 256)], key=["n"])(fill)
    error = over(lambda: tuned[(1,)](np.zeros(64, np.float32), 64))
    assert (error.required, error.name) == (4096, "threads") and "no configuration of `fill` can run" in str(error)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "deepcopy", "pickle"])
def test_the_numbers_of_an_error_stay(again):
    for error in (over(lambda: on_sim(fill, np.zeros(64, np.float32), 64, B=64, num_warps=64)), OutOfResources(3, 2, "threads"),
                  OutOfResources(required=3, limit=2, name="tensor memory")):
        other = again(error)
        assert (other.required, other.limit, other.name, str(other)) == (error.required, error.limit, error.name, str(error))
        assert other.args == (error.required, error.limit, error.name)


def test_an_error_without_numbers_says_none():
    error = triton.errors.make_error(triton.errors.RESOURCE, "there is no memory", [])
    assert isinstance(error, OutOfResources) and (error.required, error.limit, error.name) == (None, None, "there is no memory")
