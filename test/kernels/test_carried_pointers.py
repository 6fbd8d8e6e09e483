"""Clauses M1, M2 and M12 where the address of an access is chosen at run time: pointers that a loop carries or
swaps, a branch picks, a select joins, or that were integers on the way. Neighbours meet, so a missing barrier
is a race, which the target `ptxvm` reports."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same

B = 256


@triton.jit
def swapped(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    src, dst = a, b
    for _ in range(n):
        tl.store(dst + i, tl.load(src + (i + 1) % B) + 1)
        src, dst = dst, src


@triton.jit
def swapped_tiles(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    src, dst = a + (i + 1) % B, b + i
    back, ahead = b + (i + 1) % B, a + i
    for _ in range(n):
        tl.store(dst, tl.load(src) + 1)
        src, dst, back, ahead = back, ahead, src, dst


@triton.jit
def rotated_in_while(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    src, dst = a, b
    k = 0
    while k < n:
        tl.store(dst + i, tl.load(src + (i + 1) % B) + 1)
        src, dst = dst, src
        k += 1


@triton.jit
def swapped_in_inner_loop(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    src, dst = b, a
    for k in range(n):
        for _ in range(k % 2 + 1, 2):
            src, dst = dst, src
        if k % 2 == 1:
            src, dst = dst, src
        tl.store(dst + i, tl.load(src + (i + 1) % B) + 1)


@triton.jit
def picked_by_branch(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        if k % 2 == 0:
            src = a
            dst = b
        else:
            src = b
            dst = a
        tl.store(dst + i, tl.load(src + (i + 1) % B) + 1)


@triton.jit
def selected(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        even = k % 2 == 0
        src, dst = tl.where(even, a, b), tl.where(even, b, a)
        tl.store(dst + i, tl.load(src + (i + 1) % B) + 1)


@triton.jit
def selected_tiles(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        even = k % 2 == 0
        value = tl.load(tl.where(even, a + (i + 1) % B, b + (i + 1) % B))
        tl.store(tl.where(even, b + i, a + i), value + 1)


@triton.jit
def swapped_as_integers(a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    src, dst = a.to(tl.int64), b.to(tl.int64)
    for _ in range(n):
        source, target = src.to(tl.pointer_type(tl.int32)), dst.to(tl.pointer_type(tl.int32))
        tl.store(target + i, tl.load(source + (i + 1) % B) + 1)
        src, dst = dst, src


KERNELS = [swapped, swapped_tiles, rotated_in_while, swapped_in_inner_loop, picked_by_branch, selected, selected_tiles,
           swapped_as_integers]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_each_trip_sees_what_the_last_one_stored(target, kernel, trips):
    a, b = torch.arange(B, dtype=torch.int32) % 97, torch.zeros(B, dtype=torch.int32)
    expected = [a.clone(), b.clone()]
    for k in range(trips):
        expected[(k + 1) % 2] = expected[k % 2].roll(-1) + 1
    kernel[(1,)](a, b, trips, B=B)
    assert_same(a, expected[0])
    assert_same(b, expected[1])


@triton.jit
def waits_by_reading(flag, out, n):
    k = 0
    while tl.load(flag) + k < n:
        tl.debug_barrier()
        k += 1
    tl.store(flag, k)
    tl.store(out, k)


def test_a_store_behind_a_loop_waits_for_the_loads_of_its_condition(target):
    """The condition's last load is pending where the body ends in a barrier."""
    flag, out = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    waits_by_reading[(1,)](flag, out, 5)
    assert flag.item() == out.item() == 4
