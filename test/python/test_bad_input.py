"""Every kind of bad input is an exception with the place, the reason and a hint, and the process lives."""
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

triton.install_as_triton()
CASES = sorted((Path(__file__).parents[1] / "bad_input").glob("*.py"))


def readable(path):
    try:
        compile(path.read_text(), str(path), "exec")
    except (SyntaxError, RecursionError, MemoryError):
        return False
    return True


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch):
    monkeypatch.setenv("TEGULA_TARGET", "interp")


@pytest.mark.parametrize("path", [p for p in CASES if readable(p)], ids=lambda path: path.stem)
def test_kernel_is_refused(path):
    kind, line, column = re.match(r"# error: (\w+) (\d+):(\d+)\n", path.read_text()).groups()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(triton.TritonError) as caught:
        module.kernel[(1,)](np.zeros(64, np.float32), 5)
    first = caught.value.diagnostics[0]
    assert (first.kind, first.line, first.column) == (kind, int(line), int(column))
    assert first.file == str(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}:{column}: error: ") and "^" in text


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


add.target = "interp"
X = np.ones(8, np.float32)


def call(*args, grid=(1,), **kwargs):
    return add[grid](*args, **kwargs)


@pytest.mark.parametrize("grid", [3, (), (-1,), (1, -2), (1.5,), ("a",), None, "ab", (2**40,)],
                         ids=repr)
def test_grid(grid):
    if grid is None:  # only compiling is asked for with warmup
        grid = object()
    with pytest.raises((TypeError, ValueError)) as caught:
        call(X, X, X.copy(), 8, BLOCK=8, grid=grid)
    assert isinstance(caught.value, triton.LaunchError)
    assert "grid" in str(caught.value) and "hint: " in str(caught.value)


@pytest.mark.parametrize("grid", [lambda meta: 3, lambda meta: (), lambda meta: (-1,)])
def test_grid_of_a_function(grid):
    with pytest.raises(triton.LaunchError, match="grid"):
        call(X, X, X.copy(), 8, BLOCK=8, grid=grid)


def raises(kind, *args, **kwargs):
    with pytest.raises(triton.LaunchError) as caught:
        call(*args, **kwargs)
    assert caught.value.kind == kind
    assert "hint: " in str(caught.value) and "^" in str(caught.value)
    return str(caught.value)


def test_missing_constexpr():
    assert "`BLOCK`" in raises("ConstexprMissing", X, X, X, 8)


def test_missing_argument():
    assert "`out_ptr`" in raises("ArgumentMissing", X, X, BLOCK=8)


def test_unknown_keyword():
    assert "`BLOCKS`" in raises("KeywordUnknown", X, X, X.copy(), 8, BLOCK=8, BLOCKS=8)
    with pytest.raises(KeyError):
        call(X, X, X.copy(), 8, BLOCK=8, BLOCKS=8)


def test_argument_twice():
    raises("ParameterTwice", X, X, X.copy(), 8, n=8, BLOCK=8)


def test_too_many_arguments():
    with pytest.raises(triton.LaunchError, match="takes 5 arguments, and 6"):
        call(X, X, X, 8, 8, 8)


def test_array_for_a_constexpr():
    raises("ConstexprNeedsConstant", X, X, X, 8, BLOCK=X)


def test_string_for_a_run_time_parameter():
    raises("ArgumentNeedsConstexpr", X, X, X.copy(), "eight", BLOCK=8)


def test_object_for_a_run_time_parameter():
    assert "a dict" in raises("ArgumentNeedsConstexpr", X, X, X.copy(), {}, BLOCK=8)


def test_read_only_array_as_output():
    frozen = X.copy()
    frozen.flags.writeable = False
    assert "`out_ptr`" in raises("ArgumentReadOnly", X, X, frozen, 8, BLOCK=8)
    call(frozen, frozen, X.copy(), 8, BLOCK=8)  # as an input it is fine


@triton.jit
def writes_by_way_of_an_integer(out_ptr, x_ptr, n):
    address = out_ptr.to(tl.int64)
    for i in range(n):
        tl.store(address.to(tl.pointer_type(tl.float32)), tl.load(x_ptr + i))
        address += 4


def test_read_only_array_written_by_way_of_an_integer():
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(triton.LaunchError, match="ArgumentReadOnly"):
        writes_by_way_of_an_integer[(1,)](frozen, X, 4)
    writes_by_way_of_an_integer[(1,)](X.copy(), frozen, 4)  # as an input it is fine


