"""Every kind of bad input gets a diagnostic with its place, reason and hint, and exit code 1."""
import re
from pathlib import Path

import numpy as np
import pytest

CASES = sorted((Path(__file__).parents[1] / "bad_input").glob("*.py"))
RUN = ["--grid", "1", "--arg", "x_ptr=new:f32[64]", "--arg", "n=5", "--target", "interp"]


def expectation(path):
    return re.match(r"# error: (\w+) (\d+:\d+)\n", path.read_text()).groups()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_kernel_is_refused(tegula, path):
    kind, place = expectation(path)
    done = tegula("run", f"{path}::kernel", *RUN)
    first, *rest = done.stderr.splitlines()
    assert done.returncode == 1
    assert first.startswith(f"{path}:{place}: error: ") and first.endswith(f"[{kind}]")
    assert "^" in rest[1]
    assert done.stdout == ""


@pytest.mark.parametrize("path", [p for p in CASES if p.stem.startswith(("construct_b", "construct_c", "syntax", "undefined_name"))
                                  and "chained" not in p.stem], ids=lambda path: path.stem)
def test_check_needs_no_signature(tegula, path):
    kind, place = expectation(path)
    done = tegula("check", path)
    assert done.returncode == 1
    assert f":{place}: error: " in done.stderr and f"[{kind}]" in done.stderr


def test_check_reports_every_kernel(tegula):
    (tegula.folder / "two.py").write_text(
        "import triton\n@triton.jit\ndef a(x):\n    one(x)\n@triton.jit\ndef b(x):\n    two(x)\n")
    done = tegula("check", "two.py")
    assert "two.py:4:5" in done.stderr and "two.py:7:5" in done.stderr


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("folder", ["examples/kernels", "bench/gpu/work", "bench/gpu/spellings"])
def test_check_finds_nothing_in_kernels_that_run(tegula, folder):
    files = sorted((ROOT / folder).glob("*.py"))
    assert len(files) > 3
    for path in files:
        done = tegula("check", path)
        assert (done.returncode, done.stderr) == (0, ""), path


def test_check_knows_names_of_loops_and_takes_starred_imports_on_trust(tegula):
    (tegula.folder / "good.py").write_text("""import triton
from names_of_others import *
@triton.jit
def helper(x, *functions):
    for i in range(4):
        for _, f in enumerate(functions):
            x = f(x) + i
    return x
@triton.jit
def kernel(x):
    tl.store(x, helper(tl.load(x), tl.abs))
    for j in tl.static_range(3):
        tl.store(x + j, [j * k for k in range(3)][j])
""")
    done = tegula("check", "good.py")
    assert (done.returncode, done.stderr) == (0, "")
    done = tegula("compile", "good.py::kernel", "--signature", "x=*f32")
    assert done.returncode == 1 and "from `names_of_others` by `*`, which is outside this file" in done.stderr
    (tegula.folder / "bad.py").write_text("import triton\n@triton.jit\ndef kernel(x, **rest):\n    for i in range(4):\n        x + k\n")
    done = tegula("check", "bad.py")
    assert done.returncode == 1 and "bad.py:3:17" in done.stderr and "bad.py:5:13" in done.stderr and "`k` is not defined" in done.stderr


def test_check_as_json(tegula):
    import json

    (tegula.folder / "bad.py").write_text('import triton\n@triton.jit\ndef a(x):\n    y = "q" + one\n')
    done = tegula("check", "--json", "bad.py")
    record = json.loads(done.stdout)
    assert done.returncode == 1
    assert (record["kind"], record["line"], record["column"]) == ("UndefinedName", 4, 15)


def refused(done, kind):
    assert done.returncode == 1 and f"[{kind}]" in done.stderr, done.stderr
    assert "hint: " in done.stderr
    return done.stderr


# ---- kernel files ---------------------------------------------------------------------------


def test_missing_file(tegula):
    assert "nowhere.py" in refused(tegula("check", "nowhere.py"), "FileUnreadable")


def test_folder_as_file(tegula):
    refused(tegula("check", "."), "FileUnreadable")


def test_binary_file(tegula):
    (tegula.folder / "binary.py").write_bytes(bytes(range(256)) * 100)
    refused(tegula("check", "binary.py"), "FileNotText")


def test_file_that_is_not_utf8(tegula):
    (tegula.folder / "latin.py").write_bytes(b"x = 1\nname = '\xe9\xff'\n")
    refused(tegula("check", "latin.py"), "InvalidUtf8")


