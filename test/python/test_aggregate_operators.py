"""Aggregates are no tuples: operators, brackets and Python's functions are methods of their classes, and what a class does
not define is refused. Compiled, interpreted and in Python."""
from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TARGETS = ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim), "python"]


@pytest.fixture(params=TARGETS)
def run(request, monkeypatch):
    """Runs a Python function as a kernel with 16 results and the number 3, each on a target or by Python itself."""
    if request.param == "python":
        monkeypatch.setenv("TEGULA_INTERPRET", "1")

    def launch(function):
        kernel = triton.jit(function)
        kernel.target = "cpu" if request.param == "python" else request.param
        out = np.zeros(16, np.int32)
        kernel[(1, )](out, 3)
        return out.tolist()

    return launch


@triton.aggregate
class Vector:
    x: tl.tensor
    y: tl.tensor

    @triton.jit
    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @triton.jit
    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    @triton.jit
    def __rmul__(self, k):
        return Vector(self.x * k, self.y * k + 100)

    @triton.jit
    def __rsub__(self, tile):
        return tl.sum(tile, 0) * 10 + self.x

    @triton.jit
    def __and__(self, bits):
        return self.x & bits

    @triton.jit
    def __neg__(self):
        return Vector(-self.x, -self.y)

    @triton.jit
    def __invert__(self):
        return self.x + 1000

    @triton.jit
    def __eq__(self, other):
        return self.x == other.x

    @triton.jit
    def __lt__(self, limit):
        return self.x < limit

    @triton.jit
    def __getitem__(self, i):
        return self.y + i

    @triton.jit
    def __call__(self, a, b=1):
        return self.x + a * b


def test_binary_operators_are_methods(run):

    def kernel(out, n):
        a, b = Vector(n, n + 1), Vector(n + 2, n * 5)
        tl.store(out, (a + b).x)
        tl.store(out + 1, (a + b).y)
        tl.store(out + 2, (a * 2).y)
        tl.store(out + 3, (2 * a).y)
        tl.store(out + 4, (n * a).y)
        a += b
        tl.store(out + 5, a.x)
        tl.store(out + 6, a & 12)
        tl.store(out + 7, tl.arange(0, 4) - a)

    assert run(kernel)[:8] == [8, 19, 8, 108, 112, 8, 8, 68]


def test_comparisons_and_unary_operators_are_methods(run):

    def kernel(out, n):
        a, b = Vector(n, n + 1), Vector(n + 2, n * 5)
        tl.store(out, tl.where(a == b, 1, 2))
        tl.store(out + 1, tl.where(a != b, 1, 2))
        tl.store(out + 2, tl.where(a < 4, 1, 2))
        tl.store(out + 3, tl.where(2 > a, 1, 2))
        tl.store(out + 4, (-b).y)
        tl.store(out + 5, ~b)
        tl.store(out + 6, a[n])
        tl.store(out + 7, a[10])
        tl.store(out + 8, a(2, b=5))

    assert run(kernel)[:9] == [2, 1, 1, 2, -15, 1005, 7, 14, 13]


@triton.aggregate
class Left:
    x: tl.tensor

    @triton.jit
    def __add__(self, other):
        if isinstance(other, Right):
            return NotImplemented
        return self.x + 10


@triton.aggregate
class Right:
    x: tl.tensor

    @triton.jit
    def __radd__(self, other):
        return self.x + 20


def test_the_right_side_answers_where_the_left_one_passes(run):

    def kernel(out, n):
        tl.store(out, Left(n) + Right(n))
        tl.store(out + 1, Left(n) + n)
        tl.store(out + 2, n + Right(n))
        tl.store(out + 3, 7 + Right(n))

    assert run(kernel)[:4] == [23, 13, 23, 23]


@triton.aggregate
class Bag:
    first: tl.tensor
    SIZE: tl.constexpr

    @triton.jit
    def __len__(self):
        return self.SIZE

    @triton.jit
    def __contains__(self, value):
        return self.first == value

    @triton.jit
    def __bool__(self):
        return self.SIZE != 0


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_functions_of_python_ask_for_methods(target):
    """As upstream compiles them; Python itself wants constants of them."""

    @triton.jit
    def kernel(out, n):
        bag, empty = Bag(n, 5), Bag(n, 0)
        SIZE: tl.constexpr = len(bag)
        tl.store(out + tl.arange(0, SIZE), 1)
        if bag:
            tl.store(out + 5, 2)
        if empty:
            tl.store(out + 6, 2)
        tl.store(out + 7, tl.where(3 in bag, 1, 2))
        tl.store(out + 8, tl.where(3 not in bag, 1, 2))
        tl.store(out + 9, 4 if not empty else 5)
        tl.store(out + 10, bag.SIZE if empty or bag else 0)

    kernel.target = target
    out = np.zeros(16, np.int32)
    kernel[(1, )](out, 3)
    assert out.tolist() == [1, 1, 1, 1, 1, 2, 0, 1, 2, 4, 5, 0, 0, 0, 0, 0]


