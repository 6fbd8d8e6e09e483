"""What the verbs of the command line do when all is right."""
import ml_dtypes
import numpy as np
import pytest

SIGNATURE = "x_ptr=*f32:16,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=128"


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 1009])
def test_run_adds_arrays(tegula, add_file, target, n):
    rng = np.random.default_rng(n)
    x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
    np.save(tegula.folder / "x.npy", x)
    np.save(tegula.folder / "y.npy", y)
    done = tegula("run", "add.py::add", "--grid", (n + 127) // 128, "--target", target, "--arg", "x_ptr=@x.npy", "--arg",
                  "y_ptr=@y.npy", "--arg", f"out_ptr=new:f32[{n}]", "--arg", f"n={n}", "--arg", "BLOCK=128", "--save",
                  "out_ptr=out.npy")
    assert done.returncode == 0, done.stderr
    assert f"ran add on {target}" in done.stdout
    np.testing.assert_array_equal(np.load(tegula.folder / "out.npy"), x + y)


@pytest.mark.parametrize("dtype", ["f16", "f64", "i32", "i64", "u8", "bf16"])
def test_element_types(tegula, add_file, dtype):
    numpy_dtype = {"f16": "float16", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8",
                   "bf16": ml_dtypes.bfloat16}[dtype]
    x = np.arange(50).astype(numpy_dtype)
    np.save(tegula.folder / "x.npy", x)
    name = "x_ptr:bf16" if dtype == "bf16" else "x_ptr"
    other = name.replace("x_", "y_")
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", f"{name}=@x.npy", "--arg", f"{other}=@x.npy",
                  "--arg", f"out_ptr=new:{dtype}[50]", "--arg", "n=50", "--arg", "BLOCK=64", "--save", "out_ptr=out.npy")
    assert done.returncode == 0, done.stderr
    out = np.load(tegula.folder / "out.npy")
    np.testing.assert_array_equal(out.view(numpy_dtype) if dtype == "bf16" else out, x + x)


def test_array_is_modified_in_memory_not_in_its_file(tegula, add_file):
    x = np.ones(8, np.float32)
    np.save(tegula.folder / "x.npy", x)
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=@x.npy", "--arg", "y_ptr=@x.npy",
                  "--arg", "out_ptr=@x.npy", "--arg", "n=8", "--arg", "BLOCK=8", "--save", "out_ptr=sum.npy", "--quiet")
    assert done.returncode == 0 and done.stdout == ""
    np.testing.assert_array_equal(np.load(tegula.folder / "x.npy"), x)
    np.testing.assert_array_equal(np.load(tegula.folder / "sum.npy"), x + x)


def test_shapes_survive(tegula, add_file):
    np.save(tegula.folder / "x.npy", np.ones((3, 5, 7), np.float32))
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=@x.npy", "--arg", "y_ptr=@x.npy",
                  "--arg", "out_ptr=new:f32[3,5,7]", "--arg", "n=105", "--arg", "BLOCK=128", "--save", "out_ptr=out.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tegula.folder / "out.npy"), np.full((3, 5, 7), 2, np.float32))


def test_numbers_with_types(tegula):
    (tegula.folder / "k.py").write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                                        "def k(out_ptr, a, b, c):\n    tl.static_assert(a.dtype == tl.int64)\n"
                                        "    tl.static_assert(b.dtype == tl.float32)\n    tl.static_assert(c == 1)\n"
                                        "    tl.store(out_ptr, a + b)\n")
    done = tegula("run", "k.py::k", "--grid", "1", "--target", "interp", "--arg", "out_ptr=new:f64[1]", "--arg", "a:i64=1",
                  "--arg", "b=2.5", "--arg", "c=1", "--save", "out_ptr=out.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tegula.folder / "out.npy")[0] == 3.5


@pytest.mark.parametrize("emit, sign", [("ttir", "tt.func @add"), ("nests", "nest [128"), ("llvm", "define "), ("asm", ".text")])
def test_compile_emits_texts(tegula, add_file, emit, sign):
    done = tegula("compile", "add.py::add", "--signature", SIGNATURE, "--emit", emit)
    assert done.returncode == 0, done.stderr
    assert sign in done.stdout


def test_compile_emits_an_object(tegula, add_file):
    done = tegula("compile", "add.py::add", "--signature", SIGNATURE, "--emit", "obj", "-o", "add.o")
    assert done.returncode == 0, done.stderr
    assert (tegula.folder / "add.o").read_bytes().startswith(b"\x7fELF")


def test_explain_names_lines(tegula, add_file):
    done = tegula("explain", "add.py::add", "--signature", SIGNATURE)
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("add.py:") for line in done.stdout.splitlines())


