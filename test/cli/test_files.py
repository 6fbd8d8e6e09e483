"""Files that the command line reads and writes: whole ones, and nothing but files. Devices, pipes and links keep their place."""
import os
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

SIGNATURE = "x_ptr=*f32:16,y_ptr=*f32:16,out_ptr=*f32:16,n=i32,BLOCK=128"
RUN = ["run", "add.py::add", "--grid", "1", "--target", "interp", "--arg", "x_ptr=new:f32[8]", "--arg", "y_ptr=new:f32[8]", "--arg",
       "out_ptr=new:f32[8]", "--arg", "n=8", "--arg", "BLOCK=8", "--quiet"]
COMPILE = ["compile", "add.py::add", "--target", "interp", "--emit", "ttir", "--signature", SIGNATURE]
BUILD = ["build", "add.py::add", "--signature", SIGNATURE]
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 out)
{
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [out];
st.global.u32 [%rd1], 1;
ret;
}
"""

# name -> the command line that writes PATH
WRITERS = {"save": lambda path: [*RUN, "--save", f"out_ptr={path}"],
           "compile": lambda path: [*COMPILE, "-o", path],
           "archive": lambda path: [*BUILD, "-o", path],
           "header": lambda path: [*BUILD, "-o", "k.tga", "--header", path],
           "cmake": lambda path: [*BUILD, "-o", "k.tga", "--cmake", path],
           "html": lambda path: ["simulate", "fill.ptx", "--arg", "new:u32[1]", "--html", path],
           "cache": lambda path: ["cache", "export", path]}


@pytest.fixture
def write(tegula, add_file):
    (tegula.folder / "fill.ptx").write_text(PTX)
    env = {"TEGULA_CACHE_DIR": str(tegula.folder / "cache"), "TEGULA_DISK_CACHE": "1", "TRITON_ALWAYS_COMPILE": "0"}

    def run(writer, path):
        return tegula(*WRITERS[writer](path), env=env)

    run.folder = tegula.folder
    return run


def listed(folder):
    return {path.name for path in folder.iterdir()} - {"cache"}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_is_followed_and_stays(write, writer):
    (write.folder / "link").symlink_to("target")
    for _ in range(2):
        done = write(writer, "link")
        assert done.returncode == 0, done.stderr
        assert (write.folder / "link").is_symlink() and (write.folder / "target").stat().st_size > 0
    assert not [name for name in listed(write.folder) if name.endswith((".tmp", ".new"))]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_pipe_is_written_to_and_stays(write, writer):
    pipe, got = write.folder / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    done = write(writer, "pipe")
    reader.join(30)
    assert done.returncode == 0 and got and got[0], done.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_mode_is_kept_and_a_new_file_has_the_umask(write, writer):
    before = os.umask(0o027)
    try:
        assert write(writer, "new").returncode == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((write.folder / "new").stat().st_mode) == 0o640
    (write.folder / "new").chmod(0o604)
    assert write(writer, "new").returncode == 0
    assert stat.S_IMODE((write.folder / "new").stat().st_mode) == 0o604


@pytest.mark.parametrize("writer", WRITERS)
def test_what_cannot_be_written_is_told_with_its_reason(write, writer):
    if writer != "cmake":  # it is beside the archive
        done = write(writer, "missing/file")
        assert done.returncode == 1 and "cannot be written: " in done.stderr and "hint: " in done.stderr, done.stderr
    (write.folder / "folder").mkdir()
    done = write(writer, "folder")
    assert done.returncode == 1 and "Is a directory" in done.stderr, done.stderr
    assert not list((write.folder / "folder").iterdir())


def test_files_with_the_names_of_temporary_ones_are_left_alone(write):
    for name in ["k.tga.new", "out.npy.tmp", "all.tgc.new"]:
        (write.folder / name).write_text("mine")
    assert write("archive", "k.tga").returncode == 0
    assert write("save", "out.npy").returncode == 0
    assert write("cache", "all.tgc").returncode == 0
    assert all((write.folder / name).read_text() == "mine" for name in ["k.tga.new", "out.npy.tmp", "all.tgc.new"])


def opened_in(folder, process):
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if os.readlink(link).startswith(f"{folder}/"):
                return True
        except FileNotFoundError:
            pass
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_write_leaves_nothing(tegula, add_file, number):
    command = [*RUN[:6], "--arg", "x_ptr=new:f32[100000000]", *RUN[8:], "--save", "x_ptr=big.npy"]
    # A shell's background jobs ignore SIGINT, and so would the program.
    heeds = {} if number == signal.SIGKILL else {"preexec_fn": lambda: signal.signal(number, signal.SIG_DFL)}
    for _ in range(8):  # on a busy machine the write may be over before the signal comes
        with subprocess.Popen([tegula.program, *command], cwd=tegula.folder, **heeds) as process:
            while process.poll() is None and not opened_in(tegula.folder, process):
                time.sleep(0.001)
            process.send_signal(number)
            process.wait(50)
        if process.returncode != 0:
            break
        (tegula.folder / "big.npy").unlink()
    assert process.returncode == -number
    assert listed(tegula.folder) == {"add.py"}


# ---- the standard output ------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [COMPILE, ["doctor"], ["passes"], ["env"], ["cache", "stats"], ["--help"], ["run", "--help"], ["--version"]],
                         ids=lambda arguments: "-".join(arguments[:2]))
def test_output_that_does_not_arrive_is_an_error(tegula, add_file, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([tegula.program, *arguments], cwd=tegula.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "the standard output cannot be written to" in done.stderr
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", str(tegula.program), *arguments], cwd=tegula.folder, capture_output=True,
                            text=True, timeout=60)
    assert closed.returncode == 1 and "the standard output cannot be written to" in closed.stderr


def test_a_reader_that_has_gone_is_told_nothing(tegula):
    done = subprocess.run(["bash", "-c", 'trap "" PIPE; "$0" env | true; echo ${PIPESTATUS[0]}', tegula.program], capture_output=True,
                          text=True, timeout=60)
    assert done.stdout.strip() in ("0", "1") and done.stderr == ""


def test_a_verb_that_prints_nothing_needs_no_output(tegula, add_file):
    done = subprocess.run(["sh", "-c", '"$@" >&- <&-', "sh", str(tegula.program), "check", "add.py"], cwd=tegula.folder, capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_memory_there_is_a_reason(tegula, add_file):
    command = ["run", "add.py::add", "--grid", "1", "--arg", "x_ptr=new:f32[900000000]"]
    done = subprocess.run(["sh", "-c", 'ulimit -v 3000000; "$@"', "sh", str(tegula.program), *command], cwd=tegula.folder,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "there is not enough memory" in done.stderr and "hint: " in done.stderr


# ---- reading ------------------------------------------------------------------------------------

READERS = {"kernel": lambda path: ["check", path], "import": lambda path: ["cache", "import", path],
           "list": lambda path: ["build", "--list", path], "array": lambda path: [*RUN[:6], "--arg", f"x_ptr=@{path}"],
           "code": lambda path: ["simulate", path], "replay": lambda path: ["simulate", "--replay", path]}


@pytest.mark.parametrize("reader", READERS)
def test_only_a_file_is_read(tegula, add_file, reader):
    os.mkfifo(tegula.folder / "pipe.ptx")
    (tegula.folder / "folder.ptx").mkdir()
    (tegula.folder / "zero.ptx").symlink_to("/dev/zero")
    for path, reason in [("pipe.ptx", "it is no file"), ("folder.ptx", "it is a folder"), ("zero.ptx", "it is no file"),
                         ("missing.ptx", "No such file")]:
        if reader == "replay":  # a folder with files
            (tegula.folder / ("of-" + path)).mkdir()
            (tegula.folder / ("of-" + path) / "kernel.ptx").symlink_to("../" + path)
            path = "of-" + path
        done = tegula(*READERS[reader](path), env={"TEGULA_DISK_CACHE": "1", "TRITON_ALWAYS_COMPILE": "0"})
        assert done.returncode == 1 and reason in done.stderr and "InternalCompilerError" not in done.stderr, done.stderr
        assert "hint: " in done.stderr


# ---- files over files ---------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [
    ["-o", "k.tga", "--header", "k.tga"], ["-o", "k.tga", "--header", "./k.tga"], ["-o", "k.tga", "--cmake", "k.tga"],
    ["-o", "k.tga", "--header", "link"], ["-o", "k.tga", "--header", "k.h", "--cmake", "../here/k.h"], ["-o", "add.py"],
    ["-o", "k.tga", "--header", "add.py"]])
def test_a_build_writes_no_file_over_another(tegula, add_file, arguments):
    (tegula.folder / "link").symlink_to("k.tga")
    os.symlink(tegula.folder, tegula.folder / "here")
    before = add_file.read_text()
    arguments = [str(tegula.folder / "here" / "k.h") if argument == "../here/k.h" else argument for argument in arguments]
    if "--cmake" in arguments and "k.h" in arguments:
        arguments[1] = str(tegula.folder / "here" / "k.tga")
    done = tegula(*BUILD, *arguments)
    assert done.returncode == 2 and "are one file" in done.stderr and "hint: " in done.stderr, done.stderr
    assert add_file.read_text() == before and not (tegula.folder / "k.tga").exists()


def test_a_stage_is_not_written_over_its_kernel(tegula, add_file):
    before = add_file.read_text()
    done = tegula(*COMPILE, "-o", "./add.py")
    assert done.returncode == 2 and "hint: " in done.stderr and add_file.read_text() == before


def test_two_arrays_are_not_saved_to_one_file(tegula, add_file):
    done = tegula(*RUN, "--save", "x_ptr=a.npy", "--save", "y_ptr=./a.npy")
    assert done.returncode == 2 and "the file of two arrays" in done.stderr and not (tegula.folder / "a.npy").exists()


def test_a_bundle_is_not_written_over_files(tegula):
    (tegula.folder / "fill.ptx").write_text(PTX)
    (tegula.folder / "work").mkdir()
    (tegula.folder / "work" / "kernel.ptx").write_text("mine")
    done = tegula("simulate", "fill.ptx", "--arg", "new:u32[1]", "--record", "--bundle", "work")
    assert done.returncode == 1 and "hint: name a new folder" in done.stderr
    assert (tegula.folder / "work" / "kernel.ptx").read_text() == "mine"
    (tegula.folder / "empty").mkdir()
    done = tegula("simulate", "fill.ptx", "--arg", "new:u32[1]", "--record", "--bundle", "empty")
    assert done.returncode == 0 and (tegula.folder / "empty" / "launch.txt").exists()


def test_an_array_has_the_type_of_its_file(tegula, add_file):
    np.save(tegula.folder / "x.npy", np.zeros(8, np.float32))
    for argument in ["x_ptr:i32=@x.npy", "x_ptr:f64=@x.npy", "x_ptr:i32=new:f32[8]"]:
        done = tegula(*RUN[:6], "--arg", argument)
        assert done.returncode == 1 and "its elements are fp32" in done.stderr and "hint: " in done.stderr
    assert "there is no type `f99`" in tegula(*RUN[:6], "--arg", "x_ptr:f99=@x.npy").stderr


def test_an_unknown_name_to_save_is_told_before_the_run(tegula, add_file):
    done = tegula(*[word for word in RUN if word != "--quiet"], "--save", "nope=out.npy")
    assert done.returncode == 2 and done.stdout == "" and "no array argument `nope`" in done.stderr
