"""The variable of a `for` loop that its body assigns is, behind the loop, as the body left it."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def variables_kernel(out, x, n):
    i = n * 0
    for i in range(n):
        i = i * 2
    tl.store(out, i)
    for j in range(5, 0, -1):
        j = j * 3
    tl.store(out + 1, j)
    for k in range(n):
        if k == 2:
            k = 100
            break
    tl.store(out + 2, k)
    total = 0
    for w in range(n):
        for w in range(w):
            w += 1
        total += w
    tl.store(out + 3, total)
    q = 7
    for q in range(n, n):
        q = q + 1
    tl.store(out + 4, q)
    loaded = 0.0
    for t in range(n):  # of another type, and nobody asks for it behind the loop
        t = t.to(tl.int64)
        loaded += tl.load(x + t)
    tl.store(out + 5, loaded)


def of_python(n):
    i = 0
    for i in range(n):
        i = i * 2
    for j in range(5, 0, -1):
        j = j * 3
    for k in range(n):
        if k == 2:
            k = 100
            break
    total = 0
    for w in range(n):
        for w in range(w):
            w += 1
        total += w
    return [i, j, k, total, 7, n * (n - 1) / 2]


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_they_are_as_the_body_left_them(target, n):
    out = torch.zeros(6)
    variables_kernel[(1,)](out, torch.arange(8.0), n)
    assert out.tolist() == of_python(n)


@triton.jit
def other_type_kernel(out, n):
    for i in range(n):
        i = i + 0.5
    tl.store(out, i)


def test_one_of_another_type_has_no_value(target):
    with pytest.raises(triton.CompilationError, match="LoopVariableGone"):
        other_type_kernel[(1,)](torch.zeros(1), 3)
