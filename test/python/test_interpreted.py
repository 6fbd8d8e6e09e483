"""Kernels that Python runs, operation by operation: what a program of the user's sees inside of them."""
import pdb
import sys

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.runtime.interpreter import InterpretedFunction as interpreted
from tegula.tools.tensor_descriptor import TensorDescriptor

SEEN = []


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


@triton.jit
def compiled_helper(x, times: tl.constexpr):
    y = x * times
    return y + 1


@interpreted
def printing_helper(x):
    print("helper has", x)
    return compiled_helper(x, 2)


@interpreted
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 8):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    if pid == 1:
        print(f"program {pid} of {tl.num_programs(0)} has {x}")
        SEEN.append((np.asarray(x), x.handle.data, x.dtype, x.shape, np.asarray(mask).sum()))
    tl.store(y_ptr + offsets, printing_helper(x), mask=mask)


def test_print_format_and_numpy(capsys):
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    assert add_kernel[(2, )](x, y, 10) is None
    assert (y == x * 2 + 1).all()
    out = capsys.readouterr().out
    assert "program 1 of 2 has [8. 9. 0. 0. 0. 0. 0. 0.]" in out and out.count("helper has") == 2
    array, data, dtype, shape, count = SEEN[0]
    assert array.dtype == np.float32 and (array == data).all() and (dtype, shape, count) == (tl.float32, (8, ), 2)
    with pytest.raises(ValueError):
        array[0] = 1


def test_kernel_that_exec_made():
    text = """
@interpreted
def kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    total = 7
    total = total // -2
    tl.store(x_ptr + tl.arange(0, BLOCK), x + total)
"""
    names = {}
    exec(text, globals(), names)
    x = np.arange(8, dtype=np.int32)
    names["kernel"][(1, )](x, 8)
    assert (x == np.arange(8) - 3).all()  # `total` is a value of the kernel: its division cuts


@interpreted
def sum_down(x, N: tl.constexpr):
    if N == 0:
        return x
    return sum_down([x + part for part in (N, )][0], N - 1)


@interpreted
def recursive_kernel(x_ptr, N: tl.constexpr):
    tl.store(x_ptr, sum_down(tl.load(x_ptr), N))


@interpreted
def named_kernel(out, n, *, TIMES: tl.constexpr = 3, more=1):
    tl.store(out, n * TIMES + more)


def test_parameters_that_are_given_by_name_only():
    out = np.zeros(1, np.int32)
    named_kernel[(1,)](out, 5)
    assert out[0] == 16
    named_kernel[(1,)](out, 5, more=2, TIMES=4)
    assert out[0] == 22


def test_functions_that_call_themselves():
    @interpreted
    def factorial(N: tl.constexpr):
        return 1 if N == 0 else N * factorial(N - 1)

    @interpreted
    def nested_kernel(x_ptr, N: tl.constexpr):
        tl.store(x_ptr, factorial(N))

    x = np.zeros(1, np.float32)
    recursive_kernel[(1, )](x, 5)
    assert x[0] == 15
    nested_kernel[(1, )](x, 4)
    assert x[0] == 24


def test_last_stride_of_a_descriptor_is_an_argument():

    @interpreted
    def kernel(x_ptr, y_ptr, rows, columns, stride, one):
        x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [stride, one], [4, 4])
        y = tl.make_tensor_descriptor(y_ptr, shape=[rows, columns], strides=[stride, one], block_shape=[4, 4])
        y.store([0, 0], x.load([0, 0]))

    x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    kernel[(1, )](x, y, 4, 4, 4, 1)
    assert (x == y).all()
    with pytest.raises(triton.CompilationError, match="last dim must be 1"):
        kernel[(1, )](x, y, 4, 4, 4, 2)


def test_shapes_equal_lists_and_types_equal_constants():

    @interpreted
    def kernel(N: tl.constexpr):
        x = tl.zeros((N, 2), tl.int32)
        assert x.shape == [N, 2] and x.shape == [tl.constexpr(N), tl.constexpr(2)] and x.shape != [N]
        assert x.dtype == tl.constexpr(tl.int32) and x.shape == (N, 2)

    kernel[(1, )](4)


