"""libtegula opens its compiler, libtegula-core with LLVM, when a kernel is compiled: what a process finds on disk runs without."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HEAD = """
import json, os, sys
import numpy as np
import tegula as triton, tegula.language as tl

def mapped():
    names = {os.path.basename(line.split()[-1]) for line in open("/proc/self/maps") if ".so" in line}
    return sorted({n.split(".so")[0] for n in names if n.startswith(("libtegula", "libLLVM", "libMLIR"))})

halve = tl.sigmoid

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, tl.softmax(x) + halve(x), mask=offsets < n)

def run(**options):
    x, out = np.linspace(-1, 1, 64, dtype=np.float32), np.zeros(64, np.float32)
    made = kernel[(1,)](x, out, 64, BLOCK=64, **options)
    e = np.exp(x - x.max())
    assert np.allclose(out, e / e.sum() + 1 / (1 + np.exp(-x)), atol=1e-6)
    return made
"""
LAUNCH = """
made = run()
print(json.dumps({"found": "disk cache" in made.times, "mapped": mapped()}))
"""


@pytest.fixture
def libraries():
    return Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "lib"


@pytest.fixture
def script(tmp_path):
    def run(text, env=None):
        path = tmp_path / "script.py"
        path.write_text(HEAD + text)
        clean = {name: value for name, value in os.environ.items() if name not in ("TEGULA_DISK_CACHE", "TRITON_ALWAYS_COMPILE")}
        done = subprocess.run([sys.executable, "-B", str(path)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              env={**clean, "TEGULA_CACHE_DIR": str(tmp_path / "cache"), **(env or {})})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def another_place(tmp_path, libraries):
    """The library in a folder of its own, with or without its compiler."""

    def place(**files):
        folder = tmp_path / "lib"
        folder.mkdir()
        shutil.copy(libraries / "libtegula.so.0", folder)
        for source in files.values():
            shutil.copy(source, folder / "libtegula-core.so.0")
        return {"LD_PRELOAD": str(folder / "libtegula.so.0"), "TEGULA_WORKER": str(libraries.parent / "bin" / "tegula-worker")}

    return place


def test_a_kernel_from_disk_runs_without_llvm(script):
    first, again = script(LAUNCH), script(LAUNCH)
    assert not first["found"] and "libtegula-core" in first["mapped"]
    assert again["found"] and again["mapped"] == ["libtegula"]


def test_a_kernel_from_disk_reaches_the_gpu_without_llvm(script, libraries, tmp_path):
    """With a driver that writes its calls down."""
    text = """
sys.path.insert(0, os.environ["GPU_TESTS"])
from fake_gpu import fake_torch, launch, calls
fake_torch()
made = launch()
assert any(call.startswith("launch add_kernel") for call in calls()), calls()
print(json.dumps({"found": "disk cache" in made.times, "mapped": mapped()}))
"""
    env = {"TEGULA_LIBCUDA": str(libraries / "libtegula_fake_cuda.so"), "GPU_TESTS": str(ROOT / "test" / "python")}
    first, again = script(text, env), script(text, env)
    assert not first["found"] and "libtegula-core" in first["mapped"]
    assert again["found"] and again["mapped"] == ["libtegula", "libtegula_fake_cuda"]


def test_stages_that_nobody_kept_are_made_by_the_compiler(script):
    text = """
made = run()
before = mapped()
print(json.dumps({"before": before, "ttir": made.asm["ttir"][:6], "after": mapped()}))
"""
    script(LAUNCH)
    result = script(text)
    assert result["before"] == ["libtegula"] and "libtegula-core" in result["after"] and result["ttir"] == "module"


REFUSED = """
try:
    run(num_warps=2)
    print(json.dumps({"said": ""}))
except triton.TritonError as error:
    print(json.dumps({"said": str(error)}))
"""


def test_without_its_compiler_a_process_says_so(script, another_place):
    said = script(REFUSED, another_place())["said"]
    assert "the compiler cannot be loaded" in said and "libtegula-core.so.0" in said and "hint: " in said


def test_a_library_that_is_no_compiler_of_the_same_build_is_refused(script, another_place, libraries):
    said = script(REFUSED, another_place(core=libraries / "libtegula-rt.so.0"))["said"]
    assert "the compiler cannot be loaded" in said and "is of another build" in said


@pytest.mark.parametrize("name, exported", [("libtegula-core.so", {"tegula_core"}), ("libtegula.so", None)])
def test_a_library_exports_its_interface_only(libraries, name, exported):
    listed = subprocess.run(["nm", "-D", "--defined-only", libraries / name], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    assert names == exported if exported else names and all(name.startswith("tg_") for name in names)


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")
def test_no_library_is_looked_for_in_the_current_folder(libraries):
    build = libraries.parent
    for path in [build / "bin" / "tegula", libraries / "libtegula-core.so.0", libraries / "libtegula.so.0", *(build / "python" / "tegula").glob("_tegula*.so")]:
        dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        for line in dynamic.splitlines():
            if "PATH)" in line:
                assert "" not in line[line.index("[") + 1:line.rindex("]")].split(":"), (path, line)


@pytest.mark.parametrize("nested", ["if n > {}:", "for i{} in range(n):"])
@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_deep_kernels_compile_on_small_stacks(libraries, tmp_path, nested, target):
    body = "".join(" " * (4 + i) + nested.format(i) + "\n" for i in range(190))
    (tmp_path / "k.py").write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, n):\n" + body + " " * 194 + "tl.store(x, n)\n")
    command = f"ulimit -s 512; exec {libraries.parent}/bin/tegula compile k.py::k --target {target} --signature 'x=*i32,n=i32' --emit {'llvm' if target == 'cpu' else 'ptx'}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "TEGULA_DISK_CACHE": "0"})
    assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.mark.parametrize("name", ["libtegula.so", "libtegula-core.so", "libtegula-rt.so"])
def test_objects_of_a_library_outlive_an_exit_beside_which_threads_compile(libraries, name):
    """No destructor of one is told to the C library."""
    imported = subprocess.run(["nm", "-D", "--undefined-only", libraries / name], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1].split("@")[0] for line in imported.splitlines()}.isdisjoint({"__cxa_atexit", "atexit", "__dso_handle"})
