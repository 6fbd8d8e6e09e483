"""Loads, stores and atomics."""
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def masked_load_kernel(x_ptr, out_ptr, n, OTHER: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if OTHER is None:
        x = tl.load(x_ptr + i, mask=i < n)
    else:
        x = tl.load(x_ptr + i, mask=i < n, other=OTHER)
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("other", [None, 0, 5, -3])
def test_masked_elements_are_other_or_zero(device, other, name):
    x = torch.arange(1, 65, device=device).to(getattr(torch, name))
    out = torch.full((64,), 9, dtype=x.dtype, device=device)
    masked_load_kernel[(1,)](x, out, 37, OTHER=other, N=64)
    expected = x.clone()
    expected[37:] = other or 0
    assert torch.equal(out, expected)


@triton.jit
def scalar_access_kernel(x_ptr, out_ptr, flag):
    a = tl.load(x_ptr)
    b = tl.load(x_ptr + 1, mask=flag > 0, other=40)
    tl.store(out_ptr, a + b)
    tl.store(out_ptr + 1, 7, mask=flag > 0)


@pytest.mark.parametrize("flag", [0, 1, 2])
def test_masked_scalars(device, flag):
    x, out = torch.tensor([1, 2], device=device), torch.zeros(2, dtype=torch.int64, device=device)
    scalar_access_kernel[(1,)](x, out, flag)
    assert out.tolist() == ([3, 7] if flag else [41, 0])


@triton.jit
def other_tile_kernel(x_ptr, out_ptr):
    r, c = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
    x = tl.load(x_ptr + r * 8 + c, mask=c < 5, other=r * 100)
    y = tl.load(x_ptr + r * 8 + c, mask=(r < 2) & (c > 1), other=-1)
    tl.store(out_ptr + r * 8 + c, x + y, mask=c != 3)


def test_masks_and_other_are_spread_over_the_pointers(device):
    x = torch.arange(32, dtype=torch.int32, device=device).reshape(4, 8)
    out = torch.full_like(x, -9)
    other_tile_kernel[(1,)](x, out)
    r, c = torch.arange(4)[:, None], torch.arange(8)[None, :]
    xs = x.cpu()
    expected = torch.where(c < 5, xs, r * 100) + torch.where((r < 2) & (c > 1), xs, -1)
    assert torch.equal(out.cpu(), torch.where(c != 3, expected, -9).int())


@triton.jit
def spread_value_kernel(out_ptr):
    r, c = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
    tl.store(out_ptr + r * 8 + c, r)
    tl.store(out_ptr + 32 + r * 8 + c, c)
    tl.store(out_ptr + 64 + r * 8 + c, 5)


def test_stored_values_are_spread(device):
    out = torch.zeros(3, 4, 8, dtype=torch.int32, device=device)
    spread_value_kernel[(1,)](out)
    assert torch.equal(out.cpu(), torch.stack([torch.arange(4)[:, None].expand(4, 8), torch.arange(8).expand(4, 8), torch.full((4, 8), 5)]).int())


@triton.jit
def booleans_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i)
    tl.static_assert(x.dtype == tl.int1)
    tl.store(out_ptr + i, tl.where(x, i, -i))
    tl.store(x_ptr + i, ~x)


def test_booleans_in_memory(device):
    x = torch.arange(16, device=device) % 3 == 0
    before, out = x.clone(), torch.zeros(16, dtype=torch.int32, device=device)
    booleans_kernel[(1,)](x, out)
    i = torch.arange(16, device=device)
    assert torch.equal(out, torch.where(before, i, -i).int()) and torch.equal(x, ~before)


@triton.jit
def hints_kernel(x_ptr, out_ptr, MODIFIER: tl.constexpr, POLICY: tl.constexpr, STORE: tl.constexpr):
    i = tl.arange(0, 128)
    x = tl.load(x_ptr + i, cache_modifier=MODIFIER, eviction_policy=POLICY)
    tl.store(out_ptr + i, x + 1, cache_modifier=STORE)


@pytest.mark.parametrize("modifier, policy, store", [("", "", ""), (".ca", "", ".wb"), (".cg", "", ".cg"), (".cv", "", ".cs"),
                                                     ("", "evict_first", ".wt"), ("", "evict_last", "")])
def test_hints_of_caches_change_nothing(device, modifier, policy, store):
    x = torch.arange(128, dtype=torch.int32, device=device)
    out = torch.zeros_like(x)
    hints_kernel[(1,)](x, out, MODIFIER=modifier, POLICY=policy, STORE=store)
    assert torch.equal(out, x + 1)


@triton.jit
def pointers_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 16)
    p = tl.where(i % 2 == 0, x_ptr + i, y_ptr + i)
    tl.store(out_ptr + i, tl.load(p))
    q = i + x_ptr
    tl.store(out_ptr + 16 + i, tl.load(q + 15 - 2 * i))
    x_ptr += 4
    tl.store(out_ptr + 32, tl.load(x_ptr - 1))


def test_pointers_are_values(device):
    x, y = torch.arange(16, device=device), torch.arange(100, 116, device=device)
    out = torch.zeros(33, dtype=torch.int64, device=device)
    pointers_kernel[(1,)](x, y, out)
    i = torch.arange(16)
    assert out.tolist() == torch.where(i % 2 == 0, i, i + 100).tolist() + list(range(15, -1, -1)) + [3]


@triton.jit
def optional_kernel(x_ptr, bias_ptr, out_ptr, HAS_BIAS: tl.constexpr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + i)
    if HAS_BIAS:
        x *= tl.load(bias_ptr + i)
    tl.store(out_ptr + i, x)


