"""Loads of a few registers beside a product run ahead of their trip; what replaces masked elements is the trip's own."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def scaled_kernel(a_ptr, b_ptr, scale_ptr, c_ptr, trips, scales, OTHER: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    last = 1.0
    for k in range(trips):
        a = tl.load(a_ptr + k * B * B + at)
        b = tl.load(b_ptr + k * B * B + at)
        if OTHER == "carried":
            scale = tl.load(scale_ptr + k, mask=k < scales, other=last)
        elif OTHER == "of the trip":
            scale = tl.load(scale_ptr + k, mask=k < scales, other=tl.sum(tl.sum(a.to(tl.float32), 1), 0))
        else:
            scale = tl.load(scale_ptr + k, mask=k < scales, other=3.0)
        acc += tl.dot(a, b) * scale
        last = scale * 2
    tl.store(c_ptr + at, acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("other", ["carried", "of the trip", "constant"])
def test_what_replaces_masked_elements(target, other, stages):
    size, trips, scales = 16, 7, 4
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-2, 3, (trips, size, size), generator=generator).to(torch.float16) for _ in range(2))
    scale = torch.randint(1, 4, (trips,), generator=generator).float()
    c = torch.full((size, size), float("nan"))
    scaled_kernel[(1,)](a, b, scale, c, trips, scales, OTHER=other, B=size, num_stages=stages)
    expected, last = torch.zeros(size, size, dtype=torch.float64), 1.0
    for k in range(trips):
        beyond = {"carried": last, "of the trip": a[k].double().sum().item(), "constant": 3.0}[other]
        factor = scale[k].item() if k < scales else beyond
        expected += a[k].double() @ b[k].double() * factor
        last = factor * 2
    assert torch.equal(c.double(), expected)


@triton.jit
def scaled_columns_kernel(a_ptr, b_ptr, rows_ptr, columns_ptr, c_ptr, trips, limit, IS_MASKED: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                          K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * M * K + i[:, None] * K + k[None, :])
        b = tl.load(b_ptr + trip * K * N + j[None, :] * K + k[:, None])
        rows = tl.load(rows_ptr + trip * M + i)
        if IS_MASKED:
            columns = tl.load(columns_ptr + j * trips + trip, mask=j < limit, other=0.0)
        else:
            columns = tl.load(columns_ptr + j * trips + trip)
        acc += tl.dot(a, b) * rows[:, None] * columns[None, :]
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("stages, warps", [(1, 4), (2, 4), (3, 8)])
@pytest.mark.parametrize("masked", [False, True])
def test_scales_of_columns_come_once_for_all_threads(target, masked, stages, warps):
    m, n, k, trips, limit = 64, 128, 32, 5, 100
    generator = torch.Generator().manual_seed(2)

    def whole(*shape):
        return torch.randint(-2, 3, shape, generator=generator)

    a, b = whole(trips, m, k).to(torch.float16), whole(trips, n, k).to(torch.float16)
    rows, columns = whole(trips, m).float(), whole(n, trips).float()
    c = torch.full((m, n), float("nan"))
    scaled_columns_kernel[(1,)](a, b, rows, columns, c, trips, limit, IS_MASKED=masked, M=m, N=n, K=k, num_stages=stages, num_warps=warps)
    used = columns.double()
    if masked:
        used[limit:] = 0
    products = torch.einsum("tmk,tnk->tmn", a.double(), b.double())
    assert torch.equal(c.double(), torch.einsum("tmn,tm,nt->mn", products, rows.double(), used))


@pytest.mark.sim
@pytest.mark.parametrize("arch", ["sm80", "sm90a"])
def test_a_thread_loads_few_scales_of_columns(monkeypatch, arch):
    """Lanes that hold results of the same columns would each load all of their scales, a trip's 32 to a thread."""
    monkeypatch.setattr(scaled_columns_kernel, "target", "ptxvm")
    f16, f32 = torch.empty(2**14, dtype=torch.float16), torch.empty(2**14)
    kernel = scaled_columns_kernel.warmup(f16, f16, f32, f32, f32, 32, 16, IS_MASKED=False, M=64, N=128, K=64, num_stages=3, num_warps=4,
                                          arch=arch, grid=(1,))
    loads = kernel.asm["ptx"].count("ld.global")
    assert 0 < loads <= 24 and kernel.asm["ptx"].count("cp.async") > 0  # of rows alone, ahead of the loop and in it


