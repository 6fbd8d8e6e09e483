"""Prints and checks at run time, and what a target says of another machine's instructions."""
import os
import re

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def print_kernel(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_print("x", x)
    tl.device_print("both: ", x, n)
    tl.device_print("bits", n, hex=True)
    tl.device_print("here")


@triton.jit
def print_2d_kernel(x_ptr, R: tl.constexpr, C: tl.constexpr):
    print("x", tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]))


@triton.jit
def types_kernel(p_ptr, i, u, f, B: tl.constexpr):
    print("b", i > 0)
    print("i", i.to(tl.int8))
    print("u", u.to(tl.uint8))
    print("l", i.to(tl.int64))
    print("h", f.to(tl.float16))
    print("h", i.to(tl.int8), hex=True)


@triton.jit
def assert_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=-1.0)
    tl.device_assert(x >= 0, "x is negative", mask=i < n)
    assert n < 1000, "n is large"
    tl.store(out_ptr + i, tl.sqrt(x), mask=i < n)


@triton.jit
def asm_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,f", [x, 1.0], dtype=tl.float32, is_pure=True, pack=1)
    y = tl.inline_asm_elementwise("{ .reg .f32 t; mov.f32 t, 1.; mul.f32 $0, $1, t; }", "=f,f", [y], dtype=tl.float32, is_pure=True, pack=1)
    low, high = tl.inline_asm_elementwise("and.b32 $0, $2, 255; shr.u32 $1, $2, 8;", "=r,=r,r", [i * 100],
                                          dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(out_ptr + i, y + low + 256 * high)


@triton.jit
def packed_asm_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Four bytes a register."""
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.inline_asm_elementwise("xor.b32 $0, $1, 0xffffffff;", "=r,r", [tl.load(x_ptr + i)],
                                                    dtype=tl.uint8, is_pure=True, pack=4))


@triton.jit
def tied_asm_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """An input in the register of its output, of 16 bits; one of 32 bits between an integer and a float."""
    i = tl.arange(0, BLOCK)
    x = tl.inline_asm_elementwise("add.u16 $0, $1, 1;", "=h,0", [tl.load(x_ptr + i)], dtype=tl.int16, is_pure=True, pack=1)
    bits = tl.inline_asm_elementwise("xor.b32 $0, $1, 0;", "=r, 0", [x.to(tl.float32)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True).to(tl.int16))


def printed(capfd):
    """What a launch printed: on every target to standard output, at once."""
    out, err = capfd.readouterr()
    assert "pid" not in err
    return [line for line in out.splitlines() if line.startswith("pid")]


def test_print(target, capfd):
    x = np.array([1.5, -2, float("inf")], np.float32)
    print_kernel[(2,)](x, 7, BLOCK=3)
    lines = printed(capfd)
    for p in range(2):
        pid = f"pid ({p}, 0, 0) "
        expected = [f"{pid}idx ({i}) x: {v}" for i, v in enumerate(["1.500000", "-2.000000", "inf"])]
        expected += [f"{pid}idx ({i}) both: (operand 0) {v}" for i, v in enumerate(["1.500000", "-2.000000", "inf"])]
        expected += [f"{pid}idx () both: (operand 1) 7", f"{pid}idx () bits: 0x00000007", f"{pid.rstrip()} here"]
        assert sorted(line for line in lines if line.startswith(pid.rstrip())) == sorted(expected)


@triton.jit
def prefixes_kernel(n):
    tl.device_print("x ", n)
    tl.device_print("x:", n)
    tl.device_print("100% ", n)
    tl.device_print("", n)


def test_prefixes_end_in_a_colon(target, capfd):
    prefixes_kernel[(1,)](7)
    assert printed(capfd) == [f"pid (0, 0, 0) idx (){prefix}7" for prefix in (" x: ", " x: ", " 100%: ", ": ")]


@pytest.mark.compiled
def test_print_2d_pads_indices(target, capfd):
    print_2d_kernel[(1,)](np.arange(22, dtype=np.int32).reshape(2, 11), R=2, C=11)
    assert sorted(printed(capfd)) == sorted(f"pid (0, 0, 0) idx ({r}, {c:2}) x: {r * 11 + c}" for r in range(2) for c in range(11))


@pytest.mark.compiled
def test_print_types(target, capfd):
    types_kernel[(1,)](np.zeros(1, np.float32), -3, 2**32 - 2, 0.5, B=1)
    values = [line.split("idx () ")[1] for line in printed(capfd)]
    assert values == ["b: 0", "i: -3", "u: 254", "l: -3", "h: 0.500000", "h: 0xfd"]


def test_assert_holds(target):
    x, out = np.arange(30, dtype=np.float32), np.zeros(30, np.float32)
    assert_kernel[(2,)](x, out, 30, BLOCK=16, debug=True)
    np.testing.assert_allclose(out, np.sqrt(x), rtol=2.0**-23)


@pytest.mark.parametrize("x, n, said", [(-1.0, 30, "x is negative"), (1.0, 1000, "n is large")])
def test_assert_fails(target, x, n, said):
    if target == "cuda":
        pytest.skip("a failed assertion ends the context of the process")
    values = np.full(n, x, np.float32)
    with pytest.raises(triton.DeviceAssertionError, match=said) as failure:
        assert_kernel[(triton.cdiv(n, 16),)](values, np.zeros(n, np.float32), n, BLOCK=16, debug=True)
    assert re.search(r"test_debug\.py:\d+", str(failure.value))


def test_without_debug_nothing_is_checked(target):
    out = np.zeros(30, np.float32)
    assert_kernel[(2,)](np.full(30, -1, np.float32), out, 30, BLOCK=16, debug=False)
    assert np.isnan(out).all()


def lacks_assembly(target):
    """Kernels that Python runs have it: ptxvm runs the text."""
    return target in ("interp", "cpu") and os.environ.get("TRITON_INTERPRET") != "1"


def test_inline_asm(target):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    if lacks_assembly(target):
        with pytest.raises(triton.TritonError, match="inline assembly"):
            asm_kernel[(1,)](x, out, BLOCK=16)
        return
    asm_kernel[(1,)](x, out, BLOCK=16)
    np.testing.assert_array_equal(out, x + 1 + np.arange(16) * 100)


def test_inline_asm_with_tied_operands(target):
    if lacks_assembly(target):
        pytest.skip("refused by name, see test_inline_asm")
    x = np.arange(32, dtype=np.int16)
    out = np.zeros_like(x)
    tied_asm_kernel[(1,)](x, out, BLOCK=32)
    np.testing.assert_array_equal(out, x + 1)


@triton.jit
def immediates_kernel(x_ptr, out_ptr, N: tl.constexpr, MASK: tl.constexpr):
    i = tl.arange(0, N)
    y, z = tl.inline_asm_elementwise("and.b32 $0, $2, ${3}; add.s32 $1, $4, $5;", "=&r,=r,r,n,n,r",
                                     [tl.load(x_ptr + i), MASK, -7, i], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(out_ptr + i, y)
    tl.store(out_ptr + N + i, z)


def test_inline_asm_with_constants_in_the_text(target):
    if lacks_assembly(target):
        pytest.skip("refused by name, see test_inline_asm")
    x, out = np.arange(64, dtype=np.int32), np.zeros(128, np.int32)
    immediates_kernel[(1,)](x, out, N=64, MASK=5)
    np.testing.assert_array_equal(out, [*(x & 5), *(x - 7)])


def test_inline_asm_on_packed_bytes(target):
    if lacks_assembly(target):
        pytest.skip("refused by name, see test_inline_asm")
    x = np.arange(64, dtype=np.uint8)
    out = np.zeros_like(x)
    packed_asm_kernel[(1,)](x, out, BLOCK=64)
    np.testing.assert_array_equal(out, ~x)
