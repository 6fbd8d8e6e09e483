"""Specialization, arguments and free names."""
import threading

import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


def run_add(x, y, out, block=64, **kwargs):
    n = int(np.prod(x.shape))
    return add[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, n, BLOCK=block, **kwargs)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.uint32,
                                   ml_dtypes.bfloat16])
def test_numpy_arrays(target, dtype):
    x, y = np.arange(100).astype(dtype), np.ones(100).astype(dtype)
    out = np.zeros_like(x)
    run_add(x, y, out)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64])
def test_torch_tensors(target, dtype):
    x, y = torch.arange(100).to(dtype), torch.ones(100, dtype=dtype)
    out = torch.zeros_like(x)
    run_add(x, y, out)
    assert torch.equal(out, x + y)


def test_strided_views_are_not_copied(target):
    @triton.jit
    def copy(x_ptr, out_ptr, sx, sout, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out_ptr + i * sout, tl.load(x_ptr + i * sx, mask=i < n), mask=i < n)

    x, out = np.arange(40, dtype=np.float32)[3::3], np.zeros((13, 2), np.float32)
    copy[(1,)](x, out[:, 1], 3, 2, 13, BLOCK=16)
    np.testing.assert_array_equal(out[:, 1], x)
    assert not out[:, 0].any()


@pytest.mark.parametrize("grid", [(2,), [2], (2, 1), (2, 1, 1), (np.int64(2),), lambda meta: (2,), lambda meta: [2, 1]])
def test_grids(grid):
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    add[grid](x, x, out, 100, BLOCK=64)
    np.testing.assert_array_equal(out, 2 * x)


def test_empty_grid_compiles_and_runs_nothing():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel = add[(0,)](x, x, out, 8, BLOCK=8)
    assert kernel.name == "add" and not out.any()


def test_options_are_accepted():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    run_add(x, x, out, num_warps=8, num_stages=2, num_ctas=1, maxnreg=None, enable_fp_fusion=False)
    assert out.all()


# ---- specialization ---------------------------------------------------------------------------


@triton.jit
def types(out_ptr, a, b: tl.int64, c: tl.float64, d: "fp16"):
    tl.store(out_ptr, a + b + c + d)


def types_of(kernel):
    return {argument.name: argument.dtype for argument in kernel.arguments}


@pytest.mark.parametrize("value, dtype", [(1, None), (0, "int32"), (16, "int32"), (2**31 - 1, "int32"), (2**31, "int64"),
                                          (-2**31, "int32"), (2**63, "uint64"), (1.0, "fp32"), (True, "int1"),
                                          (np.int64(7), "int32"), (np.float32(2.5), "fp32")])
def test_type_by_value(value, dtype):
    out = np.zeros(1)
    kernel = types.warmup(out, value, 1, 2, 3)
    assert types_of(kernel).get("a") == dtype
    assert types_of(kernel)["b"] == "int64" and types_of(kernel)["c"] == "fp64" and types_of(kernel)["d"] == "fp16"


def test_values_arrive(target):
    out = np.zeros(1)
    types[(1,)](out, 2.5, 1, 0.1, 0.5)
    assert out[0] == 2.5 + 1 + 0.1 + 0.5


@pytest.mark.parametrize("value", [0, 1, -1, 15, 16, 2**31 - 1, -2**31, 2**31, -2**63])
def test_integers_arrive(target, value):
    @triton.jit
    def store(out_ptr, v):
        tl.store(out_ptr, v)

    out = np.zeros(1, np.int64)
    store[(1,)](out, value)
    assert out[0] == value


def test_equal_keys_share_a_kernel():
    x, out = torch.ones(64), torch.zeros(64)
    first = add[(1,)](x, x, out, 33, BLOCK=64)
    assert add[(1,)](x, x, out, 35, BLOCK=64) is first
    assert add[(1,)](x, x, out, 48, BLOCK=64) is not first  # divisible by 16
    assert add[(1,)](x, x, out, 1, BLOCK=64) is not first  # a constant
    assert add[(1,)](x, x, out, 33, BLOCK=32) is not first
    assert add[(1,)](x, x, out, 33, BLOCK=64, num_warps=8) is not first
    assert add[(1,)](x[1:], x, out, 33, BLOCK=64) is not first  # not aligned


def test_names_that_are_no_parameters_are_not_specialized_either():
    @triton.jit(do_not_specialize=["n", "of_another_kernel", 7], do_not_specialize_on_alignment=["nowhere"])
    def kernel(out_ptr, n):
        tl.store(out_ptr, n)

    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out, 1)
    assert out[0] == 1 and kernel.params[1].do_not_specialize


