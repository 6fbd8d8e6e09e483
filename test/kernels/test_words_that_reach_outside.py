"""A word of bytes holds elements that lie apart in a tile: where some of them are outside of it, the others are stored all the same."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def widened_kernel(x, y, out, stride, trips, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    row, inner, column = tl.arange(0, ROWS), tl.arange(0, INNER), tl.arange(0, COLUMNS)
    b = tl.load(y + inner[:, None] * COLUMNS + column[None, :])
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for trip in range(trips):
        a = tl.load(x + trip + row[:, None] + inner[None, :] * stride, mask=row[:, None] < ROWS - trip, other=0.0).to(tl.bfloat16)
        acc = tl.dot(a, (b + trip).to(tl.bfloat16), acc)
    tl.store(out + row[:, None] * COLUMNS + column[None, :], acc)


@pytest.mark.parametrize("shape", [(24, 24, 128), (24, 12, 64), (16, 24, 32), (48, 40, 16), (24, 24, 24)])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.int8])
def test_a_factor_of_bytes_with_padding(target, shape, dtype):
    rows, inner, columns = shape
    x = torch.randint(-3, 4, (inner, rows)).to(dtype)
    y = torch.randint(-3, 4, (inner, columns)).to(torch.bfloat16)
    out = torch.zeros(rows, columns)
    widened_kernel[(1,)](x, y, out, rows, 2, ROWS=rows, INNER=inner, COLUMNS=columns, num_warps=1)
    left, right = x.float().T, y.float()
    shifted = torch.cat([left[1:], torch.zeros(1, inner)])
    torch.testing.assert_close(out, left @ right + shifted @ (right + 1))
