"""A kernel computes with the constants that its names mean now: what is compiled depends on what the host answered."""
import gc
import types
from types import SimpleNamespace

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula import _tegula as core


def result(kernel, *args, **kwargs):
    out = np.zeros(1, np.float32)
    kernel[(1,)](out, *args, **kwargs)
    return out[0]


def with_globals(fn, **names):
    """The kernel `fn` over a namespace of its own, which a test changes."""
    namespace = {"tl": tl, **names}
    return triton.jit(types.FunctionType(fn.__code__, namespace, fn.__name__, fn.__defaults__)), namespace


def reads_limit(out_ptr):
    tl.store(out_ptr, LIMIT)  # noqa: F821


def test_changed_global():
    kernel, names = with_globals(reads_limit, LIMIT=tl.constexpr(3))
    assert result(kernel) == 3
    first = kernel[(1,)](np.zeros(1, np.float32))
    names["LIMIT"] = tl.constexpr(3)  # an equal value is the same constant
    assert kernel[(1,)](np.zeros(1, np.float32)) is first
    names["LIMIT"] = tl.constexpr(4)
    assert result(kernel) == 4
    names["LIMIT"] = tl.constexpr(3)  # and the kernel for the old value is still there
    assert kernel[(1,)](np.zeros(1, np.float32)) is first
    names["LIMIT"] = tl.constexpr(3.5)
    assert result(kernel) == 3.5


def test_equal_numbers_of_other_types_are_other_constants():
    kernel, names = with_globals(reads_limit, LIMIT=tl.constexpr(0.0))
    assert not np.signbit(result(kernel))
    names["LIMIT"] = tl.constexpr(-0.0)
    assert np.signbit(result(kernel))


def test_changed_value_of_a_constexpr():
    kernel, names = with_globals(reads_limit, LIMIT=tl.constexpr(3))
    assert result(kernel) == 3
    names["LIMIT"].value = 4
    assert result(kernel) == 4


def test_changed_global_with_an_annotation():
    kernel, names = with_globals(reads_limit, LIMIT=3, __annotations__={"LIMIT": tl.constexpr})
    assert result(kernel) == 3
    names["LIMIT"] = 4
    assert result(kernel) == 4
    names["__annotations__"].clear()
    with pytest.raises(triton.CompilationError, match="LIMIT"):
        result(kernel)


def test_removed_and_late_global():
    kernel, names = with_globals(reads_limit)
    with pytest.raises(triton.CompilationError, match="LIMIT"):
        result(kernel)
    names["LIMIT"] = tl.constexpr(3)
    assert result(kernel) == 3
    del names["LIMIT"]
    with pytest.raises(triton.CompilationError, match="LIMIT"):
        result(kernel)


def test_global_that_hides_a_builtin_later():
    def kernel(out_ptr):
        tl.store(out_ptr, max(3, 4))

    kernel, names = with_globals(kernel)
    assert result(kernel) == 4
    names["max"] = triton.jit(lambda_source)
    assert result(kernel) == 12


def lambda_source(a, b):
    return a * b


def test_changed_nonlocal():
    limit = tl.constexpr(3)

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, limit)

    assert result(kernel) == 3
    limit = tl.constexpr(4)
    assert result(kernel) == 4


@pytest.mark.parametrize("make", [SimpleNamespace, lambda N: types.new_class("Config", (), {}, lambda body: body.update(N=N)),
                                  lambda N: _module(N=N), lambda N: _slotted(N)])
def test_changed_attribute(make):
    cfg = make(N=tl.constexpr(3))

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.N)

    assert result(kernel) == 3
    cfg.N = tl.constexpr(4)
    assert result(kernel) == 4
    cfg.N = 5
    assert result(kernel) == 5
    cfg = make(N=tl.constexpr(6))  # another object under the same name
    assert result(kernel) == 6


def _module(N):
    module = types.ModuleType("settings")
    module.N = N
    return module


class Slotted:
    __slots__ = ("N",)


def _slotted(N):
    made = Slotted()
    made.N = N
    return made


def test_changed_attribute_of_an_attribute():
    mod = _module(3)
    mod.sub = SimpleNamespace(X=tl.constexpr(3))

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, mod.sub.X)

    assert result(kernel) == 3
    mod.sub.X = tl.constexpr(4)
    assert result(kernel) == 4
    mod.sub = SimpleNamespace(X=tl.constexpr(5))
    assert result(kernel) == 5
    del mod.sub
    with pytest.raises(triton.CompilationError, match="sub"):
        result(kernel)


