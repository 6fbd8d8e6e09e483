"""Loops whose loads run ahead: any number of trips, bounds at the ends of the type, and what else they carry."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, rest_ptr, begin, end, shift, STEP: tl.constexpr, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    trips = 0
    a = a_ptr + m[:, None] * 16 + k[None, :]
    for i in tl.range(begin, end, STEP, num_stages=STAGES):
        x = tl.load(a + trips * 512)
        y = tl.load(b_ptr + trips * 512 + k[:, None] * 32 + m[None, :], mask=(k[:, None] + (i - shift)) >= 0, other=0.0)
        acc = tl.dot(x, y, acc)
        trips += 1
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)
    tl.store(rest_ptr, trips)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("begin, end, step", [(0, 0, 1), (3, 2, 1), (0, 1, 1), (0, 7, 1), (-3, 4, 2), (2**31 - 4, 2**31 - 1, 2),
                                              (-2**31, -2**31 + 5, 3), (-2**31, -2**31, 7), (2**31 - 2, 2**31 - 1, 2**30)])
def test_any_bounds(target, begin, end, step, stages):
    trips = len(range(begin, end, step))
    generator = torch.Generator().manual_seed(trips)
    a, b = (torch.randint(-4, 5, (max(trips, 1), *shape), generator=generator).half() for shape in ((32, 16), (16, 32)))
    c, rest = torch.full((32, 32), 9.0), torch.full((1,), -1, dtype=torch.int32)
    product_kernel[(1,)](a, b, c, rest, begin, end, begin, STEP=step, STAGES=stages)
    assert rest.item() == trips
    assert torch.equal(c, sum((x.float() @ y.float() for x, y in zip(a[:trips], b[:trips])), torch.zeros(32, 32)))


@triton.jit
def rotated_kernel(a_ptr, b_ptr, c_ptr, trips, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    first = tl.load(a_ptr + m[:, None] * 16 + k[None, :])
    second = tl.load(a_ptr + 512 + m[:, None] * 16 + k[None, :])
    for i in tl.range(0, trips, num_stages=STAGES):
        y = tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :])
        acc = tl.dot(first, y, acc)
        first, second = second, tl.load(a_ptr + (i + 2) * 512 + m[:, None] * 16 + k[None, :])
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_tiles_that_are_passed_on_over_two_trips(target, trips, stages):
    generator = torch.Generator().manual_seed(trips)
    a, b = (torch.randint(-4, 5, (trips + 2, *shape), generator=generator).half() for shape in ((32, 16), (16, 32)))
    c = torch.full((32, 32), 9.0)
    rotated_kernel[(1,)](a, b, c, trips, STAGES=stages)
    assert torch.equal(c, sum((x.float() @ y.float() for x, y in zip(a[:trips], b)), torch.zeros(32, 32)))


@triton.jit
def by_hand_kernel(a_ptr, b_ptr, c_ptr, rest_ptr, K, FORM: tl.constexpr, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    a_ptrs, b_ptrs = a_ptr + m[:, None] * K + k[None, :], b_ptr + k[:, None] * 32 + m[None, :]
    x = tl.load(a_ptrs, mask=k[None, :] < K, other=0.0)
    y = tl.load(b_ptrs, mask=k[:, None] < K, other=0.0)
    for i in tl.range(0, K, 16, num_stages=STAGES):
        if FORM == "anew":
            next_x = tl.load(a_ptr + m[:, None] * K + (i + 16 + k)[None, :], mask=(i + 16 + k)[None, :] < K, other=0.0)
            next_y = tl.load(b_ptr + (i + 16 + k)[:, None] * 32 + m[None, :], mask=(i + 16 + k)[:, None] < K, other=0.0)
        else:
            a_ptrs += 16
            b_ptrs += 16 * 32
            next_x = tl.load(a_ptrs, mask=k[None, :] < K - i - 16, other=0.0)
            next_y = tl.load(b_ptrs, mask=k[:, None] < K - i - 16, other=0.0)
        acc = tl.dot(x, y, acc)
        if FORM == "stores":  # over what the next trip's product has loaded
            tl.store(a_ptrs, next_x * 2, mask=k[None, :] < K - i - 16)
        x, y = next_x, next_y
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)
    if FORM == "kept":
        tl.store(rest_ptr + m[:, None] * 16 + k[None, :], x)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("form", ["walks", "anew", "stores", "kept"])
@pytest.mark.parametrize("K", [0, 5, 16, 40, 96])
def test_operands_that_are_loaded_a_trip_ahead_by_hand(target, K, form, stages):
    generator = torch.Generator().manual_seed(K)
    a, b = (torch.randint(-4, 5, shape, generator=generator).half() for shape in ((32, max(K, 1)), (max(K, 1), 32)))
    c, rest, given = torch.full((32, 32), 9.0), torch.full((32, 16), 9.0, dtype=torch.float16), a.clone()
    by_hand_kernel[(1,)](a, b, c, rest, K, FORM=form, STAGES=stages)
    assert torch.equal(c, given[:, :K].float() @ b[:K].float())
    if form == "kept":
        last = torch.zeros(32, 16, dtype=torch.float16)
        assert torch.equal(rest, last)


@triton.jit
def shifted_kernel(a_ptr, b_ptr, c_ptr, trips, n, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    shift, later, rows = 0, tl.program_id(0) + n, m
    others = (m + n) % 32
    for i in tl.range(0, trips, num_stages=STAGES):
        x = tl.load(a_ptr + shift + i * 512 + rows[:, None] * 16 + k[None, :])
        acc = tl.dot(x, tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :]), acc)
        shift, rows = later, others
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("trips", [0, 1, 4])
def test_addresses_with_what_is_computed_before_the_loop_from_the_second_trip_on(target, trips, stages):
    generator = torch.Generator().manual_seed(trips)
    a, b = (torch.randint(-4, 5, (trips + 2, *shape), generator=generator).half() for shape in ((32, 16), (16, 32)))
    c, n = torch.full((32, 32), 9.0), 3
    shifted_kernel[(1,)](a, b, c, trips, n, STAGES=stages)
    wanted = torch.zeros(32, 32)
    for i in range(trips):
        x = a[i] if i == 0 else torch.roll(a.flatten()[i * 512 + n:i * 512 + n + 512].reshape(32, 16), -n, 0)
        wanted += x.float() @ b[i].float()
    assert torch.equal(c, wanted)


@triton.jit
def gathered_kernel(a_ptr, rows_ptr, b_ptr, c_ptr, trips, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    for i in tl.range(0, trips, num_stages=STAGES):
        rows = tl.load(rows_ptr + i * 32 + m)
        x = tl.load(a_ptr + rows[:, None] * 16 + k[None, :])
        y = tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :])
        acc += tl.dot(x, y) * (1 + tl.max(rows) % 2)
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_rows_that_another_load_names(target, trips, stages):
    generator = torch.Generator().manual_seed(trips)
    a = torch.randint(-4, 5, (64, 16), generator=generator).half()
    rows = torch.randint(0, 64, (max(trips, 1), 32), generator=generator, dtype=torch.int32)
    b = torch.randint(-4, 5, (max(trips, 1), 16, 32), generator=generator).half()
    c = torch.full((32, 32), 9.0)
    gathered_kernel[(1,)](a, rows, b, c, trips, STAGES=stages)
    expected = sum(((1 + int(r.max()) % 2) * (a[r.long()].float() @ y.float()) for r, y in zip(rows[:trips], b)), torch.zeros(32, 32))
    assert torch.equal(c, expected)


@triton.jit
def clamped_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_row, b_row, c_row, FORM: tl.constexpr):
    """Walks over all tiles; offsets stay inside of the matrices in one of three spellings."""
    n, k = tl.arange(0, 32), tl.arange(0, 16)
    for tile in range(tl.cdiv(M, 32) * tl.cdiv(N, 32)):
        rows = tile // tl.cdiv(N, 32) * 32 + n
        columns = tile % tl.cdiv(N, 32) * 32 + n
        if FORM == "where":
            am, bn = tl.where(rows < M, rows, 0), tl.where(columns < N, columns, 0)
        elif FORM == "minimum":
            am, bn = tl.minimum(rows, M - 1), tl.minimum(columns, N - 1)
        else:  # a value that no tile is without
            am, bn = tl.minimum(rows, M - 1), tl.where(columns != 40, columns, 41)
            bn = tl.where(bn < N, bn, 0)
        a_ptrs = a_ptr + am[:, None] * a_row + k[None, :]
        b_ptrs = b_ptr + k[:, None] * b_row + bn[None, :]
        acc = tl.zeros([32, 32], tl.float32)
        for start in range(0, K, 16):
            a = tl.load(a_ptrs, mask=k[None, :] < K - start, other=0.0)
            b = tl.load(b_ptrs, mask=k[:, None] < K - start, other=0.0)
            acc = tl.dot(a, b, acc)
            a_ptrs += 16
            b_ptrs += 16 * b_row
        tl.store(c_ptr + rows[:, None] * c_row + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("form", ["where", "minimum", "other"])
@pytest.mark.parametrize("M, N, K", [(32, 64, 32), (40, 80, 24), (33, 48, 64), (20, 90, 40)])
def test_offsets_that_are_clamped(target, form, M, N, K):
    generator = torch.Generator().manual_seed(M)
    a, b = (torch.randint(-4, 5, shape, generator=generator).half() for shape in ((M, K), (K, N)))
    c = torch.full((M, N), 9.0)
    clamped_kernel[(1,)](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), FORM=form)
    wanted = a.float() @ b.float()
    if form == "other" and N > 41:
        wanted[:, 40] = wanted[:, 41]
    assert torch.equal(c, wanted)


@triton.jit
def named_by_the_trip_before_kernel(a_ptr, b_ptr, c_ptr, table_ptr, trips, FORM: tl.constexpr, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    for i in tl.range(0, trips, num_stages=STAGES):
        block = tl.load(table_ptr + i)
        x = tl.load(a_ptr + block * 512 + m[:, None] * 16 + k[None, :])
        y = tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :], mask=(k < tl.load(table_ptr + i) * 4)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
        if FORM == "store":
            tl.store(table_ptr + i + 1, (block * 3 + 1) % 8)
        elif FORM == "atomic":
            tl.atomic_add(table_ptr + i + 1, (block * 3 + 1) % 8)
        elif i % 2 == 0:
            tl.store(table_ptr + i + 1, (block * 3 + 1) % 8)
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("form", ["store", "atomic", "branch"])
def test_blocks_and_bounds_that_the_trip_before_stored(target, form, stages):
    trips, generator = 6, torch.Generator().manual_seed(2)
    a, b = torch.randint(-4, 5, (8, 32, 16), generator=generator).half(), torch.randint(-4, 5, (trips, 16, 32), generator=generator).half()
    table, c = torch.zeros(trips + 1, dtype=torch.int32), torch.full((32, 32), 9.0)
    named_by_the_trip_before_kernel[(1,)](a, b, c, table, trips, FORM=form, STAGES=stages)
    numbers, wanted = [0] * (trips + 1), torch.zeros(32, 32)
    for i in range(trips):
        block = numbers[i]
        wanted += a[block].float()[:, :min(block * 4, 16)] @ b[i].float()[:min(block * 4, 16)]
        if form != "branch" or i % 2 == 0:
            numbers[i + 1] = (block * 3 + 1) % 8
    assert table.tolist() == numbers
    assert torch.equal(c, wanted)


@triton.jit
def noted_kernel(a_ptr, b_ptr, v_ptr, note_ptr, c_ptr, K, FORM: tl.constexpr, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros([32, 32], tl.float32)
    x = tl.load(a_ptr + m[:, None] * 32 + k[None, :])
    for i in tl.range(0, K, 32, num_stages=STAGES):
        y = tl.load(b_ptr + (i + k)[:, None] * 32 + m[None, :])
        s = tl.dot(x, y)
        best = tl.max(s, 1)
        if FORM == "echo":
            tl.store(note_ptr + m, best)
            best = tl.load(note_ptr + m)
        elif FORM == "turned":
            tl.store(note_ptr + m, best)
            best = tl.load(note_ptr + (31 - m))
        elif FORM == "sums":
            tl.atomic_add(note_ptr + m, best)
            best = tl.load(note_ptr + m)
        else:  # what stays unread until it has been written over
            old = tl.load(note_ptr + m)
            tl.store(note_ptr + m, best)
            best = old
        z = tl.load(v_ptr + (i + k)[:, None] * 32 + m[None, :])
        acc += tl.dot(x, z) + best[:, None]
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("form", ["echo", "turned", "sums", "before"])
def test_a_trip_reads_what_it_stored_between_its_products(target, form, stages):
    generator = torch.Generator().manual_seed(1)
    a, b, v = (torch.randint(-4, 5, (rows, 32), generator=generator).half() for rows in (32, 160, 160))
    note, c = torch.zeros(32), torch.full((32, 32), 9.0)
    noted_kernel[(1,)](a, b, v, note, c, 160, FORM=form, STAGES=stages)
    right, noted = torch.zeros(32, 32), torch.zeros(32)
    for y, z in zip(b.float().split(32), v.float().split(32)):
        best = (a.float() @ y).max(1).values
        noted, old = (noted + best if form == "sums" else best), noted
        right += a.float() @ z + {"echo": noted, "turned": noted.flip(0), "sums": noted, "before": old}[form][:, None]
    assert torch.equal(c, right) and torch.equal(note, noted)