@pytest.mark.sim
def test_copied_scales_of_columns_are_read_four_at_a_time(monkeypatch):
    """Of a product's pairs of columns two lie side by side in the copy: 8 reads of a thread in place of 16."""
    monkeypatch.setattr(scaled_columns_kernel, "target", "ptxvm")
    f16, f32 = torch.empty(2**14, dtype=torch.float16), torch.empty(2**14)
    kernel = scaled_columns_kernel.warmup(f16, f16, f32, f32, f32, 32, 16, IS_MASKED=False, M=64, N=128, K=64, num_stages=3, num_warps=4,
                                          arch="sm90a", grid=(1,))
    reads = [line for line in kernel.asm["ptx"].splitlines() if "ld.shared" in line]
    assert sum(".v4" in line for line in reads) >= 8 and not any(".v2" in line for line in reads)


@triton.jit
def grouped_weights_kernel(a_ptr, w_ptr, scale_ptr, group_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK):
        group = tl.load(group_ptr + start + k)
        scale = tl.load(scale_ptr + group[:, None] * N + j[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] // 8 * N + j[None, :]) >> (k % 8 * 4)[:, None] & 15
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :])
        acc += tl.dot(a, (w * scale).to(a.dtype))
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("m, block, stages, warps", [(16, 64, 3, 4), (64, 64, 3, 4), (32, 32, 2, 8), (64, 32, 1, 4)])
def test_scales_of_groups_that_an_index_names(target, m, block, stages, warps):
    """4-bit weights as GPTQ keeps them; the index is a load that runs ahead, for the addresses of copies."""
    n, k, groups = 64, 192, 6
    generator = torch.Generator().manual_seed(3)
    a = torch.randint(-2, 3, (m, k), generator=generator).to(torch.float16)
    w = torch.randint(-2**31, 2**31 - 1, (k // 8, n), generator=generator).to(torch.int32)
    scale = torch.randint(1, 4, (groups, n), generator=generator).to(torch.float16)
    group = torch.randint(0, groups, (k,), generator=generator).to(torch.int32)
    c = torch.full((m, n), float("nan"))
    grouped_weights_kernel[(1,)](a, w, scale, group, c, M=m, N=n, K=k, BLOCK=block, num_stages=stages, num_warps=warps)
    whole = (w[:, None] >> (torch.arange(8, dtype=torch.int32) * 4)[None, :, None] & 15).reshape(k, n)
    assert torch.equal(c.double(), a.double() @ (whole * scale[group.long()]).double())


@triton.jit
def unpacked(w_ptr, rows, columns, N: tl.constexpr):
    """Weights of four bits, eight neighbours of a row in a word."""
    w = tl.load(w_ptr + rows[:, None] * (N // 8) + tl.arange(0, N // 8)[None, :])
    w = tl.interleave(w, w)
    w = tl.interleave(w, w)
    w = tl.interleave(w, w)
    return (w >> (columns % 8 * 4)[None, :] & 15) - 8


@triton.jit
def packed_columns_kernel(a_ptr, w_ptr, c_ptr, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * M * K + i[:, None] * K + k[None, :])
        acc += tl.dot(a, unpacked(w_ptr, trip * K + k, j, N).to(a.dtype))
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_words_of_weights_beside_a_copied_factor(target, stages):
    m, n, k, trips = 64, 64, 32, 5
    generator = torch.Generator().manual_seed(5)
    a = torch.randint(-2, 3, (trips, m, k), generator=generator).to(torch.float16)
    w = torch.randint(-2**31, 2**31 - 1, (trips * k, n // 8), generator=generator).to(torch.int32)
    c = torch.full((m, n), float("nan"))
    packed_columns_kernel[(1,)](a, w, c, trips, M=m, N=n, K=k, num_stages=stages)
    whole = (w[:, :, None] >> (torch.arange(8, dtype=torch.int32) * 4) & 15).reshape(trips, k, n) - 8
    assert torch.equal(c.double(), torch.einsum("tmk,tkn->mn", a.double(), whole.double()))


@pytest.mark.sim
@pytest.mark.parametrize("stages, waits", [(2, True), (3, False)])
def test_small_factors_of_factors_are_copied_where_others_are_two_trips_ahead(monkeypatch, stages, waits):
    """Two registers of a thread hold a trip's words: a load into them starts one trip ahead at most."""
    monkeypatch.setattr(packed_columns_kernel, "target", "ptxvm")
    f16, i32, f32 = torch.empty(2**14, dtype=torch.float16), torch.empty(2**14, dtype=torch.int32), torch.empty(2**14)
    kernel = packed_columns_kernel.warmup(f16, i32, f32, 32, M=64, N=64, K=32, num_stages=stages, num_warps=4, arch="sm90a", grid=(1,))
    assert ("ld.global" in kernel.asm["ptx"]) == waits and "cp.async" in kernel.asm["ptx"]


@triton.jit
def faded_scores_kernel(q_ptr, k_ptr, v_ptr, fade_ptr, c_ptr, trips, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i, j, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + i[:, None] * D + d[None, :])
    acc = tl.zeros((M, D), tl.float32)
    for trip in range(trips):
        rows = trip * N + j
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None])
        fade = tl.load(fade_ptr + rows)
        p = tl.dot(q, k) * fade[None, :]
        v = tl.load(v_ptr + rows[:, None] * D + d[None, :])
        acc += tl.dot(p.to(v.dtype), v)
    tl.store(c_ptr + i[:, None] * D + d[None, :], acc)


@pytest.mark.sim
def test_small_tiles_that_scale_a_product_wait_in_registers(monkeypatch):
    """A trip with two products, one behind the other, is long enough for a load that starts one trip ahead."""
    monkeypatch.setattr(faded_scores_kernel, "target", "ptxvm")
    f16, f32 = torch.empty(2**14, dtype=torch.float16), torch.empty(2**14)
    kernel = faded_scores_kernel.warmup(f16, f16, f16, f32, f32, 32, M=64, N=16, D=64, num_stages=3, num_warps=4, arch="sm90a", grid=(1,))
    text = kernel.asm["ptx"]
    assert "cp.async" in text and text.count("ld.global") > 4  # four of `q`


@triton.jit
def scaled_words_kernel(a_ptr, w_ptr, scale_ptr, c_ptr, trips, group, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """As `packed_columns_kernel`; weights of `group` trips have one line of scales, masked elements of it are no zeros."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * M * K + i[:, None] * K + k[None, :])
        scale = tl.load(scale_ptr + trip // group * N + j, mask=j < columns, other=2.0)
        acc += tl.dot(a, unpacked(w_ptr, trip * K + k, j, N).to(a.dtype) * scale[None, :])
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("trips, group, columns", [(1, 1, 64), (5, 2, 48), (7, 3, 16)])
def test_lines_of_scales(target, trips, group, columns, stages):
    m, n, k = 64, 64, 32
    generator = torch.Generator().manual_seed(6)
    a = torch.randint(-2, 3, (trips, m, k), generator=generator).to(torch.float16)
    w = torch.randint(-2**31, 2**31 - 1, (trips * k, n // 8), generator=generator).to(torch.int32)
    scale = torch.randint(1, 4, (trips, n), generator=generator).to(torch.float16)
    c = torch.full((m, n), float("nan"))
    scaled_words_kernel[(1,)](a, w, scale, c, trips, group, columns, M=m, N=n, K=k, num_stages=stages)
    whole = (w[:, :, None] >> (torch.arange(8, dtype=torch.int32) * 4) & 15).reshape(trips, k, n).double() - 8
    scale[:, columns:] = 2
    of_trips = scale[torch.arange(trips) // group].double()
    assert torch.equal(c.double(), torch.einsum("tmk,tkn,tn->mn", a.double(), whole, of_trips))


@pytest.mark.sim
def test_lines_of_scales_start_behind_the_last_read_of_those_before(monkeypatch):
    """Eight registers, which two accesses bring, wait for one trip, though copies start two trips ahead: once ahead of the loop, once in it."""
    monkeypatch.setattr(scaled_words_kernel, "target", "ptxvm")
    f16, i32, f32 = torch.empty(2**14, dtype=torch.float16), torch.empty(2**14, dtype=torch.int32), torch.empty(2**14)
    kernel = scaled_words_kernel.warmup(f16, i32, f16, f32, 32, 16, 64, M=64, N=64, K=32, num_stages=3, num_warps=4, arch="sm90a", grid=(1,))
    assert kernel.asm["ptx"].count("ld.global") == 2 * 2


@triton.jit
def chained_rows_kernel(a_ptr, b_ptr, next_ptr, c_ptr, trips, B: tl.constexpr):
    i = tl.arange(0, B)
    row = i
    acc = tl.zeros((B, B), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + row[:, None] * B + i[None, :])
        b = tl.load(b_ptr + row[:, None] * B + i[None, :])
        acc += tl.dot(a, b)
        row = tl.load(next_ptr + row)
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc)


@pytest.mark.parametrize("size, stages, warps", [(16, 3, 4), (64, 3, 4), (64, 2, 8), (64, 4, 4)])
def test_rows_that_the_trip_before_names(target, size, stages, warps):
    rows, trips = 4 * size, 6
    generator = torch.Generator().manual_seed(4)
    a, b = (torch.randint(-2, 3, (rows, size), generator=generator).to(torch.float16) for _ in range(2))
    following = torch.randint(0, rows, (rows,), generator=generator).to(torch.int32)
    c = torch.full((size, size), float("nan"))
    chained_rows_kernel[(1,)](a, b, following, c, trips, B=size, num_stages=stages, num_warps=warps)
    expected, row = torch.zeros(size, size, dtype=torch.float64), torch.arange(size)
    for _ in range(trips):
        expected += a[row].double() @ b[row].double()
        row = following[row].long()
    assert torch.equal(c.double(), expected)


# --- tiles beside products, and tiles that factors are computed from ---


@triton.jit
def biased_kernel(a_ptr, b_ptr, bias_ptr, c_ptr, trips, limit, OTHER: tl.constexpr, IS_COMPUTED: tl.constexpr, B: tl.constexpr):
    """A bias whose masked elements are not zero, and factors that are computed, both or none."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    best = tl.full((B, B), -1000.0, tl.float32)
    for k in range(trips):
        a, b = tl.load(a_ptr + k * B * B + at), tl.load(b_ptr + k * B * B + at)
        if IS_COMPUTED:
            a, b = (a.to(tl.float32) * 2).to(tl.float16), (b.to(tl.float32) + 1).to(tl.float16)
        bias = tl.load(bias_ptr + k * B * B + at, mask=(i[None, :] + k * 4 < limit) & (i[:, None] != k), other=OTHER)
        best = tl.maximum(best, tl.dot(a, b) + bias)
    tl.store(c_ptr + at, best)


@pytest.mark.parametrize("size, stages, warps", [(16, 3, 4), (64, 2, 4), (64, 3, 8), (32, 4, 1)])
@pytest.mark.parametrize("other", [float("-inf"), -7.0, 0.0])
@pytest.mark.parametrize("computed", [False, True])
def test_masked_elements_that_are_not_zero(target, computed, other, size, stages, warps):
    trips, limit = 5, size - 2
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-2, 3, (trips, size, size), generator=generator).to(torch.float16) for _ in range(2))
    bias = torch.randint(-9, 9, (trips, size, size), generator=generator).float()
    c = torch.full((size, size), float("nan"))
    biased_kernel[(1,)](a, b, bias, c, trips, limit, OTHER=other, IS_COMPUTED=computed, B=size, num_stages=stages, num_warps=warps)
    expected = torch.full((size, size), -1000.0)
    i = torch.arange(size)
    for k in range(trips):
        x, y = (a[k].float() * 2, b[k].float() + 1) if computed else (a[k].float(), b[k].float())
        keep = (i[None, :] + k * 4 < limit) & (i[:, None] != k)
        expected = torch.maximum(expected, x @ y + torch.where(keep, bias[k], other))
    assert torch.equal(c, expected)


@triton.jit
def cast_weights_kernel(x_ptr, w_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for s in range(0, K, BK):
        x = tl.load(x_ptr + i[:, None] * K + (s + k)[None, :])
        w = tl.load(w_ptr + j[None, :] * K + (s + k)[:, None])
        acc = tl.dot(x, w.to(tl.float16), acc)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


def text_of(monkeypatch, kernel, *arguments, **options):
    monkeypatch.setattr(kernel, "target", "ptxvm")
    return kernel.warmup(*arguments, arch="sm90a", grid=(1,), **options).asm["ptx"]


@pytest.mark.sim
def test_each_of_these_is_copied(monkeypatch):
    """None is waited for in its trip: a small bias beside copied factors waits in registers, all else is copied."""
    f16, i8, f32 = torch.empty(2**16, dtype=torch.float16), torch.empty(2**16, dtype=torch.int8), torch.empty(2**16)
    for computed, other, size in ((False, float("-inf"), 128), (False, 0.0, 128), (True, 0.0, 64)):
        text = text_of(monkeypatch, biased_kernel, f16, f16, f16, f32, 32, 64, OTHER=other, IS_COMPUTED=computed, B=size, num_stages=2, num_warps=8)
        assert "cp.async.c" in text and (computed or "ld.global" not in text), (computed, other)
    text = text_of(monkeypatch, cast_weights_kernel, f16, i8, f32, 512, M=128, N=128, BK=64, num_stages=2, num_warps=8)
    assert "cp.async.c" in text and "ld.global" not in text


@triton.jit
def decayed_states_kernel(w_ptr, k_ptr, v_ptr, g_ptr, out_ptr, rows, T: tl.constexpr, D: tl.constexpr, E: tl.constexpr):
    """The state of a gated delta rule: k is loaded behind the product of w, and each thread needs decays of many rows."""
    t, d, e = tl.arange(0, T), tl.arange(0, D), tl.arange(0, E)
    state = tl.zeros([D, E], tl.float32)
    for start in range(0, rows, T):
        at, inside = (start + t)[:, None] * D + d[None, :], (start + t)[:, None] < rows
        values = tl.load(v_ptr + (start + t)[:, None] * E + e[None, :], mask=inside, other=0.0)
        values = values - tl.dot(tl.load(w_ptr + at, mask=inside, other=0.0), state.to(tl.float16))
        values *= tl.exp2(tl.load(g_ptr + start + t, mask=start + t < rows, other=0.0))[:, None]
        state = tl.dot(tl.trans(tl.load(k_ptr + at, mask=inside, other=0.0)), values.to(tl.float16), state)
    tl.store(out_ptr + d[:, None] * E + e[None, :], state)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("t, d, e, warps", [(64, 64, 32, 2), (64, 32, 64, 4), (32, 64, 16, 1), (128, 16, 128, 8)])
def test_decays_of_rows_that_many_threads_need(target, t, d, e, warps, stages):
    rows = 2 * t + 5
    generator = torch.Generator().manual_seed(7)
    w, k = (torch.randint(-1, 2, (rows, d), generator=generator).half() * 0.125 for _ in range(2))
    v = torch.randint(-2, 3, (rows, e), generator=generator).half()
    g = torch.randint(-2, 1, (rows,), generator=generator).float()
    out = torch.full((d, e), float("nan"))
    decayed_states_kernel[(1,)](w, k, v, g, out, rows, T=t, D=d, E=e, num_warps=warps, num_stages=stages)
    state = torch.zeros(d, e)
    for at in (slice(start, min(start + t, rows)) for start in range(0, rows, t)):
        values = (v[at].float() - w[at].float() @ state.half().float()) * torch.exp2(g[at])[:, None]
        state += k[at].float().T @ values.half().float()
    torch.testing.assert_close(out, state, rtol=2e-3, atol=2e-2)