def test_property_is_read_again():
    class Config:
        value = 3

        @property
        def N(self):
            return tl.constexpr(Config.value)

    cfg = Config()

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.N)

    assert result(kernel) == 3
    Config.value = 4
    assert result(kernel) == 4


def test_inherited_attribute_is_hidden_later():
    class Config:
        N = tl.constexpr(3)

    cfg = Config()

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.N)

    assert result(kernel) == 3
    cfg.N = tl.constexpr(4)
    assert result(kernel) == 4


def test_changed_elements_of_a_list():
    sizes = [tl.constexpr(3), [1, 2]]
    cfg = SimpleNamespace(sizes=sizes)

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.sizes[0] + cfg.sizes[1][0])

    assert result(kernel) == 4
    sizes[0] = tl.constexpr(10)
    assert result(kernel) == 11
    sizes[1][0] = 5
    assert result(kernel) == 15


def test_changed_attribute_of_an_argument():
    @triton.jit
    def kernel(out_ptr, CFG: tl.constexpr):
        tl.store(out_ptr, CFG.N)

    cfg = SimpleNamespace(N=tl.constexpr(3))
    assert result(kernel, cfg) == 3
    cfg.N = tl.constexpr(4)
    assert result(kernel, cfg) == 4
    assert result(kernel, SimpleNamespace(N=5)) == 5


def test_changed_helper_and_what_it_reads():
    names = {"tl": tl, "K": tl.constexpr(10)}

    def scale(x):
        return x * K  # noqa: F821

    def shift(x):
        return x + 1

    def fresh(fn):
        return triton.jit(types.FunctionType(fn.__code__, names, fn.__name__))

    def kernel(out_ptr):
        tl.store(out_ptr, helper(3))  # noqa: F821

    kernel, kernel_names = with_globals(kernel, helper=fresh(scale))
    assert result(kernel) == 30
    names["K"] = tl.constexpr(100)
    assert result(kernel) == 300
    kernel_names["helper"] = fresh(shift)
    gc.collect()
    assert result(kernel) == 4
    kernel_names["helper"] = fresh(scale)
    assert result(kernel) == 300


def closing_over(value):
    """A helper; all of them have the same text."""
    K = tl.constexpr(value)

    @triton.jit
    def helper():
        return K

    return helper


def test_closures_of_one_text_are_told_apart():
    """The helper is rebound to a function of the same text that closes over another constant."""
    cfg = SimpleNamespace(helper=closing_over(3))

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.helper())

    for value in (3, 4, 5):
        cfg.helper = closing_over(value)
        gc.collect()
        assert result(kernel) == value


def test_functions_as_arguments_are_told_apart_after_their_end():
    @triton.jit
    def kernel(out_ptr, F: tl.constexpr):
        tl.store(out_ptr, F())

    for value in range(20):  # ends each time: the next may lie at the same address
        assert result(kernel, closing_over(value)) == value


class TestConstexprFunctions:
    def test_changed_closure(self):
        scale = 2

        @triton.constexpr_function
        def scaled(x):
            return x * scale

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, scaled(3))

        assert result(kernel) == 6
        scale = 5
        assert result(kernel) == 15

    def test_changed_callee(self):
        def inner(x):
            return x + 1

        @triton.constexpr_function
        def outer(x):
            return inner(x)

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, outer(3))

        assert result(kernel) == 4
        inner.__code__ = (lambda x: x + 2).__code__
        assert result(kernel) == 5

    def test_changed_table(self):
        table = {"a": 3}
        calls = []

        @triton.constexpr_function
        def entry(key):
            calls.append(key)
            return table[key]

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, entry("a"))

        assert result(kernel) == 3
        table["a"] = 4
        assert result(kernel) == 4

    def test_pure_functions_are_not_called_again(self):
        calls = []

        @triton.constexpr_function
        def twice(x):
            return 2 * x

        plain = twice.fn
        twice.fn = types.FunctionType(plain.__code__, {"calls": calls}, "twice")

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, twice(3))

        before = core.watched_places(kernel)
        for _ in range(3):
            assert result(kernel) == 6
        assert core.watched_places(kernel) > before


def test_the_simulated_architecture_is_part_of_the_key(monkeypatch):
    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, 3)

    kernel.target = "ptxvm"
    out = np.zeros(1, np.float32)
    archs = []
    for arch in ("sm_80", "sm_90a", "sm_80"):
        monkeypatch.setenv("TEGULA_SIM_ARCH", arch)
        archs.append(kernel[(1,)](out).arch)
    assert archs == ["sm_80", "sm_90a", "sm_80"]
    monkeypatch.setenv("TEGULA_SIM_ARCH", "volta")
    with pytest.raises(triton.TritonError, match="no architecture `volta`"):
        kernel[(1,)](out)


