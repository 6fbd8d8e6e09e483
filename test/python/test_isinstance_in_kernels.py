"""isinstance in a kernel asks for classes of the language, of Python and of the program, several by `|` or in a tuple."""
from typing import NamedTuple

import pytest
import torch

import tegula as triton
import tegula.language as tl


class Pair(NamedTuple):
    first: tl.tensor
    second: tl.tensor


class Other(NamedTuple):
    first: tl.tensor


@triton.aggregate
class Box:
    content: tl.tensor

    @triton.constexpr_function
    def __init__(self, content):
        self.content = content


@triton.jit
def asking_kernel(out, n, B: tl.constexpr, S: tl.constexpr):
    pair = Pair(n, n + 1)
    box = Box(n)
    tl.static_assert(isinstance(out, tl.tensor | tl.tensor_descriptor))
    tl.static_assert(isinstance(n, int | tl.tensor | float))
    tl.static_assert(isinstance(B, int | float) and not isinstance(S, int | float))
    tl.static_assert(isinstance(S, (int, str)) and isinstance(B, tl.constexpr | tl.dtype))
    tl.static_assert(isinstance(pair, Pair) and not isinstance(pair, Other) and isinstance(pair, Other | Pair))
    tl.static_assert(isinstance(box, Box) and not isinstance(n, Box) and not isinstance(box, Pair))
    tl.static_assert(isinstance(pair, tuple))
    tl.store(out, pair.second + box.content)


@pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim), "cpu"], indirect=True)
def test_classes_of_values(target):
    out = torch.zeros(1)
    asking_kernel[(1,)](out, 20, 3, "x")
    assert out.item() == 41


@triton.jit
def misused_kernel(out, B: tl.constexpr):
    if B == 0:
        tl.store(out, isinstance(B, tl.load))
    elif B == 1:
        tl.store(out, isinstance(B, int | tl.load))
    else:
        tl.store(out, isinstance(B, int | 3))


@pytest.mark.parametrize("case, told", [(0, r"must be tl.tensor, .*`A \| B` or `\(A, B\)`"), (1, r"`\|` does not apply"), (2, r"`\|` does not apply")])
def test_no_class_is_told(case, told):
    with pytest.raises(triton.CompilationError, match=told):
        misused_kernel[(1,)](torch.zeros(1), case)
