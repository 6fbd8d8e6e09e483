"""Kernels compiled ahead of time: archives, headers, and programs that run with neither Python nor a compiler about."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
SIGNATURE = "x_ptr=*f32:16,y_ptr=*f32:16,out_ptr=*f32:16,n=i32,BLOCK=128"
# The loader finds the runtime by it; no compiler and no Python is on its PATH.
BARE = {"LD_LIBRARY_PATH": os.pathsep.join([str(BUILD / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]), "PATH": "/nowhere",
        "HOME": "/nowhere"}

PROGRAM = r'''
#include "kernels.h"
#include <stdio.h>

static int fail(const char *what) {
  printf("%s: %s\n", what, tgr_message());
  return 1;
}

int main(int argc, char **argv) {
  const char *target = argc > 1 ? argv[1] : "cpu";
  enum { n = 1009 };
  static float x[n], y[n], out[n];
  void *memory[3];
  kernels_library *library;
  if (kernels_open("kernels.tga", target, &library))
    return fail("open");
  tgr_library *any = (tgr_library *)library;
  for (int i = 0; i != n; ++i)
    x[i] = (float)i, y[i] = 0.5f;
  for (int i = 0; i != 3; ++i)
    if (tgr_memory_allocate(any, -1, sizeof x, &memory[i]))
      return fail("allocate");
  if (tgr_memory_copy(any, -1, memory[0], x, sizeof x) || tgr_memory_copy(any, -1, memory[1], y, sizeof y))
    return fail("copy");
  tgr_grid grid = {(n + 127) / 128, 1, 1};
  if (add(library, NULL, grid, (const float *)memory[0], (const float *)memory[1], (float *)memory[2], n))
    return fail("launch");
  if (tgr_synchronize(any, NULL) || tgr_memory_copy(any, -1, out, memory[2], sizeof out))
    return fail("copy back");
  for (int i = 0; i != n; ++i)
    if (out[i] != x[i] + 0.5f)
      return printf("element %d is %g\n", i, out[i]), 1;
  if (add(library, NULL, grid, (const float *)memory[0] + 1, (const float *)memory[1], (float *)memory[2], n) != TG_LAUNCH)
    return printf("an address that is not divisible by 16 was taken\n"), 1;
  printf("right; %s\n", tgr_message());
  for (int i = 0; i != 3; ++i)
    tgr_memory_release(any, -1, memory[i]);
  kernels_close(library);
  return 0;
}
'''


def built(tegula, *arguments):
    done = tegula("build", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def compile_program(folder, compiler, suffix, text=PROGRAM, *options):
    found = shutil.which(compiler) or shutil.which({"gcc": "clang-22", "g++": "clang++-22"}[compiler])
    if found is None:
        pytest.skip(f"there is no {compiler}")
    source = folder / f"program.{suffix}"
    source.write_text(text)
    done = subprocess.run([found, "-Wall", "-Wextra", "-Werror", *options, "-I", ROOT / "include", source, "-o", folder / "program",
                           "-L", BUILD / "lib", "-ltegula-rt"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def run_bare(folder, *arguments):
    return subprocess.run([folder / "program", *arguments], cwd=folder, capture_output=True, text=True, env=BARE, timeout=60)


@pytest.mark.parametrize("compiler, suffix", [("gcc", "c"), ("g++", "cpp")])
def test_a_program_runs_on_cores_with_neither_python_nor_compiler(tegula, add_file, compiler, suffix):
    built(tegula, "add.py::add", "--signature", SIGNATURE, "-o", "kernels.tga", "--header", "kernels.h")
    add_file.unlink()
    compile_program(tegula.folder, compiler, suffix)
    done = run_bare(tegula.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "argument `x_ptr` of kernel `add` is not divisible by 16" in done.stdout
    needed = subprocess.run(["ldd", tegula.folder / "program"], capture_output=True, text=True, env={**os.environ, **BARE, "PATH": os.environ["PATH"]}).stdout
    assert "libtegula-rt" in needed and "LLVM" not in needed and "MLIR" not in needed and "libtegula.so" not in needed


def test_a_header_is_taken_with_the_macros_and_warnings_of_a_program(tegula):
    (tegula.folder / "k.py").write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                                        "def k(slots, SIZE_MAX, signals):\n    tl.store(slots, SIZE_MAX + signals)\n")
    built(tegula, "k.py::k", "--signature", "slots=*f32,\nSIZE_MAX=f32,\n\tsignals=i32", "-o", "kernels.tga", "--header", "kernels.h")
    text = '#define slots\n#define signals public\n#include "kernels.h"\nint main() { kernels_close(nullptr); }\n'
    compile_program(tegula.folder, "g++", "cpp", text, "-Wold-style-cast")


def test_the_prefix_of_the_runtime_is_refused(tegula, add_file):
    done = tegula("build", "add.py::add", "--signature", SIGNATURE, "-o", "kernels.tga", "--header", "kernels.h", "--prefix", "tgr")
    assert done.returncode == 1 and "the prefix `tgr`" in done.stderr, done.stderr


@pytest.mark.gpu
def test_a_program_runs_on_a_gpu_with_neither_python_nor_compiler(tegula, add_file):
    built(tegula, "add.py::add", "--signature", SIGNATURE, "--targets", "sm_80,sm_90a,cpu", "-o", "kernels.tga", "--header",
          "kernels.h")
    compile_program(tegula.folder, "gcc", "c")
    for target in ["cuda", "cpu"]:
        done = run_bare(tegula.folder, target)
        assert done.returncode == 0, done.stdout + done.stderr


def test_several_targets_are_one_kernel(tegula, add_file):
    built(tegula, "add.py::add", "--signature", SIGNATURE, "--targets", "sm_80,cpu:haswell,cpu", "-o", "kernels.tga", "--header",
          "kernels.h")
    header = (tegula.folder / "kernels.h").read_text()
    assert "`add` for sm_80, haswell, cpu." in header
    assert header.count("static inline tg_status add(") == 1
    compile_program(tegula.folder, "gcc", "c")
    assert run_bare(tegula.folder).returncode == 0


def test_an_older_archive_is_refused_by_a_program_with_another_header(tegula, add_file):
    built(tegula, "add.py::add", "--signature", SIGNATURE, "-o", "kernels.tga", "--header", "kernels.h")
    compile_program(tegula.folder, "gcc", "c")
    built(tegula, "add.py::add", "--signature", SIGNATURE.replace("n=i32", "n=i64"), "-o", "kernels.tga", "--prefix", "kernels")
    done = run_bare(tegula.folder)
    assert done.returncode == 1 and "other kernels or parameters than the header" in done.stdout


def test_a_list_has_a_kernel_a_line(tegula, add_file):
    (tegula.folder / "list").write_text(
        "# FILE::KERNEL, targets, options, signature\n"
        f"add.py::add\tcpu\t\t{SIGNATURE}\n"
        f"add.py::add\tcpu\tnum_warps=8,enable_fp_fusion=False\t{SIGNATURE.replace('128', '64')}\n"
        f"add.py::add\tsm_80\t\t{SIGNATURE}\n")
    built(tegula, "--list", "list", "-o", "kernels.tga", "--header", "kernels.h")
    header = (tegula.folder / "kernels.h").read_text()
    assert "`add` for cpu, sm_80." in header and "tg_status add_2(" in header and "add_3" not in header
    compile_program(tegula.folder, "gcc", "c")
    assert run_bare(tegula.folder).returncode == 0


def test_a_file_for_cmake_names_header_archive_and_library(tegula, add_file):
    built(tegula, "add.py::add", "--signature", SIGNATURE, "-o", "my-kernels.tga", "--header", "my.h", "--cmake", "my.cmake")
    text = (tegula.folder / "my.cmake").read_text()
    assert "add_library(my_kernels INTERFACE)" in text and "tegula::rt" in text
    assert 'MY_KERNELS_ARCHIVE="${CMAKE_CURRENT_LIST_DIR}/my-kernels.tga"' in text
    assert "my_kernels_open(" in (tegula.folder / "my.h").read_text()


@pytest.mark.parametrize("arguments, code, reason", [
    ([], 2, "give one kernel, or --list"),
    (["add.py::add", "--list", "list"], 2, "give one kernel, or --list"),
    (["add.py::add", "--signature", "n=i32"], 1, "ArgumentMissing"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "tpu"], 1, "TargetUnknown"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "cpu:pentium9"], 1, "pentium9"),
    (["add.py::add", "--signature", SIGNATURE, "--options", "num_warps=3"], 1, "OptionValue"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "cpu:pentium"], 1, "no x86-64 machine named `pentium`"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "sm_80:haswell"], 1, "OptionValue"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "interp"], 1, "targets of archives are cpu, cuda"),
    (["add.py::add", "--signature", SIGNATURE, "--targets", "ptxvm"], 1, "targets of archives are cpu, cuda"),
    (["add.py::add", "--signature", SIGNATURE, "--prefix", "1a"], 2, "is no name of C"),
    (["add.py::add", "--signature", SIGNATURE, "--options", "warp_speed=9"], 1, "OptionsSyntax"),
    (["add.py::add", "--signature", SIGNATURE, "--name", "my add"], 1, "ArchiveEntries"),
    (["add.py::add", "--signature", SIGNATURE, "-o", "/nowhere/k.tga"], 1, "ArchiveUnwritable"),
    (["add.py::add", "--signature", SIGNATURE, "--cmake", "/tmp/k.cmake"], 2, "not beside the archive"),
    (["--list", "missing"], 1, "cannot be read"),
    (["--list", "add.py"], 1, "the line is no specialization"),
])
def test_a_build_that_cannot_be_is_refused(tegula, add_file, arguments, code, reason):
    done = tegula("build", *arguments)
    assert done.returncode == code and reason in done.stderr, done.stderr
    assert "hint: " in done.stderr, done.stderr
    assert not list(tegula.folder.glob("*.tga*"))


@pytest.mark.parametrize("name", ["int", "main", "memcpy", "uint64_t", "co_await", "constexpr", "tgr_launch", "kernels_open", "kernels_library"])
def test_a_name_that_the_header_cannot_have_is_refused(tegula, add_file, name):
    arguments = ["build", "add.py::add", "--signature", SIGNATURE, "--name", name, "-o", "kernels.tga"]
    done = tegula(*arguments, "--header", "kernels.h")
    assert done.returncode == 1 and "ArchiveEntries" in done.stderr and "hint: give the kernel another name" in done.stderr, done.stderr
    assert not list(tegula.folder.glob("kernels*"))
    assert tegula(*arguments).returncode == 0  # an archive has any name


@pytest.mark.parametrize("compiler, suffix", [("gcc", "c"), ("g++", "cpp")])
def test_names_that_look_like_others_compile(tegula, add_file, compiler, suffix):
    text = add_file.read_text()
    for old, new in [("x_ptr", "memcpy"), ("y_ptr", "errno"), ("out_ptr", "requires"), ("add(", "exp(")]:
        text = text.replace(old, new)
    (tegula.folder / "odd.py").write_text(text)
    signature = SIGNATURE.replace("x_ptr", "memcpy").replace("y_ptr", "errno").replace("out_ptr", "requires")
    built(tegula, "odd.py::exp", "--signature", signature, "-o", "int.tga", "--header", "int.h")
    (tegula.folder / f"odd.{suffix}").write_text('#include <errno.h>\n#include "int.h"\nint main(void) { return 0; }\n')
    done = subprocess.run([compiler, "-c", f"odd.{suffix}", "-I", ROOT / "include", "-Wno-builtin-declaration-mismatch"], cwd=tegula.folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_build_without_an_assembler_says_why(tegula, add_file):
    done = tegula("build", "add.py::add", "--signature", SIGNATURE, "--targets", "sm_80", env={"TEGULA_WORKER": "/nowhere/worker"})
    assert done.returncode == 0 and "warning: " in done.stderr and "`/nowhere/worker` cannot be started" in done.stderr