@pytest.mark.parametrize("option", [{"num_warps": 3}, {"num_warps": 0}, {"num_warps": "four"}, {"num_stages": -1}])
def test_option_value(option):
    with pytest.raises(triton.LaunchError, match=next(iter(option))):
        call(X, X, X.copy(), 8, BLOCK=8, **option)


@pytest.mark.parametrize("array", [X.astype(np.complex64), np.array(["a"]), np.array([object()]),
                                   np.zeros(2, "datetime64[s]"), torch.zeros(2, dtype=torch.complex64)],
                         ids=["complex", "str", "object", "datetime", "torch"])
def test_element_type(array):
    with pytest.raises(TypeError, match="cannot be a kernel's argument") as caught:
        call(array, X, X.copy(), 8, BLOCK=8)
    assert caught.value.__notes__ == ["argument 0 of the launch, counted from 0"]


def test_a_tensor_without_memory_of_its_own():
    with pytest.raises(RuntimeError) as caught:
        call(X, X, X.copy(), n=torch.zeros(4, 4).to_sparse(), BLOCK=8)
    assert "argument 'n' of the launch" in caught.value.__notes__[0] and "to_dense" in caught.value.__notes__[0]


def test_byte_order():
    with pytest.raises(TypeError, match="byte order"):
        call(X.astype(">f4"), X, X.copy(), 8, BLOCK=8)


@triton.jit
def pinned(x_ptr: tl.pointer_type(tl.float32), n: tl.int32, f: tl.float32):
    tl.store(x_ptr, n + f)


pinned.target = "interp"


@pytest.mark.parametrize("args", [(X.astype(np.float64), 1, 1.0), (X, 1.5, 1.0), (X, X, 1.0), (5, 1, 1.0)])
def test_wrong_type_for_an_annotation(args):
    with pytest.raises(triton.LaunchError) as caught:
        pinned[(1,)](*args)
    assert caught.value.kind == "ArgumentType"


@pytest.mark.parametrize("value", [2**31, -2**31 - 1, 2**64, 2**200])
def test_int_that_does_not_fit(value):
    with pytest.raises(triton.LaunchError) as caught:
        pinned[(1,)](X.copy(), value, 1.0)
    assert caught.value.kind == "ArgumentRange"


def test_tensor_that_is_the_negative_of_its_memory():
    pairs = torch.complex(torch.arange(9.0), torch.arange(9.0))
    negative = pairs.conj().imag[1:]
    assert negative.is_neg()
    with pytest.raises(ValueError, match=r"negative of what lies in its memory.*\n.*tensor.resolve_neg\(\)"):
        call(negative, X, X.copy(), 8, BLOCK=8)
    out = torch.zeros(16)
    call(negative.resolve_neg(), torch.zeros(8), out, 8, BLOCK=8)
    assert out.tolist() == [*range(-1, -9, -1), *[0] * 8]
    call(pairs.imag[1:], torch.zeros(16), out, 8, BLOCK=8)  # every other element, and no negative
    assert out.tolist() == [1, 2, 2, 3, 3, 4, 4, 5] + [0] * 8


def test_storage_of_a_tensor():
    with pytest.raises(AttributeError, match="UntypedStorage.*dtype"):
        call(torch.zeros(8).untyped_storage(), X, X.copy(), 8, BLOCK=8)


class OnGpu:
    is_cpu, device, dtype = False, "xpu:0", torch.float32

    def data_ptr(self):
        raise AssertionError("the memory of a device is not asked for")


def test_tensor_of_a_gpu():
    with pytest.raises(ValueError, match="xpu:0.*no target"):
        call(OnGpu(), X, X.copy(), 8, BLOCK=8)


def test_gpu_target():
    @triton.jit
    def kernel(x_ptr):
        tl.store(x_ptr, 1.0)

    kernel.target = "hip"
    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](X.copy())
    assert caught.value.kind == "TargetNeedsGpu"


def test_kernel_called_without_grid():
    with pytest.raises(RuntimeError, match=r"add\[grid\]"):
        add(X, X, X, 8, 8)


def test_builtin_called_in_python():
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        tl.load(X)