def test_check_accepts_a_good_file(tegula, add_file):
    done = tegula("check", "add.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_leaves_functions_of_other_libraries_alone(tegula):
    (tegula.folder / "k.py").write_text("""import numba as nb
import other.parts
import triton_more
import triton.language as tl
from somewhere import handed_on


@nb.jit(nopython=True)
def on_the_host(x):
    with x:
        return lambda: x


@other.parts.jit
def of_another(x):
    import math


@handed_on.jit
@triton_more.jit
def k(x):
    tl.store(x, undefined)
""")
    done = tegula("check", "k.py")
    assert done.returncode == 1 and done.stderr.count("error:") == 1 and "k.py:22:17: error: `undefined`" in done.stderr, done.stderr
    done = tegula("compile", "k.py::of_another", "--signature", "x=*f32")
    assert done.returncode != 0 and "no kernel" in done.stderr, done.stderr


def test_check_accepts_branches_that_refuse_other_constants(tegula):
    (tegula.folder / "k.py").write_text("""import triton
import triton.language as tl


@triton.jit
def k(x, KIND: tl.constexpr):
    if KIND == "one":
        tl.store(x, 1.0)
    elif KIND == "two":
        tl.store(x, 2.0)
    else:
        raise ValueError(f"no such kind: {KIND}")
""")
    done = tegula("check", "k.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = tegula("compile", "k.py::k", "--emit", "ttir", "--signature", "x=*f32,KIND='two'")
    assert done.returncode == 0, done.stderr
    done = tegula("compile", "k.py::k", "--emit", "ttir", "--signature", "x=*f32,KIND='three'")
    assert done.returncode == 1 and "raise is not supported in a kernel [UnsupportedConstruct]" in done.stderr


@pytest.mark.parametrize("verb", ["run", "compile", "explain", "check"])
def test_help_has_an_example(tegula, verb):
    done = tegula(verb, "--help")
    assert done.returncode == 0 and f"Example:\n  tegula {verb} " in done.stdout


def test_version(tegula):
    assert tegula("--version").stdout.startswith("tegula 0.")


DESCRIPTORS = """
import triton
import triton.language as tl


@triton.jit
def double_rows(src, dst, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    for start in range(0, src.shape[1], 16):
        dst.store([row, start], src.load([row, start]) * 2)


@triton.jit
def padded(src, out_ptr):
    tile = src.load([0, 24])
    tl.store(out_ptr, tl.sum((tile != tile).to(tl.int32)))
"""


@pytest.mark.parametrize("target", ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim)])
def test_tensor_descriptors_are_arguments(tegula, tmp_path, target):
    (tmp_path / "rows.py").write_text(DESCRIPTORS)
    x = np.arange(24 * 40, dtype=np.float32).reshape(24, 40)
    np.save(tmp_path / "x.npy", x)
    done = tegula("run", f"{tmp_path}/rows.py::double_rows", "--grid", "3", "--arg", f"src=desc[8,16]:@{tmp_path}/x.npy", "--arg",
                  "dst=desc[8,16]:new:f32[24,40]", "--arg", "BLOCK=8", "--save", f"dst={tmp_path}/out.npy", "--target", target)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x * 2)


def test_the_padding_of_a_descriptor(tegula, tmp_path):
    (tmp_path / "rows.py").write_text(DESCRIPTORS)
    for padding, expected in (("", 0), ("zero", 0), ("nan", 8 * 8)):  # half of the block is outside
        done = tegula("run", f"{tmp_path}/rows.py::padded", "--grid", "1", "--arg", f"src=desc[8,16]{padding}:new:f32[8,32]", "--arg",
                      "out_ptr=new:i32[1]", "--save", f"out_ptr={tmp_path}/out.npy")
        assert done.returncode == 0, done.stderr
        assert np.load(tmp_path / "out.npy")[0] == expected


@pytest.mark.sim
def test_a_simulation_takes_tensor_descriptors(tegula, tmp_path):
    (tmp_path / "rows.py").write_text(DESCRIPTORS)
    done = tegula("simulate", f"{tmp_path}/rows.py::double_rows", "--grid", "3", "--arg", "src=desc[8,16]:new:f32[24,40]", "--arg",
                  "dst=desc[8,16]:new:f32[24,40]", "--arg", "BLOCK=8")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text, said", [("desc[8,16]:3", "is no tensor descriptor"), ("desc[8;16]:new:f32[8,16]", "is no tensor descriptor"),
                                        ("desc[8,16]up:new:f32[8,16]", "Padding option up"), ("desc[8,2]:new:f32[8,16]", "16 bytes"),
                                        ("desc[8]:new:f32[8,16]", "block_shape")])
def test_descriptors_that_are_none_are_refused(tegula, tmp_path, text, said):
    (tmp_path / "rows.py").write_text(DESCRIPTORS)
    done = tegula("run", f"{tmp_path}/rows.py::padded", "--grid", "1", "--arg", f"src={text}", "--arg", "out_ptr=new:i32[1]")
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_a_library_and_a_stage_are_files_of_the_options(tegula):
    (tegula.folder / "triple.py").write_text("""
import triton
import triton.language as tl

@triton.jit
def threefold(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.extern_call("triple", "mine", (tl.load(x + i),), tl.float32, True))
""")
    (tegula.folder / "mine.ll").write_text("define float @triple(float %x) {\n  %r = fmul float %x, 3.0\n  ret float %r\n}\n")
    call = ["compile", "triple.py::threefold", "--signature", "x=*f32,out=*f32,B=16"]
    library = ["--options", "extern_libs.mine='mine.ll'"]
    done = tegula(*call, *library)
    assert done.returncode == 0 and "3.000000e+00" in done.stdout, done.stderr
    done = tegula(*call)
    assert done.returncode == 1 and "which the launch does not bring" in done.stderr
    done = tegula("build", *call[1:], *library, "-o", "k.tga")
    assert done.returncode == 0, done.stderr
    done = tegula(*call, "--options", "extern_libs.mine='no.ll'")
    assert done.returncode == 1 and "`no.ll`: No such file" in done.stderr and "[OptionValue]" in done.stderr
    gpu = [*call, "--target", "sm_90a", "--emit", "ptx"]
    (tegula.folder / "triple.ptx").write_text("// by hand\n" + tegula(*gpu, *library).stdout)
    done = tegula(*gpu, "--options", "extern_libs.mine='mine.ll',ir_override='triple.ptx'")
    assert done.returncode == 0 and done.stdout.startswith("// by hand"), done.stderr