@triton.aggregate
class Plain:
    x: tl.tensor
    N: tl.constexpr


def _add(a, n):
    return a + a


def _add_number(a, n):
    return n + a


def _repeat(a, n):
    return a * 3


def _equal(a, n):
    return a == Plain(n, 2)


def _unequal_in_tuples(a, n):
    return (a, 1) != (Plain(n, 2), 1)


def _less(a, n):
    return n < a


def _negated(a, n):
    return -a


def _first(a, n):
    return a[0]


def _sliced(a, n):
    return a[0:1]


def _length(a, n):
    return len(a)


def _unpacked(a, n):
    x, y = a
    return x


def _starred(a, n):
    return tl.maximum(*a)


def _iterated(a, n):
    for x in a:
        n = x
    return n


def _in_comprehension(a, n):
    return [x for x in a]


def _contained(a, n):
    return n in a


def _as_tuple(a, n):
    return tuple(a)


def _called(a, n):
    return a(1)


@pytest.mark.parametrize("use, message, hint", [
    (_add, "`+` does not apply to Plain(int32, int) and Plain(int32, int)", "`__add__` with @triton.jit"),
    (_add_number, "`+` does not apply to int32 and Plain(int32, int)", "`__radd__` with @triton.jit"),
    (_repeat, "`*` does not apply to Plain(int32, int) and int", "`__mul__` with @triton.jit"),
    (_equal, "`==` does not apply to Plain", "`__eq__` with @triton.jit"),
    (_unequal_in_tuples, "`==` does not apply to Plain", "`__eq__` with @triton.jit"),
    (_less, "`<` does not apply to int32 and Plain", "`__gt__` with @triton.jit"),
    (_negated, "`-` does not apply to Plain", "`__neg__` with @triton.jit"),
    (_first, "`[]` does not apply to Plain", "`__getitem__` with @triton.jit"),
    (_sliced, "a slice of an aggregate is not supported", "a method that takes the bounds"),
    (_length, "`len` does not apply to Plain", "`__len__` with @triton.jit"),
    (_unpacked, "Plain(int32, int) cannot be unpacked or iterated: it is not a tuple", ""),
    (_starred, "Plain(int32, int) cannot be unpacked or iterated: it is not a tuple", ""),
    (_iterated, "Plain(int32, int) cannot be unpacked or iterated: it is not a tuple", ""),
    (_in_comprehension, "Plain(int32, int) cannot be unpacked or iterated: it is not a tuple", ""),
    (_contained, "`in` does not apply to Plain", "`__contains__` with @triton.jit"),
    (_as_tuple, "`x` of `tuple` must be a tuple, not", ""),
    (_called, "Plain(int32, int) cannot be called", ""),
])
def test_what_a_class_does_not_define_is_refused(use, message, hint):
    function = triton.jit(use)

    @triton.jit
    def kernel(out, n):
        tl.store(out, function(Plain(n, 2), n))

    with pytest.raises(triton.CompilationError) as error:
        kernel[(1, )](np.zeros(1, np.int32), 3)
    assert message in str(error.value) and hint in str(error.value)


def test_identity_and_none_need_no_method(run):

    def kernel(out, n):
        a = Plain(n, 2)
        tl.store(out, 1 if a is None else 2)
        tl.store(out + 1, 1 if a == None else 2)  # noqa: E711
        tl.store(out + 2, 1 if a else 2)

    assert run(kernel)[:3] == [2, 2, 1]


class Pair(NamedTuple):
    first: tl.tensor
    second: tl.tensor


def test_named_tuples_are_tuples(run):

    def kernel(out, n):
        pair = Pair(n, n * 2)
        x, y = pair
        tl.store(out, x + y)
        tl.store(out + 1, pair[1] + len(pair) + len(pair + pair))
        for z in pair:
            tl.store(out + z, z)

    assert run(kernel)[:7] == [9, 12, 0, 3, 0, 0, 6]


