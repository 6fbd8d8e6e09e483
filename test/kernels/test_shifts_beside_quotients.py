"""Shifts of 64 bits by amounts past the type, whose low half is not, beside quotients in 64 bits: LLVM 22 narrows what it divides, and then takes the shift and the choice of 0 for one shift that reads the amount's low half."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def shift_kernel(x, amount, divisor, shifted, quotients, n, LEFT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    by = tl.load(amount + i, mask=i < n, other=0).to(tl.uint64, bitcast=True)
    value = (tl.program_id(0) - by) & by.to(tl.int32)
    result = value << value if LEFT else value >> value
    tl.store(shifted + i, result.to(tl.uint16), mask=i < n)
    tl.store(quotients + i, (result // 3).to(tl.int16) + (by.to(tl.int32) % tl.load(divisor + i, mask=i < n, other=7)).to(tl.int16), mask=i < n)


@pytest.mark.parametrize("left", [True, False])
def test_amounts_past_the_type_give_0(target, left):
    amounts = [0, 1, 3, 64, (1 << 31) + 1, (1 << 31) + 3, (3 << 31) + 17, 65, -1, -3, -64, (1 << 32) + 1, (1 << 40) + 3, -(1 << 33) + 2, (5 << 32) + 62]
    n, mask = len(amounts), (1 << 64) - 1
    amount, divisor = torch.tensor(amounts, dtype=torch.int64), torch.full((n,), 5, dtype=torch.int32)
    shifted, quotients = torch.zeros(n, dtype=torch.uint16), torch.zeros(n, dtype=torch.int16)
    shift_kernel[(1,)](amount, amount, divisor, shifted, quotients, n, LEFT=left, B=16)

    def low(number):
        number &= 0xffffffff
        return number - (1 << 32) if number >> 31 else number

    values = [-a & low(a) & mask for a in amounts]
    wanted = [0 if v > 63 else v << v & mask if left else v >> v for v in values]
    assert shifted.tolist() == [w & 0xffff for w in wanted]
    rest = [low(a) - 5 * int(low(a) / 5) for a in amounts]
    assert [q & 0xffff for q in quotients.tolist()] == [(w // 3 + r) & 0xffff for w, r in zip(wanted, rest)]