def test_file_of_ten_megabytes(tegula):
    (tegula.folder / "large.py").write_text("x = 1\n" * (10_000_000 // 6))
    refused(tegula("check", "large.py"), "FileTooLarge")


def test_unknown_kernel_lists_those_there_are(tegula, add_file):
    assert "its kernels: add" in refused(tegula("run", "add.py::sub", "--grid", "1"), "KernelUnknown")


# ---- arguments and grids ----------------------------------------------------------------------


def run_add(tegula, *more, grid="1", target="interp", env=None):
    np.save(tegula.folder / "x.npy", np.arange(8, dtype=np.float32))
    return tegula("run", "add.py::add", "--grid", grid, "--target", target, "--arg", "x_ptr=@x.npy", "--arg",
                  "y_ptr=@x.npy", "--arg", "out_ptr=new:f32[8]", "--arg", "n=8", *more, env=env)


def test_missing_constexpr(tegula, add_file):
    assert "add.py:6:35" in refused(run_add(tegula), "ConstexprMissing")


def test_unknown_keyword(tegula, add_file):
    refused(run_add(tegula, "--arg", "BLOCK=8", "--arg", "BLOK=8"), "KeywordUnknown")


def test_array_for_a_constexpr(tegula, add_file):
    refused(run_add(tegula, "--arg", "BLOCK=@x.npy"), "ConstexprNeedsConstant")


@pytest.mark.parametrize("grid, kind", [("-1", "GridNegative"), ("1,2,3,4", "GridRank"), ("4294967296", "GridTooLarge")])
def test_grid(tegula, add_file, grid, kind):
    refused(run_add(tegula, "--arg", "BLOCK=8", grid=grid), kind)


def test_grid_that_is_no_number(tegula, add_file):
    done = run_add(tegula, "--arg", "BLOCK=8", grid="abc")
    assert done.returncode == 2 and "grid" in done.stderr and "hint: " in done.stderr


def test_empty_grid(tegula, add_file):
    done = run_add(tegula, "--arg", "BLOCK=8", grid="")
    assert done.returncode in (1, 2) and "grid" in done.stderr


def test_value_that_is_no_constant(tegula, add_file):
    refused(run_add(tegula, "--arg", "BLOCK=eight"), "HostMisuse")


def test_argument_twice(tegula, add_file):
    refused(run_add(tegula, "--arg", "BLOCK=8", "--arg", "n=9"), "ParameterTwice")


@pytest.mark.parametrize("value", ["n:i8=300", "n:u32=-1", "n=99999999999999999999"])
def test_number_that_does_not_fit_its_type(tegula, add_file, value):
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=new:f32[8]", "--arg",
                  "y_ptr=new:f32[8]", "--arg", "out_ptr=new:f32[8]", "--arg", "BLOCK=8", "--arg", value)
    refused(done, "ArgumentRange")


def test_gpu_target(tegula, add_file):
    refused(tegula("run", "add.py::add", "--grid", "1", "--target", "hip"), "TargetNeedsGpu")


def test_unknown_target(tegula, add_file):
    assert "cpu, interp" in refused(tegula("run", "add.py::add", "--grid", "1", "--target", "vax"), "TargetUnknown")


@pytest.mark.parametrize("name, value, expected", [
    ("TEGULA_NUM_THREADS", "many", "a number from 1 to 1024"), ("TEGULA_NUM_THREADS", "0", "a number from 1 to 1024"),
    ("TEGULA_NUM_THREADS", "4 ", "a number from 1 to 1024"), ("TEGULA_MAX_KERNELS", "-1", "a number from 0 on"),
    ("TEGULA_CACHE_SIZE", "1GB", "a number from 0 to 4294967296"), ("TEGULA_SIM_SEED", "99999999999999999999", "a number from 0 on"),
    ("TEGULA_DEVICE", "ptxvm", "sim"), ("TEGULA_SIM_COPIES", "soon", "one of late, at-once, random"),
    ("TEGULA_DISK_CACHE", "never", "1 or 0"), ("TRITON_F32_DEFAULT", "tf16", "one of tf32, tf32x3, ieee, bf16x3, bf16x6")])
def test_variable_of_the_environment_without_a_meaning(tegula, add_file, name, value, expected):
    done = run_add(tegula, "--arg", "BLOCK=8", target="cpu", env={name: value})
    refused(done, "VariableMalformed")
    assert f"{name} is '{value}'; it must be {expected}" in done.stderr
    listed = tegula("env", env={name: value})
    assert listed.returncode == 0 and listed.stdout.count("wrong: ") == 1 and f"wrong: {name} is" in listed.stdout


@pytest.mark.parametrize("name, value", [("TEGULA_DISK_CACHE", "Off"), ("TEGULA_DISK_CACHE", "yes"), ("TEGULA_HUGE_PAGES", "FALSE"),
                                         ("TRITON_ALWAYS_COMPILE", "whatever"), ("CUDA_LAUNCH_BLOCKING", "2"), ("TEGULA_CACHE_SIZE", "")])
def test_variable_of_the_environment_in_other_words(tegula, add_file, name, value):
    assert run_add(tegula, "--arg", "BLOCK=8", target="cpu", env={name: value}).returncode == 0


def test_unknown_processor(tegula, add_file):
    done = tegula("compile", "add.py::add", "--cpu", "vax", "--signature",
                  "x_ptr=*f32,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=8")
    assert done.returncode == 1 and "no x86-64 machine named `vax`" in done.stderr and "[TargetFailed]" in done.stderr
    assert "not a recognized processor" not in done.stderr  # LLVM's own words


@pytest.mark.parametrize("signature, kind", [
    ("x_ptr", "SignatureSyntax"), ("x_ptr=*f99", "SignatureSyntax"), ("q=i32", "ParameterUnknown"),
    ("n=i32,n=i32", "ParameterTwice"), ("BLOCK=*f32", "ConstexprNeedsConstant"), ("n=i32", "ArgumentMissing"),
    ("x_ptr=*f32,y_ptr=*f32,out_ptr=*f32,n=i32", "ConstexprMissing")])
def test_signature(tegula, add_file, signature, kind):
    refused(tegula("compile", "add.py::add", "--signature", signature, "--target", "interp"), kind)


def test_unknown_stage(tegula, add_file):
    done = tegula("compile", "add.py::add", "--target", "interp", "--emit", "ptx", "--signature",
                  "x_ptr=*f32,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=8")
    refused(done, "StageUnknown")


# ---- .npy files -------------------------------------------------------------------------------


def npy(path, header, payload, version=1):
    header = header.encode() + b"\n"
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + header + payload)


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"


