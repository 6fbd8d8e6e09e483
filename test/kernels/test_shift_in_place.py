"""Clauses M1, M2 and M13 of docs/language/memory-model.md: what a program does to memory it also reads."""
import pytest
import torch

from contract import assert_same
from kernels.shift_in_place import (reload_kernel, reverse_kernel, running_kernel, shift_by_one_kernel, shift_kernel,
                                    swap_kernel)

DTYPES = [torch.float32, torch.float16, torch.int8, torch.int64]
SIZES = [0, 1, 2, 127, 128, 200, 255]


def counting(n, dtype=torch.float32):
    return (torch.arange(n) % 113 + 1).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_shift_by_one(target, n, dtype):
    """M2"""
    buffer = counting(260, dtype)
    expected = buffer.clone()
    expected[1:n + 1] = buffer[:n]
    shift_by_one_kernel[(1,)](buffer, n, BLOCK=256)
    assert_same(buffer, expected)


@pytest.mark.parametrize("distance", [-70, -16, -1, 0, 1, 2, 7, 16, 63, 64, 130])
def test_shift_by_a_distance_known_at_run_time(target, distance):
    """M2, M13: one compiled kernel for distances that overlap and that do not"""
    buffer, n, start = counting(500), 100, 150
    expected = buffer.clone()
    expected[start + distance:start + distance + n] = buffer[start:start + n]
    shift_kernel[(1,)](buffer[start:], n, distance, BLOCK=128)
    assert_same(buffer, expected)


@pytest.mark.parametrize("n", SIZES)
def test_reverse(target, n):
    """M2"""
    buffer = counting(256)
    expected = buffer.clone()
    expected[:n] = buffer[:n].flip(0)
    reverse_kernel[(1,)](buffer, n, BLOCK=256)
    assert_same(buffer, expected)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("block", [1, 5, 32])
def test_trips_of_a_loop_see_the_trips_before(target, n, block):
    """M1"""
    buffer = counting(128)
    expected = buffer.clone()
    for start in range(0, n, block):
        end = min(start + block, n)
        expected[start + 1:end + 1] = expected[start:end].clone() + 1
    running_kernel[(1,)](buffer, n, BLOCK=block)
    assert_same(buffer, expected)


@pytest.mark.parametrize("overlap", [0, 1, 8, 63, 64])
def test_swap_of_overlapping_ranges(target, overlap):
    """M1, M6: the second store wins where both write"""
    if target in ("cuda", "sim") and overlap not in (0, 64):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    n, buffer = 64, counting(160)
    a, b = buffer[:n], buffer[n - overlap:2 * n - overlap]
    expected = buffer.clone()
    old_a, old_b = a.clone(), b.clone()
    expected[:n] = old_b
    expected[n - overlap:2 * n - overlap] = old_a
    swap_kernel[(1,)](a, b, n, BLOCK=64)
    assert_same(buffer, expected)


@pytest.mark.parametrize("distance", [0, 1, 3, 16, 63, 64, 100])
def test_a_load_after_a_store_sees_it(target, distance):
    """M1, M2, M14: the value loaded before must not be used again where the store changed it"""
    if target in ("cuda", "sim") and distance not in (0, 64, 100):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    n, buffer, out = 64, counting(200), torch.zeros(64)
    before = buffer[:n].clone()
    expected = buffer.clone()
    expected[distance:distance + n] = before * 2
    reload_kernel[(1,)](buffer, buffer[distance:], out, n, BLOCK=64)
    assert_same(buffer, expected)
    assert_same(out, before * 1000 + expected[:n])