def test_refused_operation_is_an_error_of_the_interpreter():

    @interpreted
    def kernel(x_ptr):
        tl.program_id(20)

    with pytest.raises(triton.runtime.errors.InterpreterError) as caught:
        kernel[(1, )](np.zeros(1, np.int32))
    assert isinstance(caught.value, triton.CompilationError)
    assert "program_id axis must be 0, 1, or 2 but got 20" in str(caught.value.__cause__)


def test_tensors_of_pytorch_in_place():
    x, y = torch.arange(10, dtype=torch.bfloat16), torch.zeros(10, dtype=torch.bfloat16)
    add_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), )](x, y, n=10)
    assert torch.equal(y, x * 2 + 1) and SEEN[0][0].dtype == np.float32 and SEEN[0][2] == tl.bfloat16


class DeviceStorage:

    def __init__(self, storage):
        self.storage, self.copies = storage, 0

    def data_ptr(self):
        return self.storage.data_ptr()

    def cpu(self):
        self.copies += 1
        return self.storage.clone()

    def copy_(self, storage):
        self.storage.copy_(storage)


class DeviceTensor:
    """A tensor that says it is not on the host."""

    is_cpu, is_cuda = False, True

    def __init__(self, tensor, storage):
        self._tensor, self._storage, self.dtype = tensor, storage, tensor.dtype

    def untyped_storage(self):
        return self._storage

    def new_empty(self, size, device):
        assert device == "cpu"
        return torch.empty(size, dtype=self.dtype)

    def __getattr__(self, name):
        return getattr(self._tensor, name)


def test_tensors_of_a_device_are_copied_and_put_back():
    both = torch.arange(20, dtype=torch.float32)
    storage = DeviceStorage(both.untyped_storage())
    x, y = DeviceTensor(both[:10], storage), DeviceTensor(both[10:], storage)
    add_kernel[(2, )](x, y, 10)
    assert torch.equal(both[10:], both[:10] * 2 + 1)
    assert storage.copies == 1


@interpreted
def breaking_kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    breakpoint()
    y = x + 1
    tl.store(x_ptr + tl.arange(0, BLOCK), y)


def test_breakpoint_and_pdb(monkeypatch, capsys):
    commands = iter(["where", "p x.sum()", "next", "p (y + 100).max()", "p BLOCK", "continue"])
    debugger = pdb.Pdb()
    debugger.use_rawinput, debugger.cmdqueue = False, list(commands)
    monkeypatch.setattr(sys, "breakpointhook", lambda: debugger.set_trace(sys._getframe(1)))
    x = np.arange(4, dtype=np.int32)
    breaking_kernel[(1, )](x, BLOCK=4)
    out = capsys.readouterr().out
    assert "y = x + 1" in out and f"{__file__}" in out  # where: the kernel's own line
    assert "6 int32" in out and "104 int32" in out and "\n4\n" in out and x.tolist() == [1, 2, 3, 4]


@interpreted
def wrong_kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(x_ptr, x + tl.arange(0, 3))


def test_errors_have_the_place_in_the_kernel():
    with pytest.raises(triton.CompilationError) as caught:
        wrong_kernel[(1, )](np.zeros(4, np.float32), BLOCK=4)
    diagnostic = caught.value.diagnostics[0]
    lines = open(__file__).read().splitlines()
    assert diagnostic.file == __file__ and "x + tl.arange(0, 3)" in lines[diagnostic.line - 1]
    assert diagnostic.kind == "IncompatibleShapes" and "\n    " in str(caught.value) and "^~~" in str(caught.value)
    assert lines[diagnostic.line - 1][diagnostic.column - 1:].startswith("x + tl.arange")


@interpreted
def null_kernel(x_ptr):
    tl.store(x_ptr + 1, 2)


def test_a_null_pointer_is_an_error_with_its_place():
    class Nothing:
        dtype, is_cpu = torch.int32, True

        def data_ptr(self):
            return 0

    with pytest.raises(triton.CompilationError, match=r"test_interpreted.py:\d+:5.*null pointer"):
        null_kernel[(1, )](Nothing())


