"""extern_libs: functions of bitcode that a user brings, called on elements on the cores and in PTX."""
import shutil
import subprocess

import numpy as np
import pytest

import devices
import tegula as triton
import tegula.language as tl
from tegula.language import core

FP32, FP64, INT32 = core.dtype("fp32"), core.dtype("fp64"), core.dtype("int32")
DEVICES = ["cpu", pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]
CLANG = next((tool for tool in ("clang-22", "clang") if shutil.which(tool)), None)

SOURCE = """
static float half(float x) { return 0.5f * x; }
float blend(float x, float y) { return half(x) + 0.25f * y; }
double blend_double(double x, double y) { return 0.5 * x + 0.25 * y; }
int steps(int n) {
  int count = 0;
  for (; n > 1; ++count)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return count;
}
float calls_nobody(float x) { extern float nobody(float); return nobody(x); }
"""
# The same, as LLVM's text, which says nothing of a machine.
TEXT = """
define float @blend(float %x, float %y) {
  %a = fmul float %x, 0.5
  %b = fmul float %y, 0.25
  %s = fadd float %a, %b
  ret float %s
}
"""


@core.extern
def blend(x, y, _semantic=None):
    return core.extern_elementwise("mine", "", [x, y], {
        (FP32, FP32): ("blend", FP32),
        (FP64, FP64): ("blend_double", FP64),
    }, is_pure=True, _semantic=_semantic)


def one_argument(symbol, is_pure=True, dtype=FP32):
    @core.extern
    def function(x, _semantic=None):
        return core.extern_elementwise("mine", "", [x], {(dtype,): (symbol, dtype)}, is_pure=is_pure, _semantic=_semantic)

    return function


steps = one_argument("steps", dtype=INT32)
steps_with_effects = one_argument("steps", is_pure=False, dtype=INT32)
calls_nobody, missing, of_another_type = one_argument("calls_nobody"), one_argument("missing"), one_argument("steps")


@triton.jit
def blend_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, blend(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@triton.jit
def unary_kernel(x_ptr, out_ptr, N: tl.constexpr, FUNCTION: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, FUNCTION(tl.load(x_ptr + i)))


@pytest.fixture
def device(request, monkeypatch):
    if request.param == "cpu":
        triton.set_target("cpu")
    else:
        devices.use(request.param, monkeypatch)
    yield request.param
    triton.set_target("cpu")


@pytest.fixture(scope="session")
def bitcode(tmp_path_factory):
    """The path of SOURCE as bitcode, for a device."""
    if not CLANG:
        pytest.skip("no clang is here, which writes bitcode")
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "mine.c").write_text(SOURCE)
    paths = {}
    for triple in ("x86_64-unknown-linux-gnu", "nvptx64-nvidia-cuda"):
        paths[triple] = str(folder / f"{triple}.bc")
        subprocess.run([CLANG, f"--target={triple}", "-O1", "-ffp-contract=off", "-c", "-emit-llvm", "-o", paths[triple],
                        str(folder / "mine.c")], check=True)
    return lambda device: paths["x86_64-unknown-linux-gnu" if device == "cpu" else "nvptx64-nvidia-cuda"]