@triton.aggregate
class Either:
    width: tl.tensor | tl.constexpr
    shift: "tl.constexpr | tl.tensor"


def test_a_field_of_two_kinds_holds_what_it_is_given(run):

    def kernel(out, n):
        constant, value = Either(4, 1), Either(n, n)
        i = tl.arange(0, constant.width)
        tl.store(out + i + constant.shift, i + value.width)
        tl.store(out, value.shift)

    assert run(kernel)[:5] == [3, 3, 4, 5, 6]


@triton.aggregate
class Mixed:
    x: tl.tensor
    N: tl.constexpr
    KIND: tl.constexpr

    @triton.constexpr_function
    def twice(self):
        return self.N * 2


@triton.constexpr_function
def width_of(mixed, others):
    return mixed.N + len(others) if mixed.KIND == "wide" else 0


@triton.constexpr_function
def swapped(pair):
    return pair[1], pair[0], 4


@triton.constexpr_function
def with_twice(mixed):
    return tl.aggregate_replace(mixed, N=mixed.N * 2)


def test_python_sees_the_constants_beside_run_time_values():

    @triton.jit
    def kernel(out, n):
        mixed = Mixed(n, 3, "wide")
        WIDTH: tl.constexpr = width_of(mixed, (n, n, 1))
        tl.store(out + tl.arange(0, WIDTH), mixed.twice())
        both = swapped((n, n + 5))
        tl.store(out + 6, both[0])
        tl.store(out + 7, both[1] + both[2])
        other = with_twice(mixed)
        tl.store(out + 8, other.x + other.N)

    out = np.zeros(16, np.int32)
    kernel[(1, )](out, 3)
    assert out.tolist()[:10] == [6, 6, 6, 6, 6, 6, 8, 7, 9, 0]


@triton.aggregate
class Named:
    x: tl.tensor
    name: tl.constexpr


@triton.jit
def _of_two_names(n):
    if n > 1:
        return Named(n, "a")
    return Named(n, "b")


@triton.jit
def _in_branches(n):
    a = Named(n, "a")
    if n > 1:
        a = Named(n, "b")
    return a


@triton.jit
def _in_a_loop(n):
    a = Plain(n, 3)
    for i in range(n):
        a = Plain(n + i, 4)
    return a


@triton.jit
def _by_condition(n):
    return Plain(n, 3) if n > 1 else Plain(n + 1, 3)


@pytest.mark.parametrize("make, message", [
    (_of_two_names, "`_of_two_names` returns Named(int32, 'a') on one path and Named(int32, 'b') on another"),
    (_in_branches, "initial value for `a` is of type Named(int32, 'a'), but the then block redefines it as Named(int32, 'b')"),
    (_in_a_loop, "variable a has initial type Plain(int32, 3) but is re-assigned to Plain(int32, 4) in this loop"),
    (_by_condition, "`a if condition else b` with Plain(int32, int) and a run-time condition is not supported"),
])
def test_constants_of_an_aggregate_do_not_change_at_run_time(make, message):

    @triton.jit
    def kernel(out, n):
        tl.store(out, make(n).x)

    with pytest.raises(triton.CompilationError) as error:
        kernel[(1, )](np.zeros(1, np.int32), 3)
    assert message in str(error.value)


def test_an_aggregate_is_shown_with_its_fields(capsys):

    @triton.jit
    def kernel(out, n):
        tl.static_print(Plain(n, 2), Pair(1, 2))
        tl.store(out, n)

    kernel[(1, )](np.zeros(1, np.int32), 3)
    assert capsys.readouterr().out == "Plain(x=int32, N=2) Pair(first=1, second=2)\n"


def test_the_type_of_an_aggregate_is_its_class_with_the_types_of_its_fields(capsys):

    @triton.jit
    def kernel(out, n):
        a, b = Plain(n, 2), Plain(n + 1, 2)
        tl.static_assert(a.type == b.type)
        tl.static_assert(a.type != Plain(n, 3).type and a.type != Plain(n * 1.5, 2).type)
        tl.static_assert(a.type.base_cls == Plain)
        tl.static_print(a.type.fields)

    kernel[(1, )](np.zeros(1, np.int32), 3)
    assert capsys.readouterr().out == "(('x', int32), ('N', 2))\n"