def test_read_only_arrays_stay_so():
    x = np.zeros(4, np.int32)
    x.flags.writeable = False
    with pytest.raises(triton.CompilationError, match="const"):
        null_kernel[(1, )](x)


@interpreted
def types_kernel(out, n, one):
    zero = 0
    byte = tl.load(out).to(tl.int8)
    SEEN.append((byte + 1).dtype)  # a literal takes the tile's type
    SEEN.append((byte + zero).dtype)  # a name holds an int32
    for i in range(3):
        SEEN.append(i.dtype)
    for i in range(n):
        SEEN.append(i.dtype)
    for i in tl.static_range(2):
        SEEN.append(type(i))
    size: tl.constexpr = 4
    SEEN.append((tl.arange(0, size) * one).dtype)
    SEEN.append(min(one, 7).dtype)


def test_types_are_those_of_a_compile():
    types_kernel[(1, )](np.zeros(1, np.int32), 1 << 40 if False else 2, 1)
    assert SEEN == [tl.int8, tl.int32, *[tl.int32] * 5, int, int, tl.int32, tl.int32]


@interpreted
def logic_kernel(out, n, FLAG: tl.constexpr):
    i = tl.arange(0, 8)
    mask = (i < n) and (i > 1) or not (n > 0)
    tl.store(out + i, mask.to(tl.int32))
    if FLAG and n > 2:
        SEEN.append("taken")
    k = 7
    while k > n and not FLAG:
        k -= 1
    else:
        SEEN.append(int(k))
    assert n > 0, "n is positive"


def test_logic_of_tiles_and_of_constants():
    out = np.zeros(8, np.int32)
    logic_kernel[(1, )](out, 5, FLAG=True)
    logic_kernel[(1, )](out, 5, FLAG=False)
    assert out.tolist() == [0, 0, 1, 1, 1, 0, 0, 0] and SEEN == ["taken", 7, 5]
    with pytest.raises(triton.errors.DeviceAssertionError, match="n is positive"):
        logic_kernel[(1, )](out, 0, FLAG=False, debug=True)
    logic_kernel[(1, )](out, 0, FLAG=True)  # checked only where it is asked for


@interpreted
def blocks_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    total = tl.zeros((BLOCK, ), tl.float32)
    for _ in range(0, N, BLOCK):
        total += tl.sum(tl.load(source, boundary_check=(0, 1)), axis=1)
        source = tl.advance(source, (0, BLOCK))
    rows = tl.arange(0, BLOCK)
    tl.store(out_ptr + rows, total, mask=rows < M)


@interpreted
def descriptor_kernel(descriptor, out_ptr):
    assert isinstance(descriptor, tl.tensor_descriptor)
    tile = descriptor.load([2, 0])
    SEEN.append((tile.type.numel, descriptor.block_shape))
    tl.store(out_ptr + tl.arange(0, 4), tl.softmax(tile, 1).sum(1))


def test_block_pointers_and_descriptors():
    x, out = torch.randn(5, 11), torch.zeros(8)
    blocks_kernel[(1, )](x, out, 5, 11, BLOCK=8)
    assert torch.allclose(out[:5], x.sum(1), atol=1e-5) and not out[5:].any()
    x = torch.randn(6, 4)
    descriptor_kernel[(1, )](TensorDescriptor(x, list(x.shape), [4, 1], [4, 4]), out)
    assert torch.allclose(out[:4], torch.ones(4)) and SEEN == [(16, (4, 4))]


@interpreted
def scale_kernel(x_ptr, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else i < n
    SEEN.append((BLOCK, EVEN))
    tl.static_print("block", BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=mask) * factor, mask=mask)


def test_autotune_takes_the_first_and_heuristics_work(capsys):
    configs = [triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})]
    kernel = triton.autotune(configs, key=["n"])(triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})(
        scale_kernel))
    x = np.ones(16, np.float32)
    kernel[lambda meta: (triton.cdiv(16, meta["BLOCK"]), )](x, 16, 3.0)
    assert (x == 3).all() and SEEN == [(8, True)] * 2 and "block 8" in capsys.readouterr().out