@pytest.mark.parametrize("device", DEVICES, indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_types_choose_the_function_of_a_library(device, dtype, bitcode):
    x, y = np.linspace(-3, 9, 100).astype(dtype), np.linspace(5, 2, 100).astype(dtype)
    out = np.zeros_like(x)
    blend_kernel[(1,)](x, y, out, N=100, extern_libs={"mine": bitcode(device)})
    np.testing.assert_array_equal(out, x / 2 + y / 4)


@pytest.mark.parametrize("device", DEVICES, indirect=True)
@pytest.mark.parametrize("function", [steps, steps_with_effects], ids=["pure", "with effects"])
def test_a_function_with_a_loop(device, function, bitcode):
    x, out = np.arange(1, 65, dtype=np.int32), np.zeros(64, np.int32)
    if device == "cpu" and function is steps_with_effects:
        with pytest.raises(triton.CompilationError, match="the CPU target has no calls of a library with is_pure=False"):
            unary_kernel[(1,)](x, out, N=64, FUNCTION=function, extern_libs={"mine": bitcode(device)})
        return
    unary_kernel[(1,)](x, out, N=64, FUNCTION=function, extern_libs={"mine": bitcode(device)})
    assert list(out[:7]) == [0, 1, 7, 2, 5, 8, 16] and out[26] == 111


@pytest.mark.parametrize("device", DEVICES, indirect=True)
def test_the_body_becomes_part_of_the_kernel(device, bitcode):
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    kernel = blend_kernel[(1,)](x, x, out, N=16, extern_libs={"mine": bitcode(device)})
    text = kernel.asm["asm" if device == "cpu" else "ptx"]
    assert "blend," not in text and "call" not in text


@pytest.mark.parametrize("device", DEVICES, indirect=True)
def test_a_library_as_text_and_one_that_changes(device, tmp_path):
    path = tmp_path / "mine.ll"
    x, y, out = np.full(16, 2, np.float32), np.full(16, 8, np.float32), np.zeros(16, np.float32)
    for factor in ("0.25", "0.5"):  # of another length, so that the file is another one at once
        path.write_text(TEXT.replace("%y, 0.25", f"%y, {factor}") + ";" * len(factor))
        blend_kernel[(1,)](x, y, out, N=16, extern_libs={"mine": str(path)})
        assert out[0] == 1 + 8 * float(factor)


def test_libraries_are_part_of_the_key(tmp_path):
    kernels = []
    for factor in ("0.25", "0.5", "0.25"):
        path = tmp_path / f"{factor}.ll"
        path.write_text(TEXT.replace("%y, 0.25", f"%y, {factor}"))
        x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
        kernels.append(blend_kernel[(1,)](x, x, out, N=16, extern_libs={"mine": str(path)}))
    assert kernels[0] is kernels[2] is not kernels[1]


@pytest.mark.parametrize("function,said", [
    (calls_nobody, "`nobody` is called by a library of extern_libs, and none of them has it"),
    (missing, r"the library `mine` \(.*\) has no function `missing`"),
    (of_another_type, r"`steps` of the library `mine` is i32 \(i32\), and the kernel calls it as float \(float\)"),
], ids=["open call", "symbol", "type"])
def test_what_a_library_cannot_give_is_refused(function, said, bitcode):
    with pytest.raises(triton.CompilationError, match=said):
        unary_kernel[(1,)](np.ones(4, np.float32), np.zeros(4, np.float32), N=4, FUNCTION=function, extern_libs={"mine": bitcode("cpu")})


def test_a_library_for_another_machine_is_refused(bitcode):
    x = np.ones(4, np.float32)
    with pytest.raises(triton.CompilationError, match="is for nvptx64, and this kernel for x86_64; hint: compile it with --target=x86_64|"
                                                      "is for nvptx64, and this kernel for x86_64"):
        blend_kernel[(1,)](x, x, x.copy(), N=4, extern_libs={"mine": bitcode("sim")})


def test_a_file_that_is_no_module_is_refused(tmp_path):
    (tmp_path / "mine.bc").write_bytes(b"nothing of LLVM")
    x = np.ones(4, np.float32)
    with pytest.raises(triton.CompilationError, match="the library `mine` .* is no LLVM module"):
        blend_kernel[(1,)](x, x, x.copy(), N=4, extern_libs={"mine": str(tmp_path / "mine.bc")})
    with pytest.raises(triton.LaunchError, match="`extern_libs` was given `.*nothing.bc`: No such file"):
        blend_kernel[(1,)](x, x, x.copy(), N=4, extern_libs={"mine": str(tmp_path / "nothing.bc")})


def test_the_interpreter_refuses():
    x = np.ones(4, np.float32)
    triton.set_target("interp")
    try:
        with pytest.raises(triton.TritonError, match="a function of a library is machine code"):
            blend_kernel[(1,)](x, x, x.copy(), N=4)
    finally:
        triton.set_target("cpu")