def test_do_not_specialize():
    @triton.jit(do_not_specialize=["n"])
    def kernel(out_ptr, n):
        tl.store(out_ptr, n)

    out = np.zeros(1, np.int32)
    kernels = {kernel[(1,)](out, n) for n in (1, 2, 16)}
    assert len(kernels) == 1 and out[0] == 16


def test_constexprs_of_every_kind(target):
    @triton.jit
    def kernel(out_ptr, F: tl.constexpr, T: tl.constexpr, S: tl.constexpr, N: tl.constexpr, P: tl.constexpr, G: tl.constexpr):
        x = F
        if S == "double":
            x = x * 2
        if N is None:
            x = x + 1
        tl.store(out_ptr, G(x).to(T) + P[1])

    @triton.jit
    def square(x):
        return x * x

    out = np.zeros(1, np.float64)
    kernel[(1,)](out, 2, tl.float64, "double", None, (1, 10), square)
    assert out[0] == 35
    kernel[(1,)](out, 2, tl.float64, "single", 0, (1, 20), square)
    assert out[0] == 24


def test_defaults(target):
    @triton.jit
    def kernel(out_ptr, a=3, B: tl.constexpr = 4, C: tl.constexpr = OFFSET):
        tl.store(out_ptr, a + B + C)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 107
    kernel[(1,)](out, 1, C=0)
    assert out[0] == 5


OFFSET = tl.constexpr(100)


# ---- free names ---------------------------------------------------------------------------------


@triton.jit
def scaled(x):
    return x * OFFSET, x + 1


def test_helpers_and_globals(target):
    @triton.jit
    def kernel(out_ptr, x):
        a, b = scaled(x)
        tl.store(out_ptr, a + b)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 5)
    assert out[0] == 506


def test_closures_are_told_apart(target):
    def make(value):
        K = tl.constexpr(value)

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, K)

        return kernel

    out = np.zeros(1, np.int32)
    for value in (5, 7):
        make(value)[(1,)](out)
        assert out[0] == value


def test_constexpr_functions(target):
    @triton.constexpr_function
    def twice(x):
        return 2 * x

    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, twice(N)), triton.next_power_of_2(N) + triton.cdiv(N, 2))

    out = np.zeros(10, np.int32)
    kernel[(1,)](out, 3)
    assert out.tolist() == [6] * 6 + [0] * 4


def test_static_print_is_heard(capsys):
    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.static_print("N is", N)
        tl.store(out_ptr, N)

    out = np.zeros(1, np.int32)
    for _ in range(2):
        kernel[(1,)](out, 5)
    assert capsys.readouterr().out == "N is 5\n"


# ---- the compiled kernel --------------------------------------------------------------------------


def test_stages_of_a_kernel():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel = add.warmup(x, x, out, 8, BLOCK=8)
    assert not out.any()
    assert "tt.func @add" in kernel.asm["ttir"]
    assert "define" in kernel.asm["llir"] and ".text" in kernel.asm["asm"] and kernel.asm["obj"].startswith(b"\x7fELF")
    assert set(kernel.asm) == {"ttir", "nests", "llir", "asm", "obj"}
    with pytest.raises(KeyError):
        kernel.asm["ptx"]
    assert [a.is_written for a in kernel.arguments if a.is_pointer] == [False, False, True]


def test_launches_from_many_threads(target):
    errors = []

    def work(seed):
        try:
            x = np.random.default_rng(seed).random(200, dtype=np.float32)
            for block in (16, 32, 64, 128):
                out = np.zeros_like(x)
                run_add(x, x, out, block=block)
                np.testing.assert_array_equal(out, x + x)
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_functions_are_collected():
    import gc
    import weakref

    def make():
        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, 1)

        kernel[(1,)](np.zeros(1, np.int32))
        return weakref.ref(kernel)

    reference = make()
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("count", [1, 2])
def test_number_of_threads(count):
    before = triton.get_num_threads()
    triton.set_num_threads(count)
    assert triton.get_num_threads() == count
    triton.set_num_threads(before)
    with pytest.raises(triton.LaunchError):
        triton.set_num_threads(0)


@pytest.mark.parametrize("n, power", [(0, 0), (1, 1), (3, 4), (8, 8), (np.int64(9), 16)])
def test_next_power_of_2_takes_integers(n, power):
    assert triton.next_power_of_2(n) == power
    with pytest.raises(TypeError):  # half of an odd number would be cut
        triton.next_power_of_2(n / 2)