# ---- what a launch looks at does not grow; what is kept is bounded -------------------------------


def test_places_do_not_grow_with_specializations():
    cfg = SimpleNamespace(N=tl.constexpr(3))

    @triton.jit
    def kernel(out_ptr, B: tl.constexpr):
        tl.store(out_ptr, cfg.N + B)

    kernel.target = "interp"
    result(kernel, 0)
    places = core.watched_places(kernel)
    assert 0 < places < 10
    for block in range(1, 40):
        assert result(kernel, block) == block + 3
    assert core.watched_places(kernel) == places


def test_places_do_not_grow_with_objects():
    @triton.jit
    def kernel(out_ptr, CFG: tl.constexpr):
        tl.store(out_ptr, CFG.N)

    kernel.target = "interp"
    for i in range(400):
        assert result(kernel, SimpleNamespace(N=i)) == i
    assert core.watched_places(kernel) < 300


def test_a_kernel_that_reads_many_places():
    names = {f"C{i}": tl.constexpr(i) for i in range(300)}
    cfg = SimpleNamespace(**names)
    text = "def kernel(out_ptr):\n" + "".join(f"    tl.store(out_ptr + {i}, cfg.C{i})\n" for i in range(300))
    import linecache

    linecache.cache["<many>"] = (len(text), None, text.splitlines(True), "<many>")
    scope = {"tl": tl, "cfg": cfg}
    exec(compile(text, "<many>", "exec"), scope)
    kernel = triton.jit(scope["kernel"])
    kernel.target = "interp"
    out = np.zeros(300, np.float32)
    found = {kernel[(1,)](out) for _ in range(4)}
    assert len(found) == 1 and out.tolist() == list(range(300))
    cfg.C299 = tl.constexpr(-1)
    kernel[(1,)](out)
    assert out[299] == -1


def test_kernels_in_memory_are_bounded():
    @triton.jit
    def kernel(out_ptr, B: tl.constexpr):
        tl.store(out_ptr, B)

    kernel.target = "interp"
    limit = triton.get_kernel_limit()
    gc.collect()
    held = kernel[(1,)](np.zeros(1, np.float32), 0)
    try:
        triton.set_kernel_limit(16)
        for block in range(1, 60):
            assert result(kernel, block) == block
            assert core.kept_kernels() <= 16
        assert "tt.func" in held.asm["ttir"]  # evicted, and still of use to who holds it
        assert result(kernel, 0) == 0  # and compiled again
        assert result(kernel, 59) == 59
    finally:
        triton.set_kernel_limit(limit)


def test_the_bound_comes_from_the_environment(python):
    script = "import tegula; print(tegula.get_kernel_limit())"
    assert python(script).stdout == "1024\n"
    assert python(script, env={"TEGULA_MAX_KERNELS": "7"}).stdout == "7\n"


def test_changing_constants_from_many_threads():
    import threading

    cfg = SimpleNamespace(N=tl.constexpr(0))

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.N)

    kernel.target = "interp"
    errors = []

    def work():
        try:
            for _ in range(60):
                before = cfg.N.value
                found = result(kernel)
                after = cfg.N.value
                assert before <= found <= after
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for value in range(1, 40):
        cfg.N = tl.constexpr(value)
        result(kernel)
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_handles_of_objects_end_with_them():
    from tegula import encode

    @triton.jit
    def kernel(out_ptr, CFG: tl.constexpr):
        tl.store(out_ptr, CFG.N)

    kernel.target = "interp"
    gc.collect()
    before = len(encode._opaque)
    for i in range(600):
        result(kernel, _config(i))
    gc.collect()
    assert len(encode._opaque) - before < 400


class Config:
    pass


def _config(N):
    made = Config()
    made.N = N
    return made


def test_handles_of_objects_without_weak_references_are_bounded(monkeypatch):
    from tegula import encode

    @triton.jit
    def kernel(out_ptr, CFG: tl.constexpr):
        tl.store(out_ptr, CFG.N)

    kernel.target = "interp"
    monkeypatch.setattr(encode, "_MOST_KEPT", 8)
    first = SimpleNamespace(N=-1)
    assert result(kernel, first) == -1
    for i in range(30):
        assert result(kernel, SimpleNamespace(N=i)) == i
        assert len(encode._kept) <= 8
    assert result(kernel, first) == -1  # under another handle
