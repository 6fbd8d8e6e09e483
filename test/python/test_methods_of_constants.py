"""Numbers and texts that a kernel knows at compile time have Python's methods; a constant's name can be assigned again."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def measuring_kernel(out, K: tl.constexpr, F: tl.constexpr, MODE: tl.constexpr):
    bits: tl.constexpr = triton.next_power_of_2(K).bit_length() - 1
    for i in tl.static_range(0, K.bit_length()):
        tl.store(out + i, bits)
    if MODE.startswith("fast"):
        tl.store(out + 3, F.is_integer())
    first: tl.constexpr = MODE.upper().split("_")[0]
    tl.static_assert(first == "FAST")
    tl.store(out + 4, "{}".format(K).find("5") + K.real)


def test_methods_of_numbers_and_texts():
    out = torch.zeros(5)
    for _ in range(2):
        measuring_kernel[(1,)](out, 5, 2.0, "fast_exp")
        assert out.tolist() == [3, 3, 3, 1, 5]
    compiled = {id(kernel) for cache in measuring_kernel.device_caches.values() for kernel in cache[0].values()}
    assert len(compiled) == 1, "the second launch asks nothing anew"


@triton.jit
def misused_kernel(out, K: tl.constexpr, CASE: tl.constexpr):
    if CASE == "unknown":
        tl.store(out, K.bit_len())
    elif CASE == "raises":
        tl.store(out, K.to_bytes("x"))
    elif CASE == "uncalled":
        tl.store(out, K.bit_length)
    elif CASE == "private":
        tl.store(out, K.__class__)


@pytest.mark.parametrize("case, told", [
    ("unknown", "5 has no attribute `bit_len`"),
    ("raises", "`to_bytes` of 5 raised TypeError"),
    ("uncalled", "not `bit_length` of 5"),
    ("private", "5 has no attribute `__class__`"),
])
def test_misuse_is_told(case, told):
    with pytest.raises(triton.CompilationError, match=told):
        misused_kernel[(1,)](torch.zeros(1), 5, case)


@triton.jit
def reassigning_kernel(out, N: tl.constexpr, n):
    N = N // 2
    tl.store(out, N)
    step: tl.constexpr = 8
    for i in tl.static_range(3):
        tl.store(out + 1 + i, step)
        step = step // 2
    width: tl.constexpr = 4
    if n > 2:
        width = width * 2
    tl.store(out + 4, width)
    for i in range(n):
        inner: tl.constexpr = 2
        inner = inner + i
        tl.store(out + 5, inner)


@pytest.mark.parametrize("n, width, inner", [(1, 4, 2), (3, 8, 4)])
def test_a_constant_that_is_assigned_again_becomes_a_run_time_value(n, width, inner):
    out = torch.zeros(6)
    reassigning_kernel[(1,)](out, 10, n)
    assert out.tolist() == [5, 8, 4, 2, width, inner]
