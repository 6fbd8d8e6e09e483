"""Entries of a table that a trip's copies take their addresses from are loaded a trip ahead of these copies."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

PAGE = 32


@triton.jit
def paged_kernel(q_ptr, cache_ptr, table_ptr, second_ptr, out_ptr, begin, end, FORM: tl.constexpr, M: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    m, d, j = tl.arange(0, M), tl.arange(0, D), tl.arange(0, B)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    acc = tl.zeros((M, D), tl.float32)
    entry, total, at = table_ptr + begin, 0, begin + tl.arange(0, B)
    for start in range(begin, end, B):
        if FORM == "rows":
            row = tl.load(table_ptr + start + j, mask=start + j < end, other=0)
        elif FORM == "pages":
            row = tl.load(table_ptr + start // B) * B + j
        elif FORM == "carried pointer":
            row = tl.load(entry + j, mask=start + j < end, other=0)
            entry += B
        elif FORM == "carried tile":
            row = tl.load(table_ptr + at, mask=at < end, other=0)
            at += B
        elif FORM == "two tables":
            row = tl.load(second_ptr + tl.load(table_ptr + start + j, mask=start + j < end, other=0))
        else:  # the trip computes with it, too
            row = tl.load(table_ptr + start + j, mask=start + j < end, other=0)
            total += tl.max(row, 0)
        k = tl.load(cache_ptr + row[:, None] * D + d[None, :], mask=(start + j < end)[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k))
        acc += tl.dot(s.to(k.dtype), k)
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc + total)


FORMS = ["rows", "pages", "carried pointer", "carried tile", "two tables", "read twice"]


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("begin, end", [(0, 0), (0, 32), (32, 90), (0, 224)])
def test_forms_of_tables(target, form, begin, end, stages):
    m, d, rows = 16, 32, 256
    generator = torch.Generator().manual_seed(4)
    q = torch.randint(-1, 2, (m, d), generator=generator).to(torch.float16)
    cache = torch.randint(-1, 2, (rows, d), generator=generator).to(torch.float16)
    # No entry is there behind those that are read: whoever loads one reads outside.
    table = torch.randint(0, rows if form != "pages" else rows // PAGE, (max(end, 1) if form != "pages" else max(-(-end // PAGE), 1),), generator=generator).to(torch.int32)
    second = torch.randperm(rows, generator=generator)
    out = torch.full((m, d), float("nan"))
    paged_kernel[(1,)](q, cache, table, second, out, begin, end, FORM=form, M=m, D=d, B=PAGE, num_stages=stages)
    at = torch.arange(begin, end)
    row = table.long()[at // PAGE] * PAGE + at % PAGE if form == "pages" else table.long()[at]
    if form == "two tables":
        row = second[row]
    k = cache[row].double()
    total = sum(row[i:i + PAGE].max().item() for i in range(0, end - begin, PAGE)) if form == "read twice" else 0
    assert torch.equal(out.double(), (q.double() @ k.T) @ k + total)


@pytest.mark.sim
@pytest.mark.parametrize("form", ["rows", "pages", "carried pointer", "carried tile"])
def test_entries_are_loaded_behind_the_copies_of_the_trip_before(monkeypatch, form):
    monkeypatch.setattr(paged_kernel, "target", "ptxvm")
    f16 = torch.empty(2**14, dtype=torch.float16)
    table, out = torch.empty(64, dtype=torch.int32), torch.empty(2**12)
    kernel = paged_kernel.warmup(f16, f16, table, table, out, 0, 224, FORM=form, M=16, D=64, B=PAGE, num_stages=2, arch="sm90a", grid=(1,))
    ahead = kernel.asm["ptx"].split("mma.sync", 1)[0]
    assert 0 < ahead.rindex("cp.async.commit_group") < ahead.rindex("ld.global.b32")