@pytest.mark.parametrize("header, payload, reason", [
    (GOOD, bytes(28), "truncated"),
    (GOOD, bytes(36), "size"),
    (GOOD.replace("(8,)", "(8, 8)"), bytes(32), "truncated"),
    (GOOD.replace("(8,)", "(-8,)"), bytes(32), "damaged"),
    (GOOD.replace("(8,)", "(99999999999, 99999999999)"), bytes(32), "larger than"),
    (GOOD.replace("False", "True"), bytes(32), "Fortran"),
    (GOOD.replace("<f4", ">f4"), bytes(32), "big-endian"),
    (GOOD.replace("<f4", "<c8"), bytes(64), "element type"),
    (GOOD.replace("'<f4'", "[('a', '<f4')]"), bytes(32), "structured"),
    ("{}", bytes(32), "damaged"),
    ("garbage", bytes(32), "damaged"),
], ids=lambda value: value if isinstance(value, str) and len(value) < 15 else "")
def test_damaged_array_file(tegula, add_file, header, payload, reason):
    npy(tegula.folder / "bad.npy", header, payload)
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=@bad.npy")
    assert done.returncode == 1
    assert done.stderr.startswith("bad.npy: error: ") and reason in done.stderr


@pytest.mark.parametrize("content", [b"", b"\x93NUM", b"not an array at all", b"\x93NUMPY\x01\x00\xff\xff{",
                                     b"\x93NUMPY\x09\x00\x10\x00" + bytes(16), b"\x93NUMPY\x02\x00\xff\xff\xff\x7f"])
def test_file_that_is_no_array(tegula, add_file, content):
    (tegula.folder / "bad.npy").write_bytes(content)
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=@bad.npy")
    assert done.returncode == 1 and done.stderr.startswith("bad.npy: error: ")


@pytest.mark.parametrize("text", ["f32", "f32[", "f32[a]", "f32[-1]", "f99[4]", "f32[99999999999,99999999999]"])
def test_new_array_that_is_none(tegula, add_file, text):
    done = tegula("run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", f"x_ptr=new:{text}")
    assert done.returncode == 1 and "error: " in done.stderr


def test_save_into_a_missing_folder_leaves_nothing(tegula, add_file):
    done = run_add(tegula, "--arg", "BLOCK=8", "--save", "out_ptr=missing/out.npy")
    assert done.returncode == 1 and "missing/out.npy: error: " in done.stderr
    assert not list(tegula.folder.glob("**/*.tmp*"))


def test_save_of_something_else_than_an_array(tegula, add_file):
    done = run_add(tegula, "--arg", "BLOCK=8", "--save", "n=out.npy")
    assert done.returncode == 2 and not (tegula.folder / "out.npy").exists()


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["run"], ["run", "add.py::add"], ["compile", "add.py::add"]])
def test_command_line_that_is_not_understood(tegula, arguments):
    assert tegula(*arguments).returncode == 2