def test_none_is_a_constant(device):
    x = torch.arange(8., device=device)
    for bias in (None, torch.arange(8., device=device) + 1):
        out = torch.zeros(8, device=device)
        optional_kernel[(1,)](x, bias, out, HAS_BIAS=bias is not None)
        assert torch.equal(out, x if bias is None else (x + bias) * bias)


# --- atomics -----------------------------------------------------------------------------------


@triton.jit
def atomic_kernel(x_ptr, v_ptr, old_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(v_ptr + i)
    p = x_ptr + i
    if OP == "add":
        old = tl.atomic_add(p, v)
    elif OP == "max":
        old = tl.atomic_max(p, v)
    elif OP == "min":
        old = tl.atomic_min(p, v)
    elif OP == "and":
        old = tl.atomic_and(p, v)
    elif OP == "or":
        old = tl.atomic_or(p, v)
    elif OP == "xor":
        old = tl.atomic_xor(p, v)
    else:
        old = tl.atomic_xchg(p, v)
    tl.store(old_ptr + i, old)


ATOMICS = {"add": torch.add, "max": torch.maximum, "min": torch.minimum, "and": torch.bitwise_and, "or": torch.bitwise_or,
           "xor": torch.bitwise_xor, "xchg": lambda x, v: v}


@pytest.mark.parametrize("name", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("op", list(ATOMICS))
def test_atomics_return_what_was_there(device, op, name):
    if "float" in name and op in ("and", "or", "xor"):
        pytest.skip("floats have no bits here")
    x = (torch.arange(16) * 7 % 11 - 5).to(getattr(torch, name)).to(device)
    v = (torch.arange(16) * 5 % 13 - 6).to(getattr(torch, name)).to(device)
    before, old = x.clone(), torch.zeros_like(x)
    atomic_kernel[(1,)](x, v, old, OP=op, N=16)
    assert torch.equal(old, before) and torch.equal(x, ATOMICS[op](before, v))


@triton.jit
def count_kernel(counter_ptr, total_ptr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    tl.atomic_add(counter_ptr, 1, sem=SEM, scope=SCOPE)
    i = tl.arange(0, 32)
    tl.atomic_add(total_ptr + i % 4, i, mask=i < 30)


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("scope", ["gpu", "cta", "sys"])
def test_atomics_of_many_programs_add_up(device, sem, scope):
    counter, total = torch.zeros(1, dtype=torch.int32, device=device), torch.zeros(4, dtype=torch.int32, device=device)
    count_kernel[(50,)](counter, total, SEM=sem, SCOPE=scope if scope != "cta" else "gpu")
    i = torch.arange(30)
    assert counter.item() == 50 and total.tolist() == [50 * int(i[i % 4 == k].sum()) for k in range(4)]


@triton.jit
def swap_kernel(x_ptr, out_ptr):
    a = tl.atomic_cas(x_ptr, 5, 9)
    b = tl.atomic_cas(x_ptr, 7, 1)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)


@pytest.mark.parametrize("start, end, olds", [(5, 9, [5, 9]), (7, 1, [7, 7]), (6, 6, [6, 6])])
def test_compare_and_swap(device, start, end, olds):
    x, out = torch.tensor([start], dtype=torch.int32, device=device), torch.zeros(2, dtype=torch.int32, device=device)
    swap_kernel[(1,)](x, out)
    assert x.item() == end and out.tolist() == olds


@triton.jit
def lock_kernel(lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    x = tl.load(x_ptr)
    tl.store(x_ptr, x + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_guards_what_it_guards(device):
    lock, x = torch.zeros(1, dtype=torch.int32, device=device), torch.zeros(1, dtype=torch.int32, device=device)
    lock_kernel[(40,)](lock, x)
    assert x.item() == 40


@triton.jit
def half_add_kernel(x_ptr, v_ptr):
    i = tl.arange(0, 16)
    tl.atomic_add(x_ptr + i, tl.load(v_ptr + i), mask=i < 13, sem="relaxed")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_atomic_add_of_halves(device, name):
    dtype = getattr(torch, name)
    x, v = torch.ones(16, dtype=dtype, device=device), torch.arange(16, device=device).to(dtype)
    half_add_kernel[(2,)](x, v)
    assert torch.equal(x, torch.where(torch.arange(16, device=device) < 13, 1 + 2 * v, 1).to(dtype))


@triton.jit
def grid_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    nx, ny = tl.num_programs(0), tl.num_programs(1)
    tl.store(out_ptr + (z * ny + y) * nx + x, x + 10 * y + 100 * z + 1000 * tl.num_programs(2))


@pytest.mark.parametrize("grid", [(5,), (2, 3), (2, 3, 4), (1, 1, 3)], ids=str)
def test_three_axes_of_programs(device, grid):
    nx, ny, nz = (*grid, 1, 1)[:3]
    out = torch.zeros(nz, ny, nx, dtype=torch.int32, device=device)
    grid_kernel[grid](out)
    z, y, x = torch.meshgrid(torch.arange(nz), torch.arange(ny), torch.arange(nx), indexing="ij")
    assert torch.equal(out.cpu(), (x + 10 * y + 100 * z + 1000 * nz).int())


def test_an_empty_grid_runs_nothing(device):
    out = torch.zeros(1, dtype=torch.int32, device=device)
    grid_kernel[(0,)](out)
    grid_kernel[(2, 0)](out)
    assert out.item() == 0


def test_a_grid_may_be_a_function_of_the_arguments(device):
    x, out = torch.arange(64, dtype=torch.int32, device=device), torch.zeros(64, dtype=torch.int32, device=device)
    seen = {}

    def grid(meta):
        seen.update(meta)
        return (1,)

    masked_load_kernel[grid](x, out, 64, OTHER=None, N=64)
    assert torch.equal(x, out) and seen["N"] == 64 and seen["n"] == 64
