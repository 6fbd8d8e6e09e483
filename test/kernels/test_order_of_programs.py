"""Programs whose loops are longest start first: each place of the grid is computed once, whatever order the machine starts them in."""
import re

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]


@triton.jit
def triangle_kernel(x, out, AXIS: tl.constexpr):
    """out[z, y, x] += 1 + the sum of the first elements of x, as many as the program's index along the axis."""
    i, j, k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = out + (k * tl.num_programs(1) + j) * tl.num_programs(0) + i
    total = 1.0
    for n in range(0, tl.program_id(AXIS)):
        total += tl.load(x + n)
    tl.store(at, tl.load(at) + total)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("grid", [(1,), (7,), (300,), (8, 1), (8, 2), (5, 12), (3, 37), (1, 300), (128, 3), (600, 2), (4, 3, 5), (1, 5, 70), (2, 1, 9), (70, 5, 2)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_place_is_computed_once(target, grid, axis):
    whole = (*grid, 1, 1)[:3]
    x = torch.arange(1.0, 601.0)
    out = torch.zeros(whole[::-1])
    triangle_kernel[grid](x, out, AXIS=axis, num_warps=1)
    along = torch.arange(float(whole[axis]))
    expected = (1 + along * (along + 1) / 2).reshape([-1 if d == 2 - axis else 1 for d in range(3)]).expand(whole[::-1])
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=0)


@triton.jit
def telling_kernel(x, out, AXIS: tl.constexpr):
    total = 0.0
    for n in range(0, tl.program_id(AXIS)):
        total += tl.load(x + n)
    tl.device_print("sum", total)


@pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim)], indirect=True)
@pytest.mark.parametrize("grid, axis, expected", [
    ((4,), 0, [3, 2, 1, 0]),
    ((2, 3), 0, [1, 0, 3, 5, 2, 4]),  # a row that fills no group, then a group of two
    ((2, 3), 1, [4, 5, 2, 3, 0, 1]),
    ((2, 1, 2), 2, [2, 3, 0, 1]),
], ids=str)
def test_the_longest_start_first(target, capfd, grid, axis, expected):
    """The simulator runs one program behind the other; a print names the index that the kernel sees."""
    telling_kernel[grid](torch.ones(8), torch.zeros(1), AXIS=axis, num_warps=1)
    places = [tuple(map(int, place)) for place in re.findall(r"pid \((\d+), (\d+), (\d+)\)", capfd.readouterr().out)]
    width, height = (*grid, 1, 1)[:2]
    assert list(dict.fromkeys(i + width * (j + height * k) for i, j, k in places)) == expected
