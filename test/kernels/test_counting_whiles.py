"""`while` loops that count: they become `for` loops, whose loads run ahead; the index behind them is the one that ended them."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def counted_kernel(x, out, begin, end, FORM: tl.constexpr, STEP: tl.constexpr, B: tl.constexpr):
    i = begin
    total = tl.zeros([B], tl.int32)
    trips = 0
    while i < end:
        total += tl.load(x + tl.arange(0, B) + trips)
        trips += 1
        if FORM == "twice":
            i += STEP
            i += STEP
        elif FORM == "by condition":
            i += STEP if trips % 2 == 0 else STEP + 1
        elif FORM == "moving end":
            i += STEP
            end -= 1
        else:
            i += STEP
    tl.store(out + tl.arange(0, B), total)
    tl.store(out + B, i)
    tl.store(out + B + 1, trips)


@pytest.mark.parametrize("begin, end", [(0, 10), (3, 3), (7, -4), (-5, 2), (2**31 - 20, 2**31 - 8), (-(2**31), -(2**31) + 9)])
@pytest.mark.parametrize("form", ["plain", "twice", "by condition", "moving end"])
def test_index_and_trips(target, form, begin, end):
    x = torch.arange(200, dtype=torch.int32)
    out = torch.full((34,), -7, dtype=torch.int32)
    counted_kernel[(1,)](x, out, begin, end, FORM=form, STEP=3, B=32)
    i, trips, total = begin, 0, torch.zeros(32, dtype=torch.int32)
    while i < end:
        total += x[trips:trips + 32]
        trips += 1
        i += {"plain": 3, "twice": 6, "by condition": 3 + trips % 2, "moving end": 3}[form]
        end -= form == "moving end"
    assert out.tolist() == [*total.tolist(), i, trips]


@triton.jit
def other_kernel(out, begin, end, FORM: tl.constexpr, STEP: tl.constexpr):
    """The sum of a loop's indices, its last one and its number of trips."""
    i = begin
    total = begin * 0
    trips = 0
    if FORM == "closed":
        while i <= end:
            total += i
            trips += 1
            i += STEP
    elif FORM == "up to one less":
        while i <= end - 1:
            total += i
            trips += 1
            i += STEP
    elif FORM == "turned":
        while end > i:
            total += i
            trips += 1
            i = STEP + i
    elif FORM == "turned and closed":
        while end >= i:
            total += i
            trips += 1
            i += STEP
    elif FORM == "down":
        while i > 0:
            total += i
            trips += 1
            i -= STEP
    elif FORM == "down to five":
        while i >= 5:
            total += i
            trips += 1
            i += -STEP
    elif FORM == "down below zero":
        while i > -5:
            total += i
            trips += 1
            i -= STEP
    elif FORM == "programs":
        i += tl.program_id(0)
        while i < end:
            total += i
            trips += 1
            i += tl.num_programs(0)
    elif FORM == "blocks of programs":
        i += tl.program_id(0)
        while i < end:
            total += i
            trips += 1
            i += tl.num_programs(0) * STEP
    elif FORM == "sum of programs":
        i += tl.program_id(0)
        while i < end:
            total += i
            trips += 1
            i += tl.num_programs(0).to(tl.int64) + tl.num_programs(1).to(tl.int64) * 2 + STEP
    elif FORM == "by an argument":
        i += tl.program_id(0)
        while i < end:
            total += i
            trips += 1
            i += end
    out += tl.program_id(0) * 3
    tl.store(out, total)
    tl.store(out + 1, i)
    tl.store(out + 2, trips)


def other(begin, end, form, step, pid, programs):
    i, total, trips = begin, 0, 0
    if form in ("programs", "blocks of programs", "sum of programs", "by an argument"):
        i += pid
        step = {"programs": programs, "blocks of programs": programs * step, "sum of programs": programs + 2 + step, "by an argument": end}[form]
    goes_on = {"closed": lambda i: i <= end, "turned and closed": lambda i: i <= end, "down": lambda i: i > 0, "down to five": lambda i: i >= 5,
               "down below zero": lambda i: i > -5}.get(form, lambda i: i < end)
    while goes_on(i):
        total, trips, i = total + i, trips + 1, i - step if form.startswith("down") else i + step
    return [total, i, trips]


FORMS = ["closed", "up to one less", "turned", "turned and closed", "down", "down to five", "down below zero", "programs", "blocks of programs",
         "sum of programs", "by an argument"]
ENDS = {"up": [(0, 10), (3, 3), (7, -4), (-5, 3), (2**31 - 40, 2**31 - 20), (-(2**31), -(2**31) + 9)],
        "down": [(17, 0), (9, 0), (0, 0), (-3, 0), (5, 0), (4, 0), (-(2**31) + 8, 0)]}


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("form", FORMS)
def test_other_forms(target, form, dtype):
    for begin, end in ENDS["down" if form.startswith("down") else "up"]:
        if form == "by an argument" and not 0 < end < 2**30:
            continue
        if dtype == torch.int64 and abs(begin) > 2**30:
            begin, end = begin + (2**40 if begin > 0 else -(2**40)), end + (2**40 if begin > 0 else -(2**40))
        if form == "sum of programs" and dtype == torch.int32:
            continue
        out = torch.full((6,), -7, dtype=torch.int64)
        arguments, step, bits = (begin, end), 3, 32
        if dtype == torch.int64:  # as numbers of more than 32 bits are
            isDown = form.startswith("down")
            arguments, step, bits = (2**33 + max(begin, 0) if isDown else begin + 2**33, end if isDown else end + 2**33), 2**31 - 3 if isDown else 3, 64
        other_kernel[(2,)](out, *arguments, FORM=form, STEP=step)
        right = [other(*arguments, form, step, pid, 2) for pid in range(2)]
        wrap = lambda n: (n + 2**(bits - 1)) % 2**bits - 2**(bits - 1)
        assert out.tolist() == [wrap(n) for each in right for n in each]


@pytest.mark.sim
@pytest.mark.parametrize("form", FORMS)
def test_which_become_counted_loops(build_dir, form):
    number = "i64" if form == "sum of programs" else "i32"
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::other_kernel", "--target", "sm_90a", "--emit", "ptx", "--print-after", "count-whiles",
                           "--signature", f"out=*i64,begin={number},end={number},FORM='{form}',STEP=3"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert ("scf.while" in text) == (form in ("down below zero", "by an argument"))


@triton.jit
def product_kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros([M, N], tl.float32)
    k = 0
    while k < K:
        at = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        y = tl.load(b + at[:, None] * N + n[None, :], mask=at[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
        k += BK
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("dtype, k, stages", [(torch.float16, 96, 3), (torch.float32, 80, 2), (torch.float16, 0, 3)])
def test_products(target, dtype, k, stages):
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-3, 4, shape, generator=g).to(dtype) for shape in ((64, k), (k, 64)))
    c = torch.full((64, 64), float("nan"))
    product_kernel[(1,)](a, b, c, k, M=64, N=64, BK=32, num_stages=stages)
    assert torch.equal(c, a.float() @ b.float())


@pytest.mark.sim
def test_their_loads_run_ahead():
    half, out = torch.empty(2**14, dtype=torch.float16), torch.empty(2**12)
    product_kernel.target = "ptxvm"
    assert "cp.async" in product_kernel.warmup(half, half, out, 256, M=64, N=64, BK=32, num_stages=3, arch="sm90a", grid=(1,)).asm["ptx"]
