"""Atomics: what memory holds afterwards, what each call gives back, masks, several programs."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def rmw_kernel(x_ptr, value_ptr, old_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    value = tl.load(value_ptr + i, mask=mask)
    if OP == "add":
        old = tl.atomic_add(x_ptr + i, value, mask=mask)
    elif OP == "max":
        old = tl.atomic_max(x_ptr + i, value, mask=mask)
    elif OP == "min":
        old = tl.atomic_min(x_ptr + i, value, mask=mask)
    elif OP == "and":
        old = tl.atomic_and(x_ptr + i, value, mask=mask)
    elif OP == "or":
        old = tl.atomic_or(x_ptr + i, value, mask=mask)
    elif OP == "xor":
        old = tl.atomic_xor(x_ptr + i, value, mask=mask)
    else:
        old = tl.atomic_xchg(x_ptr + i, value, mask=mask)
    tl.store(old_ptr + i, old)


@triton.jit
def count_kernel(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Many elements of many programs meet at one address."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(counts_ptr + x % BINS, 1, mask=i < n, sem="relaxed")


@triton.jit
def scalar_kernel(x_ptr, old_ptr):
    """One update a program, not one a lane."""
    old = tl.atomic_add(x_ptr, 1)
    tl.store(old_ptr + old, tl.program_id(0))


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def accumulate_kernel(x_ptr, value_ptr, n, SEM: tl.constexpr, BLOCK: tl.constexpr):
    """Nobody wants what was there: neighbours may be added together."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(x_ptr + i, tl.load(value_ptr + i, mask=i < n), mask=i < n, sem=SEM)


@triton.jit
def cas_kernel(x_ptr, old_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(old_ptr + i, tl.atomic_cas(x_ptr + i, 3, i.to(x_ptr.dtype.element_ty)))


@triton.jit
def lock_kernel(lock_ptr, x_ptr, out_ptr, SEM: tl.constexpr):
    """A lock around a plain load and store: the order that acquire and release make."""
    while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire") == 1:
        pass
    tl.store(out_ptr, tl.load(out_ptr, volatile=True) + tl.load(x_ptr + tl.program_id(0)))
    tl.atomic_xchg(lock_ptr, 0, sem=SEM)


INTEGERS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
            "xor": np.bitwise_xor, "xchg": lambda old, new: new}


def run(op, x, value, n):
    memory, old = x.copy(), np.full_like(x, 99)
    rmw_kernel[(1,)](memory, value, old, n, OP=op, BLOCK=len(x))
    return memory, old


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("op", INTEGERS)
@pytest.mark.parametrize("n", [0, 1, 33, 64])
def test_integers(target, n, op, dtype):
    info = np.iinfo(dtype)
    x, value = np.random.default_rng(n).integers(info.min, info.max, (2, 64), dtype=dtype, endpoint=True)
    memory, old = run(op, x, value, n)
    on = np.arange(64) < n
    np.testing.assert_array_equal(memory, np.where(on, INTEGERS[op](x, value), x))
    np.testing.assert_array_equal(old[:n], x[:n])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["add", "max", "min", "xchg"])
