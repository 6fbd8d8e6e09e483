"""wgmma on the machine: every type and layout computes the product; what is wrong with its use is found."""
import re
from pathlib import Path

import numpy as np
import pytest
from products import THREADS, Case, bits_for, cases, label, launch, matrix_of, sum_cases

RECORDED = Path(__file__).resolve().parent / "products.npz"

EXACT = {"f16": 4, "bf16": 4, "tf32": 8, "e4m3": 3, "e5m2": 2, "s8": 100, "u8": 100}


def encode(kind, values):
    """Small integers as bits of a type."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind in ("bf16", "tf32"):
        bits = values.astype(np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16) if kind == "bf16" else bits
    if kind in ("s8", "u8"):
        return values.astype(np.int8).view(np.uint8)
    halves = values.astype(np.float16).view(np.uint16)
    if kind == "e5m2":
        return (halves >> 8).astype(np.uint8)
    sign, rest = halves >> 15, (halves & 0x7fff).astype(np.int32)
    return np.where(rest == 0, 0, (sign << 7) | ((rest >> 7) - (8 << 3)) & 0x7f).astype(np.uint8)


def operands(case, rng):
    def matrix(kind, rows):
        most = EXACT[kind]
        return rng.integers(0 if kind == "u8" else -most, most + 1, (rows, case.k))
    a, b = matrix(case.a, 64), matrix(case.b, case.n)
    return a, b, rng.integers(-50, 51, (64, case.n))


def operands_as_bits(case, seed):
    """A, B and C, and what D is."""
    a, b, c = operands(case, np.random.default_rng(seed))
    kind = np.float32 if case.sums == "f32" else np.int32
    wanted = case.negates[0] * case.negates[1] * (a @ b.T) + (c if case.scale_d else 0)
    return (encode(case.a, a), encode(case.b, b), c.astype(kind)), wanted


def product(case, seed=0, change=lambda text: text, **run):
    import machine

    bits, wanted = operands_as_bits(case, seed)
    code, arrays = launch(case, *bits)
    found = machine.run(change(code), arrays, block=(THREADS, 1, 1), **run)
    return found, matrix_of(case, arrays[-1]), wanted


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_a_product_of_every_type_and_layout(case):
    found, got, wanted = product(case)
    assert found == ""
    np.testing.assert_array_equal(got, wanted)


def test_an_h200_finds_every_operand_where_the_descriptors_say():
    with np.load(RECORDED) as file:
        assert str(file["exact"]).split("\n") == [case.name for case in cases()], "run record_products.py on a GPU"


@pytest.mark.parametrize("inputs", sorted({inputs for inputs, _, _ in sum_cases()}))
def test_sums_are_those_of_an_h200(inputs):
    import machine

    with np.load(RECORDED) as file:
        recorded = dict(zip(str(file["names"]).split("\n"), file["sums"]))
    assert recorded.keys() == {label(name, case) for name, case, _ in sum_cases()}, "run record_products.py on a GPU"
    for name, case, seed in sum_cases():
        if name == inputs:
            code, arrays = launch(case, *bits_for(inputs, case, seed))
            assert machine.run(code, arrays, block=(THREADS, 1, 1)) == ""
            np.testing.assert_array_equal(arrays[-1].view(np.uint32), recorded[label(inputs, case)], err_msg=case.name)


@pytest.mark.parametrize("copies", ["late", "at-once", "random"])
@pytest.mark.parametrize("schedule", ["round-robin", "random", "priority", "apart"])
def test_products_whenever_they_complete(copies, schedule):
    for seed in range(3):
        found, got, wanted = product(Case(), seed, copies=copies, schedule=schedule)
        assert found == ""
        np.testing.assert_array_equal(got, wanted)


def without(what):
    return lambda text: "\n".join(line for line in text.split("\n") if not line.endswith(f"// {what}"))


def before(what, statement):
    return lambda text: re.sub(rf"^(.*// {what})$", rf"{statement}\n\1", text, flags=re.MULTILINE)


def replaced(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)
    return change


WRONG = {
    "no proxy fence": (without("proxy"), "missing-fence"),
    "proxy fence behind the barrier": (lambda text: before("product", "fence.proxy.async.shared::cta;")(without("proxy")(text)), "missing-fence"),
    "proxy fence of global memory": (replaced("fence.proxy.async.shared::cta", "fence.proxy.async.global"), "missing-fence"),
    "proxy fence of half of the threads": (before("proxy", "setp.lt.u32 %p3, %r0, 64; @%p3"), "missing-fence"),
    "no barrier": (without("barrier"), "race"),
    "no fence of registers": (without("fence"), "missing-fence"),
    "registers written behind the fence": (before("product", "mov.f32 %d3, 0f3F800000;"), "missing-fence"),
    "no wait": (without("wait"), "register-under-way"),
    "no commit": (without("commit"), "register-under-way"),
    "one group too few": (replaced("wait_group.sync.aligned 0", "wait_group.sync.aligned 1"), "register-under-way"),
    "result read before the wait": (before("wait", "mov.f32 %d1, %d0;"), "register-under-way"),
    "operand written under way": (before("wait", "st.shared.b32 [%r1+4096], %r0;"), "operand-under-way"),
    "a start in the middle of the swizzle": (replaced("add.s64 %rd20, %rd20, %rd8;", "add.s64 %rd20, %rd20, %rd8; add.s64 %rd20, %rd20, 8;"), "misaligned"),
    "an operand outside of shared memory": (replaced("add.s64 %rd21, %rd21, %rd8;", "add.s64 %rd21, %rd21, %rd8; add.s64 %rd21, %rd21, 4096;"), "out-of-bounds"),
    "descriptors that differ in lanes": (before("fence", "cvt.u64.u32 %rd9, %r0; add.s64 %rd21, %rd21, %rd9;"), "bad-operand"),
    "descriptors that differ in warps": (before("fence", "shr.u32 %r9, %r0, 5; shl.b32 %r9, %r9, 6; cvt.u64.u32 %rd9, %r9; add.s64 %rd21, %rd21, %rd9;"), "bad-operand"),
    "a warp that does not come": (before("product", "setp.ge.u32 %p3, %r0, 32; @%p3"), "unaligned-warp"),
    "half a warp": (before("product", "setp.ge.u32 %p3, %r0, 16; @%p3"), "unaligned-warp"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("copies", ["late", "at-once", "random"])
def test_wrong_use_is_found(name, copies):
    change, kind = WRONG[name]
    for schedule in ("round-robin", "random"):
        found, _, _ = product(Case(), change=change, copies=copies, schedule=schedule, seed=3)
        assert f"{kind}: " in found, found


def test_registers_of_a_are_not_written_under_way():
    change = before("wait", "mov.b32 %x0, 0;")
    found, _, _ = product(Case(a_in_registers=True), change=change)
    assert "register-under-way: " in found


def test_a_warp_that_ends_without_a_wait():
    change = lambda text: re.sub(r"st\.global\.f32.*\n", "", without("wait")(text))  # noqa: E731
    found, _, _ = product(Case(), change=change)
    assert "product-unfinished: " in found


def test_late_products_show_a_missing_wait_in_the_numbers():
    _, got, wanted = product(Case(), change=without("wait"), copies="late")
    assert not np.array_equal(got, wanted)


def test_two_warpgroups_need_eight_warps():
    import machine

    code, arrays = launch(Case(), *operands_as_bits(Case(), 0)[0])
    found = machine.run(code.replace(f".reqntid {THREADS}", ""), arrays, block=(96, 1, 1))
    assert "has no four warps" in found