@interpreted
def reduce_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16)).reshape(4, 4)
    tl.store(out_ptr + tl.arange(0, 4), tl.reduce(x, 1, larger))
    tl.store(out_ptr + 4 + tl.arange(0, 16), tl.sort(x.ravel()))
    tl.store(out_ptr + 20, tl.sum(x[:, None, :] * x[None, :, :].to(tl.float64)).to(tl.float32))


@interpreted
def larger(a, b):
    return tl.maximum(a, b)


def test_combine_functions_and_the_library():
    x, out = np.random.default_rng(1).standard_normal(16).astype(np.float32), np.zeros(21, np.float32)
    reduce_kernel[(1, )](x, out)
    square = x.reshape(4, 4)
    assert (out[:4] == square.max(1)).all() and (out[4:20] == np.sort(x)).all()
    assert np.isclose(out[20], np.einsum("ak,bk->", square, square), rtol=1e-5)


@interpreted
def places_kernel(out_ptr):
    i = tl.program_id(0) + tl.program_id(1) * 2 + tl.program_id(2) * 6
    SEEN.append(int(i))
    tl.store(out_ptr + i, tl.num_programs(2))


def test_programs_run_in_order_and_grids_are_checked():
    out = np.zeros(24, np.int32)
    places_kernel[2, 3, 4](out)
    assert SEEN == list(range(24)) and (out == 4).all()
    places_kernel[(0, )](out)
    assert len(SEEN) == 24
    for grid in ((-1, ), (1.5, ), 3):
        with pytest.raises(triton.errors.LaunchError):
            places_kernel[grid](out)


@pytest.mark.parametrize("arguments, options, error", [
    ((), {}, "out_ptr"), ((1, 2), {}, "takes|parameters"), ((np.zeros(1, np.int32), ), {"num_warp": 2}, "num_warp"),
    ((np.zeros(1, np.int32), ), {"num_warps": 3}, "num_warps")])
def test_wrong_calls_are_refused_as_elsewhere(arguments, options, error):
    with pytest.raises((TypeError, triton.TritonError), match=error):
        places_kernel[(1, )](*arguments, **options)


@interpreted
def leaking_kernel(out_ptr):
    SEEN.append(tl.load(out_ptr))


def test_values_end_with_their_kernel():
    leaking_kernel[(1, )](np.full(1, 3, np.int32))
    assert int(SEEN[0]) == 3  # its elements can be looked at
    with pytest.raises(RuntimeError, match="has ended"):
        SEEN[0] + 1


@interpreted
def misuse_kernel(x_ptr, WHAT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    if WHAT == "bool":
        if x > 0:
            SEEN.append(1)
    elif WHAT == "item":
        x[0] = 1
    elif WHAT == "slice":
        x[1:2]
    elif WHAT == "unpack":
        a, b, c, d = x
    elif WHAT == "attribute":
        SEEN.append(hasattr(x, "nothing"))
        x.nothing
    elif WHAT == "number":
        float(x)


@pytest.mark.parametrize("what, kind, error", [
    ("bool", triton.CompilationError, "ambiguous"), ("item", TypeError, "tl.where"), ("slice", triton.CompilationError, "1:2|str"),
    ("unpack", TypeError, "unpacked"), ("attribute", AttributeError, "nothing"), ("number", TypeError, "reduce it")])
def test_what_tiles_are_not(what, kind, error):
    with pytest.raises(kind, match=error):
        misuse_kernel[(1, )](np.zeros(4, np.float32), what)


KERNEL = """import numpy as np
import tegula as triton
import tegula.language as tl
@triton.jit
def kernel(out):
    print(type(out).__name__)
    tl.store(out, 42)
out = np.zeros(1, np.int32)
kernel[(1,)](out)
print(type(kernel).__name__, out[0])
"""


@pytest.mark.parametrize("env, printed", [
    ({"TRITON_INTERPRET": "1"}, "Tensor\nInterpretedFunction 42\n"), ({"TEGULA_INTERPRET": "1"}, "Tensor\nInterpretedFunction 42\n"),
    ({"TRITON_INTERPRET": "1", "TEGULA_TARGET": "cpu"}, "Tensor\nInterpretedFunction 42\n")])
def test_variables_of_the_mode(python, env, printed):
    done = python(KERNEL, env=env)
    assert done.stdout == printed, done.stderr