def test_builtin_called_in_python_is_what_upstream_raises():
    with pytest.raises(ValueError, match="only inside a kernel"):  # of a builtin
        tl.arange(0, 4)
    with pytest.raises(RuntimeError, match="only inside a kernel"):  # of a function of its library
        tl.sum(X)


def test_function_whose_text_is_gone():
    names = {}
    exec("".join(["import tegula\n@tegula.jit\n", "def kernel(x): pass\n"]), names)
    with pytest.raises(ValueError, match="should be defined in a Python file"):
        names["kernel"][(1,)](X)


def test_attribute_of_the_language():
    with pytest.raises(AttributeError, match="nonsense"):
        tl.nonsense


def test_cause_of_an_error_is_what_is_wrong():
    @triton.jit
    def kernel(x_ptr):
        tl.expand_dims(tl.arange(0, 4), 5)

    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](X)
    assert isinstance(caught.value.__cause__, ValueError) and "axis" in str(caught.value.__cause__)
    assert str(caught.value.__cause__) == caught.value.error_message


@triton.jit
def undefined_kernel(x_ptr, n):
    value = n + 1
    tl.store(x_ptr, valeu)


@triton.jit
def misspelled_kernel(x_ptr, n):
    tl.store(x_ptr, tl.maximun(n, 1))


@triton.jit
def swapped_letters_kernel(x_ptr, n):
    tl.store(x_ptr, tl.laod(x_ptr))


@triton.jit
def other_module_kernel(x_ptr, n):
    tl.store(x_ptr, tl.tanh(tl.load(x_ptr)))


@triton.jit
def run_time_shape_kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.zeros((n, 4), tl.float32)))


@triton.jit
def quotient_kernel(x_ptr, n):
    for i in range(n / 2):
        tl.store(x_ptr + i, 1.0)


@triton.jit
def elements_kernel(x_ptr, n):
    for x in tl.arange(0, 4):
        tl.store(x_ptr, x)


@triton.jit
def appended_kernel(x_ptr, n):
    values = []
    values.append(n)


@triton.jit
def starred_kernel(x_ptr, n):
    first, *rest = (n, 1, 2)


@triton.jit
def raising_kernel(x_ptr, n):
    if n > 3:
        raise ValueError("n")


@triton.jit
def python_function_kernel(x_ptr, n):
    tl.store(x_ptr, torch.exp(tl.load(x_ptr)))


@triton.jit
def numpy_function_kernel(x_ptr, n):
    tl.store(x_ptr, np.exp(tl.load(x_ptr)))


@triton.jit
def torch_type_kernel(x_ptr, n):
    tl.store(x_ptr, tl.load(x_ptr).to(torch.float16))


@triton.jit
def indexed_pointer_kernel(x_ptr, n):
    tl.store(x_ptr, x_ptr[n])


@triton.jit
def integer_mask_kernel(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, 4), 1.0, mask=tl.arange(0, 4))


@triton.jit
def pointer_below_kernel(x_ptr, n):
    tl.store(x_ptr, 1.0, mask=n < x_ptr)


@pytest.mark.parametrize("kernel, said", [
    (undefined_kernel, "did you mean `value`?"),
    (misspelled_kernel, "did you mean `maximum`?"),
    (swapped_letters_kernel, "did you mean `load`?"),
    (other_module_kernel, "did you mean `tl.extra.libdevice.tanh`?"),
    (run_time_shape_kernel, "a run-time value of type (int32, 4)"),
    (quotient_kernel, "divide with `//`"),
    (elements_kernel, "a tile is used as a whole"),
    (appended_kernel, "x = x + (value,)"),
    (starred_kernel, "rest = x[1:]"),
    (raising_kernel, "tl.static_assert"),
    (python_function_kernel, "the Python function `exp` needs a compile-time constant"),
    (python_function_kernel, "it is tl.exp"),
    (numpy_function_kernel, "it is tl.exp"),
    (torch_type_kernel, "must be a dtype, not torch.float16"),
    (torch_type_kernel, "types are tl.float32"),
    (indexed_pointer_kernel, "tl.load(pointer + offset)"),
    (integer_mask_kernel, "mask != 0"),
    (pointer_below_kernel, "x.item()"),
], ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_what_a_kernel_should_say_instead(kernel, said):
    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](X.copy(), 5)
    assert said in str(caught.value)


