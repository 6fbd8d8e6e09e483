"""A kernel that would cost more than a compile may is an error of its text."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.runtime.errors import OutOfResources

SIM = "ptxvm"


@triton.jit
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@triton.jit
def endless(x, n):
    tl.store(x, factorial(n) * 1.0)


@triton.jit
def huge(x):
    tl.store(x + tl.arange(0, 1 << 21), 1.0)


@triton.jit
def deep(x):
    tl.store(x + tl.zeros([1] * 65, tl.int32), 1.0)


@triton.jit
def long(x):
    for i in tl.static_range(1 << 20):
        tl.store(x + i, 1.0)


@triton.jit
def large(x):
    tl.store(x, 2**5000 % 7)


@pytest.mark.parametrize("target", ["cpu", "interp", SIM])
@pytest.mark.parametrize("kernel, args, kind", [(endless, (5,), "RecursionTooDeep"), (huge, (), "TileTooLarge"), (deep, (), "TileRankTooLarge"),
                                                (long, (), "OperationBudget"), (large, (), "ConstTooLarge")])
def test_what_compiling_may_cost_is_an_error_of_the_text(kernel, args, kind, target):
    kernel.target = target
    try:
        with pytest.raises(triton.CompilationError) as raised:
            kernel[(1,)](np.zeros(1, np.float32), *args)
    finally:
        kernel.target = "cpu"
    error = raised.value
    assert error.kind == kind and not isinstance(error, OutOfResources) and isinstance(error, triton.errors.BudgetError)
    assert error.node.lineno > 0 and isinstance(error.__cause__, ValueError)
    if kind == "TileTooLarge":
        assert "exceeds triton maximum tensor numel" in str(error)  # by these words tuners know that a smaller tile helps (Helion)


@triton.jit
def ones(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0, mask=tl.arange(0, B) < n)


def test_a_configuration_beyond_the_budget_of_a_compile_does_not_end_the_tuning():
    tuned = triton.autotune([triton.Config({"B": 1 << 21}), triton.Config({"B": 32})], key=["n"])(ones)
    x = np.zeros(64, np.float32)
    tuned[(1,)](x, 20)
    assert x.sum() == 20 and tuned.best_config.kwargs == {"B": 32}