@pytest.mark.parametrize("n", [1, 48])
def test_floats(target, n, op, dtype):
    x, value = np.random.default_rng(n).standard_normal((2, n)).astype(dtype)
    x[0], value[0] = -0.5, 0.25  # signs that differ, both ways
    x[-1], value[-1] = 0.5, -0.25
    memory, old = run(op, x, value, n)
    np.testing.assert_array_equal(memory, {**INTEGERS, "add": np.add}[op](x, value))
    np.testing.assert_array_equal(old, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_add(target, dtype):
    x, value = torch.randn(2, 31, generator=torch.Generator().manual_seed(0)).to(dtype)
    memory, old = x.clone(), torch.zeros_like(x)
    rmw_kernel[(1,)](memory, value, old, 31, OP="add", BLOCK=31)
    assert torch.equal(memory, x + value) and torch.equal(old, x)


@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
@pytest.mark.parametrize("n", [3, 1000, 1024])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_neighbours_add(target, dtype, n, sem):
    x, value = torch.randn(2, 1024, generator=torch.Generator().manual_seed(n)).to(dtype)
    memory = x.clone()
    accumulate_kernel[(2,)](memory, value, n, SEM=sem, BLOCK=512)
    assert torch.equal(memory, torch.cat([(x + value)[:n], x[n:]]))


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_elements_of_one_address_all_count(target, n):
    x = np.random.default_rng(n).integers(0, 50, n).astype(np.int32)
    counts = np.zeros(7, np.int32)
    count_kernel[(triton.cdiv(n, 64),)](x, counts, n, BINS=7, BLOCK=64)
    np.testing.assert_array_equal(counts, np.bincount(x % 7, minlength=7))


@triton.jit
def one_sided_kernel(x_ptr, out_ptr, seen_ptr, n, LOAD: tl.constexpr, STORE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.atomic_load(x_ptr + i, mask=i < n, sem=LOAD)
    tl.store(seen_ptr + i, x)
    (out_ptr + i).atomic_store(x + 1, mask=i < n, sem=STORE)


@pytest.mark.parametrize("orders", [("acquire", "release"), ("relaxed", "relaxed")])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_loads_and_stores_in_one_step(target, dtype, orders):
    x, out, seen = np.arange(40, dtype=dtype) - (dtype[0] == "f") * 0.5, np.full(40, 7, dtype), np.full(40, 9, dtype)
    before = x.copy()
    one_sided_kernel[(1,)](x, out, seen, 33, LOAD=orders[0], STORE=orders[1], BLOCK=40)
    on = np.arange(40) < 33
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(seen[on], x[on])
    np.testing.assert_array_equal(out, np.where(on, x + 1, 7))


@triton.jit
def relaxed_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.atomic_load(x_ptr + i, sem="relaxed"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "int64"])
def test_relaxed_loads_of_all_types(target, dtype):
    x, out = (np.arange(16) % 3).astype(dtype), np.zeros(16, dtype)
    relaxed_kernel[(1,)](x, out, BLOCK=16)
    np.testing.assert_array_equal(out, x)


@triton.jit
def message_kernel(flag_ptr, word_ptr, out_ptr):
    """The first program sends a word with a flag; the second one waits for the flag."""
    if tl.program_id(0) == 0:
        tl.store(word_ptr, 42)
        tl.atomic_store(flag_ptr, 1)
    else:
        while tl.atomic_load(flag_ptr) == 0:
            pass
        tl.store(out_ptr, tl.load(word_ptr))


def test_what_stands_ahead_of_a_release_is_seen_behind_the_acquire(target):
    flag, word, out = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    message_kernel[(2,)](flag, word, out)
    assert (flag[0], out[0]) == (1, 42)


@triton.jit
def relay_kernel(turn_ptr, out_ptr, ORDER: tl.constexpr):
    # Each program waits for its turn: those before it have lower numbers (P7).
    pid = tl.program_id(0)
    arrived = tl.atomic_poll(turn_ptr, pid, sem=ORDER)
    tl.store(out_ptr + pid, arrived.to(tl.int32) + tl.load(out_ptr + pid - 1, mask=pid > 0, other=0, volatile=True))
    tl.atomic_add(turn_ptr, 1, sem="release")


@pytest.mark.parametrize("order", ["acquire", "relaxed"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_programs_wait_for_their_turn(target, dtype, order):
    turn, out = np.zeros(1, dtype), np.zeros(20, np.int32)
    relay_kernel[(20,)](turn, out, ORDER=order)
    assert turn[0] == 20
    if order == "acquire":
        np.testing.assert_array_equal(out, np.arange(1, 21))


@pytest.mark.parametrize("programs", [1, 50])
def test_scalars_count_programs(target, programs):
    x, old = np.zeros(1, np.int32), np.full(programs, -1, np.int32)
    scalar_kernel[(programs,)](x, old)
    assert x[0] == programs
    np.testing.assert_array_equal(np.sort(old), np.arange(programs))


@pytest.mark.parametrize("n", [5, 1000])
def test_sums_over_programs(target, n):
    x, out = np.random.default_rng(n).integers(-50, 50, n).astype(np.float32), np.zeros(1, np.float32)
    sum_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)
    assert out[0] == x.sum()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "int16"])
def test_compare_and_swap(target, dtype):
    x = (np.arange(40) % 5).astype(dtype)
    memory, old = x.copy(), np.zeros_like(x)
    cas_kernel[(1,)](memory, old, BLOCK=40)
    np.testing.assert_array_equal(memory, np.where(x == 3, np.arange(40).astype(dtype), x))
    np.testing.assert_array_equal(old, x)


@pytest.mark.parametrize("sem", ["release", "acq_rel"])
def test_lock(target, sem):
    x, lock, out = np.arange(1, 21, dtype=np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    lock_kernel[(20,)](lock, x, out, SEM=sem)
    assert out[0] == x.sum() and lock[0] == 0
