"""`tegula doctor`, and taking the disk cache to another machine."""
import json

import pytest

QUIET = {"TEGULA_LIBCUDA": "/nowhere/libcuda.so", "TEGULA_DISK_CACHE": "1", "TRITON_ALWAYS_COMPILE": "0"}


def findings(done):
    return {row["subject"]: row for row in json.loads(done.stdout)["findings"]}


def test_doctor_says_what_is_here(tegula, tmp_path):
    env = {**QUIET, "TEGULA_CACHE_DIR": str(tmp_path / "cache")}
    done = tegula("doctor", "--json", env=env)
    assert done.returncode == 0, done.stdout
    rows = findings(done)
    assert rows["cores"]["state"] == "fine" and rows["disk cache"]["state"] == "fine"
    assert "sse4.2" in rows["processor"]["text"] and "threads" in rows["processor"]["text"]
    assert rows["GPU"]["state"] == "absent" and rows["GPU"]["advice"]
    assert rows["TEGULA_LIBCUDA"]["text"] == "/nowhere/libcuda.so"
    text = tegula("doctor", env=env).stdout
    assert "GPU          absent" in text and "-> " in text


def test_doctor_says_what_to_do(tegula, tmp_path):
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    (open_folder / "kernels-1").mkdir()
    (open_folder / "kernels-1").chmod(0o777)
    done = tegula("doctor", "--json", env={**QUIET, "TEGULA_CACHE_DIR": str(open_folder), "TEGULA_PTXAS": "/nowhere/ptxas"})
    rows = findings(done)
    assert done.returncode == 1 and json.loads(done.stdout)["well"] is False
    assert rows["disk cache"]["state"] == "wrong" and "TEGULA_CACHE_DIR" in rows["disk cache"]["advice"]
    assert rows["assembler"]["state"] != "fine" and rows["assembler"]["advice"]
    off = findings(tegula("doctor", "--json", env={**QUIET, "TEGULA_DISK_CACHE": "0"}))
    assert off["disk cache"]["state"] == "absent"


@pytest.mark.parametrize("name", ["TEGULA_PTXAS", "TEGULA_WORKER", "TEGULA_TOOLS", "TEGULA_NVDISASM", "TEGULA_NVJITLINK"])
def test_doctor_looks_whether_what_a_variable_names_is_there(tegula, tmp_path, name):
    done = tegula("doctor", "--json", env={**QUIET, "TEGULA_CACHE_DIR": str(tmp_path / "cache"), name: "/nowhere/there"})
    rows = findings(done)
    assert done.returncode == 1 and rows[name]["state"] == "wrong" and rows[name]["advice"]
    if name == "TEGULA_WORKER":
        assert rows["assembler"]["state"] == "wrong" and "cannot be started" in rows["assembler"]["text"]


def run(tegula, folder, **environment):
    return tegula("run", "add.py::add", "--grid", 1, "--arg", "x_ptr=new:f32[8]", "--arg", "y_ptr=new:f32[8]", "--arg",
                  "out_ptr=new:f32[8]", "--arg", "n=8", "--arg", "BLOCK=8", env={**QUIET, "TEGULA_CACHE_DIR": str(folder), **environment})


def test_compiled_kernels_are_taken_to_another_folder(tegula, add_file, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert run(tegula, ours).returncode == 0
    assert run(tegula, theirs, TEGULA_CLOSED="1").returncode == 1
    done = tegula("cache", "export", "all.tgc", env={**QUIET, "TEGULA_CACHE_DIR": str(ours)})
    assert done.returncode == 0 and "1 compiled kernels are written" in done.stdout, done.stderr
    done = tegula("cache", "import", "all.tgc", env={**QUIET, "TEGULA_CACHE_DIR": str(theirs)})
    assert done.returncode == 0 and "1 compiled kernels are added" in done.stdout, done.stderr
    assert run(tegula, theirs, TEGULA_CLOSED="1").returncode == 0
    again = tegula("cache", "import", "all.tgc", env={**QUIET, "TEGULA_CACHE_DIR": str(theirs)})
    assert "0 compiled kernels are added" in again.stdout


def test_a_damaged_or_foreign_file_is_not_imported(tegula, add_file, tmp_path):
    env = {**QUIET, "TEGULA_CACHE_DIR": str(tmp_path / "cache")}
    run(tegula, tmp_path / "cache")
    tegula("cache", "export", "all.tgc", env=env)
    good = (tmp_path / "all.tgc").read_bytes()
    for bytes_ in [b"", b"text", good[:-1], good + b"x", good[:200] + b"?" + good[201:]]:
        (tmp_path / "bad.tgc").write_bytes(bytes_)
        done = tegula("cache", "import", "bad.tgc", env=env)
        assert done.returncode == 1 and "CacheFile" in done.stderr and "hint: " in done.stderr
    done = tegula("cache", "import", "missing.tgc", env=env)
    assert done.returncode == 1 and "FileUnreadable" in done.stderr
    done = tegula("cache", "export", "/nowhere/all.tgc", env=env)
    assert done.returncode == 1 and "ArchiveUnwritable" in done.stderr
