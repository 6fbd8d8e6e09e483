"""AsyncCompileMode: kernels that are compiled on the threads of an executor."""
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x, B: tl.constexpr, F: tl.constexpr):
    tl.store(x, B * 1.0 + F)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def values_of(kernels):
    values = []
    for compiled in kernels:
        x = torch.zeros(1)
        compiled.run(1, 1, 1, 0, compiled.function, compiled.packed_metadata, None, None, None, x, 0, 0)
        values.append(x.item())
    return values


def test_constants_and_their_types_make_other_kernels(pool):
    pairs = [(2, 0.5), (3, 0.25), (1, 0.0), (True, 0.0), (1, 1)]
    with triton.AsyncCompileMode(pool):
        futures = [kernel.warmup(torch.float32, b, F=f, grid=(1,)) for b, f in pairs]
        assert kernel.warmup(torch.float32, 2, F=0.5, grid=(1,)) is futures[0]
    assert len(set(map(id, futures))) == len(pairs)
    assert values_of(future.result() for future in futures) == [2.5, 3.25, 1, 1, 2]


def test_options_and_constants_in_tuples_make_other_kernels(pool):
    @triton.jit
    def chosen(x, C: tl.constexpr):
        tl.store(x, C[0] + C[1])

    with triton.AsyncCompileMode(pool):
        futures = [chosen.warmup(torch.float32, pair, grid=(1,), **options)
                   for pair, options in (((1, 2), {}), ((1.5, 2), {}), ((1, 2), {"num_warps": 8}))]
    assert [future.result().metadata.num_warps for future in futures] == [4, 4, 8]
    assert futures[0].result() is not futures[1].result()


def test_numbers_of_one_kind_are_one_kernel(pool):
    @triton.jit
    def stored(x, n):
        tl.store(x, n)

    with triton.AsyncCompileMode(pool):
        futures = [stored.warmup(torch.float32, n, grid=(1,)) for n in (3, 5, 16, 1, 2.5)]
    assert futures[0] is futures[1] and len(set(map(id, futures))) == 4


def test_a_future_is_launched(pool):
    x = np.zeros(1, np.float32)
    with triton.AsyncCompileMode(pool):
        future = kernel.warmup(x, 7, 0.5, grid=(1,))
        future[(1,)](x, 7, 0.5)
    assert x[0] == 7.5


def test_upstreams_signatures():
    done, failed, told = Future(), Future(), []
    done.set_result(3)
    failed.set_exception(KeyError("no"))
    assert triton.FutureKernel(told.append, done).result() == 3
    assert triton.FutureKernel(told.append, told.append, done).result() == 3 and told == [3, 3]
    assert triton.FutureKernel(told.append, told.append, failed).result(ignore_errors=True) is None
    assert told[-1].future is failed
    mode = triton.AsyncCompileMode(None)
    mode.future_kernels["key"] = 5
    assert mode.submit("key", None, None, None) == 5


def test_a_compile_that_fails_is_told_when_the_block_ends(pool):
    @triton.jit
    def wrong(x):
        tl.static_assert(False)

    mode = triton.AsyncCompileMode(pool)
    with pytest.raises(triton.CompileTimeAssertionFailure), mode:
        wrong.warmup(torch.float32, grid=(1,))
    with mode:  # and the mode is usable again
        kernel.warmup(torch.float32, 9, 0, grid=(1,))
    with triton.AsyncCompileMode(pool, ignore_errors=True):
        wrong.warmup(torch.float32, grid=(1,))