@pytest.mark.parametrize("argument, hint", [([1.0, 2.0], "take one element of it"), (None, "if x is not None:"),
                                            (5, "memory comes to a kernel as a tensor")], ids=str)
def test_argument_in_place_of_an_array(argument, hint):
    with pytest.raises(triton.CompilationError, match=hint):
        call(argument, X, X, 8, BLOCK=8)


@triton.jit
def given_function_kernel(x_ptr, f: tl.constexpr, BY: tl.constexpr):
    tl.store(x_ptr, f(3) if BY == "call" else f[0])


@pytest.mark.parametrize("by, said", [("call", "without @triton.jit cannot be called"), ("index", "cannot be indexed")])
def test_plain_function_as_an_argument(by, said):
    with pytest.raises(triton.CompilationError, match=said):
        given_function_kernel[(1,)](X.copy(), lambda x: x, by)


def test_calls_say_which_parameters_there_are():
    names = "its parameters: x_ptr, y_ptr, out_ptr, n, BLOCK"
    with pytest.raises(triton.LaunchError, match=names):
        call(X, X, X, 8, 8, 9)
    with pytest.raises(triton.LaunchError, match=names):
        call(X, X, X, 8, BLOK=8)
    with pytest.raises(KeyError, match="BLOK") as caught:
        call(X, X, X, 8, BLOCK=8, grid=lambda meta: (triton.cdiv(8, meta["BLOK"]),))
    assert caught.value.__notes__ == ["the function that gives the grid was called with "
                                      "['x_ptr', 'y_ptr', 'out_ptr', 'n', 'BLOCK']"]


@triton.jit
def endless_kernel(x_ptr, n):
    endless_kernel(x_ptr, n + 1)


def test_of_a_long_chain_of_calls_the_ends_are_shown():
    with pytest.raises(triton.TritonError, match="nest deeper") as caught:
        endless_kernel[(1,)](X, 1)
    text = str(caught.value)
    assert text.count("called from here") == 10 and "more between these" in text


def test_wrong_option_is_an_assertion_too():
    with pytest.raises(AssertionError, match="must be a power of 2"):
        add[(1,)](X, X, X, 8, 8, num_warps=3)


def test_exception_in_a_constexpr_function():
    @triton.constexpr_function
    def broken(x):
        return 1 // x

    @triton.jit
    def kernel(x_ptr, N: tl.constexpr):
        tl.store(x_ptr, broken(N))

    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](X.copy(), 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_launches_go_on_after_errors():
    out = np.zeros(8, np.float32)
    for _ in range(50):
        with pytest.raises(triton.LaunchError):
            call(X, X, out, 8, BLOCK=8, grid=(-1,))
    call(X, X, out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, 2 * X)


@triton.jit
def asserting(x_ptr):
    tl.device_assert(tl.load(x_ptr) < 0, "x is not negative")


def test_device_assert_that_fails():
    asserting.target = "interp"
    with pytest.raises(triton.DeviceAssertionError, match="x is not negative") as caught:
        asserting[(1,)](X.copy(), debug=True)
    assert caught.value.kind == "DeviceAssertion"


@triton.jit
def doubled(x):
    return tl.inline_asm_elementwise("add.u32 $0, $1, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def calls_doubled(x_ptr):
    tl.store(x_ptr, doubled(tl.load(x_ptr)))


def test_op_of_a_helper_that_a_target_lacks_is_named_by_its_own_line():
    calls_doubled.target = "cpu"
    with pytest.raises(triton.TritonError, match="the CPU target has no inline assembly") as caught:
        calls_doubled[(1,)](np.zeros(1, np.int32))
    lines = Path(__file__).read_text().splitlines()
    assert f"{__file__}:{1 + lines.index('def doubled(x):') + 1}:12: " in str(caught.value)
    assert caught.value.diagnostics[0].line == 1 + lines.index("def calls_doubled(x_ptr):")


async def waiting(x_ptr):
    pass


async def waiting_for_many(x_ptr):
    yield x_ptr


@pytest.mark.parametrize("function, reason", [(lambda x_ptr: x_ptr, "not a lambda"), (waiting, "not `async def waiting`"),
                                              (waiting_for_many, "not `async def waiting_for_many`")])
def test_lambdas_and_coroutines_are_no_kernels(function, reason):
    with pytest.raises(TypeError, match=reason):
        triton.jit(function)