def test_an_unknown_verb_is_named(tegula):
    done = tegula("frobnicate", "a.py::kernel")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("tegula: error: `frobnicate` is no verb\n  hint: the verbs are run simulate compile ")


@pytest.mark.parametrize("arguments, reason", [
    ([], "there is no verb"), (["cache"], "there is nothing that `cache` should do"), (["check"], "files is required"),
    (["simulate", "k.ptx", "--steps", "x"], "is no number"), (["tune", "k.py", "--grid", "1", "--milliseconds", "abc"], "milliseconds"),
    (["env", "--frob"], "--frob")])
def test_what_is_not_understood_is_told_as_all_is(tegula, arguments, reason):
    done = tegula(*arguments)
    first, hint = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == "" and first.startswith("tegula: error: ") and reason in first
    assert hint.startswith("  hint: `tegula") and "--help`" in hint


COMPILE = ["compile", "add.py::add", "--signature", "x_ptr=*f32,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=8"]


@pytest.mark.parametrize("options, kind, reason", [
    ("num_warps=3", "OptionValue", "a power of 2 from 1 to 64"), ("maxnreg=100000", "OptionValue", "an int from 1 to 1024"),
    ("num_stages=65", "OptionValue", "an int from 0 to "), ("num_warp=4", "OptionsSyntax", "did you mean `num_warps`?"),
    ("num_warps=4,num_warps=8", "OptionValue", "more than one value"), ("num_warps", "OptionsSyntax", "NAME=VALUE")])
def test_option_of_a_compile(tegula, add_file, options, kind, reason):
    assert reason in refused(tegula(*COMPILE, "--options", options), kind) or kind == "OptionValue"
    assert reason in tegula(*COMPILE, "--options", options).stderr


def test_processor_of_32_bits(tegula, add_file):
    done = tegula(*COMPILE, "--cpu", "pentium")
    assert "no x86-64 machine named `pentium`" in refused(done, "TargetFailed")
    assert "OptionValue" in tegula(*COMPILE, "--target", "sm_80", "--cpu", "haswell").stderr


def test_this_machine_as_a_processor(tegula, add_file):
    done = [tegula(*COMPILE, "--emit", "asm", *more) for more in ([], ["--cpu", "native"])]
    assert done[0].returncode == done[1].returncode == 0 and done[0].stdout == done[1].stdout


def test_kernel_that_is_not_named(tegula, add_file):
    add_file.write_text(add_file.read_text() + add_file.read_text().replace("def add", "def sub"))
    stderr = refused(tegula("compile", "add.py", *COMPILE[2:]), "KernelUnknown")
    assert "several kernels, and none of them is named" in stderr and "its kernels: add, sub" in stderr
    assert "the path of the kernel's file is empty" in refused(tegula("compile", "::add", *COMPILE[2:]), "FileUnreadable")


@pytest.mark.parametrize("target", ["sm_1", "sm_90b", "sm_130"])
def test_architecture_that_there_is_not(tegula, add_file, target):
    done = tegula(*COMPILE, "--target", target)
    assert done.returncode == 1 and f"there is no architecture `{target}`: there are sm_75, " in done.stderr


def test_hint_is_not_a_part_of_the_message(tegula, add_file):
    stderr = refused(tegula(*COMPILE, "--target", "cuda", env={"TEGULA_LIBCUDA": "/nowhere/libcuda.so"}), "TargetNeedsDevice")
    assert "; hint" not in stderr


def test_alignment_of_a_signature(tegula, add_file):
    done = tegula("compile", "add.py::add", "--signature", "x_ptr=*f32:4,y_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=8")
    assert "`:4` behind a type is nothing: there are only `:16` and `:8`" in refused(done, "SignatureSyntax")


def test_code_that_is_no_text(tegula):
    (tegula.folder / "bytes.ptx").write_bytes(bytes(100))
    stderr = refused(tegula("check", "bytes.ptx"), "FileNotText")
    assert "Python" not in stderr


def test_warning_without_a_place(tegula):
    (tegula.folder / "k.py").write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                                        "def k(out_ptr):\n    tl.store(out_ptr, 1)\n")
    done = tegula("run", "k.py::k", "--grid", "1", "--arg", "out_ptr=new:i32[1]", env={"TEGULA_CACHE_DIR": "relative", "TEGULA_DISK_CACHE": "1",
                                                                                      "TRITON_ALWAYS_COMPILE": "0"})
    assert done.returncode == 0 and ":0:0" not in done.stderr
    assert done.stderr.startswith("warning: ") and "  hint: " in done.stderr
