"""Kernels that another process compiled: found where nothing has changed, and never where something has."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def caches_are_on():
    """Other modules of the session, benchmarks among them, may have switched them off."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TEGULA_DISK_CACHE", "TRITON_ALWAYS_COMPILE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def folder(tmp_path):
    """A cache of the test alone."""
    return tmp_path / "cache"


HEAD = '''
import json, sys
import numpy as np
import tegula as triton, tegula.language as tl
from tegula import _tegula as core
'''
TAIL = '''
out = np.zeros(1, np.float32)
kernel[(1,)](out)
info = core.cache_info()
print(json.dumps({"value": float(out[0]), "hits": info["hits"], "misses": info["misses"]}))
'''


@pytest.fixture
def script(tmp_path, folder):
    """Runs a text, always under the same path, in a process of its own; what its last line says."""

    def run(text, env=None, **files):
        for name, content in files.items():
            (tmp_path / f"{name}.py").write_text(content)
        path = tmp_path / "script.py"
        path.write_text(text)
        done = subprocess.run([sys.executable, "-B", str(path)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              env={**os.environ, "TEGULA_CACHE_DIR": str(folder), **(env or {})})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]) | {"stdout": done.stdout, "stderr": done.stderr}

    return run


# name: (definitions, what is replaced in them, by what, the values before and behind)
CHANGES = {
    "global": ("K = tl.constexpr(3)\n@triton.jit\ndef kernel(out):\n    tl.store(out, K)\n", "(3)", "(4)", 3, 4),
    "type of a global": ("K = tl.constexpr(3)\n@triton.jit\ndef kernel(out):\n    tl.store(out, K / 2)\n", "(3)", "(5)", 1.5, 2.5),
    "body": ("@triton.jit\ndef kernel(out):\n    tl.store(out, 3)\n", "out, 3", "out, 4", 3, 4),
    "default": ("@triton.jit\ndef kernel(out, K: tl.constexpr = 3):\n    tl.store(out, K)\n", "= 3", "= 4", 3, 4),
    "default that a global is": ("D = 3\n@triton.jit\ndef kernel(out, K: tl.constexpr = D):\n    tl.store(out, K)\n", "D = 3", "D = 4", 3, 4),
    "helper": ("@triton.jit\ndef helper():\n    return 3\n@triton.jit\ndef kernel(out):\n    tl.store(out, helper())\n",
               "return 3", "return 4", 3, 4),
    "constant of a helper of a helper": (
        "K = tl.constexpr(3)\n@triton.jit\ndef inner():\n    return K\n@triton.jit\ndef helper():\n    return inner()\n"
        "@triton.jit\ndef kernel(out):\n    tl.store(out, helper())\n", "(3)", "(4)", 3, 4),
    "closure": ("def make(K):\n    K = tl.constexpr(K)\n    @triton.jit\n    def kernel(out):\n        tl.store(out, K)\n    return kernel\n"
                "kernel = make(3)\n", "make(3)", "make(4)", 3, 4),
    "attribute": ("class Config:\n    N = tl.constexpr(3)\n@triton.jit\ndef kernel(out):\n    tl.store(out, Config.N)\n", "(3)", "(4)", 3, 4),
    "argument that is an object": (
        "class Config:\n    N = tl.constexpr(3)\n@triton.jit\ndef body(out, C: tl.constexpr):\n    tl.store(out, C.N)\n"
        "class kernel:\n    def __class_getitem__(cls, grid):\n        return lambda out: body[grid](out, Config)\n", "(3)", "(4)", 3, 4),
    "argument that is a function": (
        "@triton.jit\ndef helper():\n    return 3\n@triton.jit\ndef body(out, F: tl.constexpr):\n    tl.store(out, F())\n"
        "class kernel:\n    def __class_getitem__(cls, grid):\n        return lambda out: body[grid](out, helper)\n",
        "return 3", "return 4", 3, 4),
    "value in a NamedTuple": (
        "import typing\nclass P(typing.NamedTuple):\n    a: int\n    b: int\n@triton.jit\ndef body(out, p: tl.constexpr):\n"
        "    tl.store(out, p.a)\nclass kernel:\n    def __class_getitem__(cls, grid):\n        return lambda out: body[grid](out, P(3, 4))\n",
        "P(3, 4)", "P(4, 3)", 3, 4),
    "fields of a NamedTuple": (
        "import typing\nclass P(typing.NamedTuple):\n    a: int\n    b: int\n@triton.jit\ndef body(out, p: tl.constexpr):\n"
        "    tl.store(out, p.a)\nclass kernel:\n    def __class_getitem__(cls, grid):\n        return lambda out: body[grid](out, P(3, 4))\n",
        "a: int\n    b: int", "b: int\n    a: int", 3, 4),
    "elements of a list": ("class Config:\n    L = [tl.constexpr(3)]\n@triton.jit\ndef kernel(out):\n    tl.store(out, Config.L[0])\n",
                           "(3)", "(4)", 3, 4),
    "constexpr function": ("@triton.constexpr_function\ndef f(x):\n    return x + 1\n@triton.jit\ndef kernel(out):\n    tl.store(out, f(2))\n",
                           "x + 1", "x + 2", 3, 4),
    "what a constexpr function reads": (
        "TABLE = {'a': 3}\n@triton.constexpr_function\ndef f(x):\n    return TABLE[x]\n@triton.jit\ndef kernel(out):\n    tl.store(out, f('a'))\n",
        "3}", "4}", 3, 4),
    "function that a global is": (
        "@triton.jit\ndef one():\n    return 3\n@triton.jit\ndef two():\n    return 4\nhelper = one\n@triton.jit\ndef kernel(out):\n"
        "    tl.store(out, helper())\n", "helper = one", "helper = two", 3, 4),
    "builtin that is hidden": ("@triton.jit\ndef mul(a, b):\n    return a * b\n_ = mul\n@triton.jit\ndef kernel(out):\n    tl.store(out, max(3, 1))\n",
                               "_ = mul", "max = mul", 3, 3),
    "option": ("@triton.jit\ndef body(out):\n    tl.store(out, 3)\nclass kernel:\n    def __class_getitem__(cls, grid):\n"
               "        return lambda out: body[grid](out, num_warps=4)\n", "num_warps=4", "num_warps=8", 3, 3),
    "marks of a parameter": ("@triton.jit(do_not_specialize=[])\ndef body(out, n):\n    tl.store(out, n)\nclass kernel:\n"
                             "    def __class_getitem__(cls, grid):\n        return lambda out: body[grid](out, 16)\n",
                             "specialize=[]", "specialize=['n']", 16, 16),
}


RUN_CASES = HEAD + '''
import importlib
rows = {}
for name in sys.argv[1:]:
    before, out = core.cache_info(), np.zeros(1, np.float32)
    importlib.import_module(name).kernel[(1,)](out)
    after = core.cache_info()
    rows[name] = [float(out[0]), after["hits"] - before["hits"], after["misses"] - before["misses"]]
print(json.dumps(rows))
'''


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Results of four processes: what they computed, found and compiled: of all texts, again, of all changed texts, of the first again."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "run.py").write_text(RUN_CASES)
    names = {what: f"case_{number}" for number, what in enumerate(CHANGES)}

    def run(is_changed):
        for what, (text, old, new, *_) in CHANGES.items():
            assert old in text
            (folder / f"{names[what]}.py").write_text(HEAD + (text.replace(old, new) if is_changed else text))
        done = subprocess.run([sys.executable, "-B", "run.py", *names.values()], capture_output=True, text=True, timeout=600,
                              cwd=folder, env={**os.environ, "TEGULA_CACHE_DIR": str(folder / "cache")})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    rows = [run(is_changed) for is_changed in (False, False, True, False)]
    return {what: [row[name] for row in rows] for what, name in names.items()}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen_by_the_next_process(cases, what):
    before, behind = CHANGES[what][3:]
    compiled, found = [before, 0, 1], [before, 1, 0]
    assert cases[what] == [compiled, found, [behind, 0, 1], found]


def test_a_change_in_an_imported_module_is_seen(script):
    text = HEAD + "import settings\n@triton.jit\ndef kernel(out):\n    tl.store(out, settings.helper() + settings.K)\n" + TAIL
    module = "import tegula as triton, tegula.language as tl\nK = tl.constexpr(2)\n@triton.jit\ndef helper():\n    return 1\n"
    assert script(text, settings=module)["value"] == 3
    assert script(text, settings=module)["hits"] == 1
    assert script(text, settings=module.replace("(2)", "(3)"))["value"] == 4
    assert script(text, settings=module.replace("return 1", "return 5"))["value"] == 7
    assert script(text, settings=module)["value"] == 3


def test_what_a_kernel_does_not_read_may_change(script):
    text = HEAD + "UNUSED = 1\n@triton.jit\ndef kernel(out):\n    tl.store(out, 3)\n" + TAIL
    script(text)
    assert script(text.replace("UNUSED = 1", "UNUSED = 2"))["hits"] == 1


def test_a_constant_that_changes_within_a_process_is_seen_after_a_hit(script):
    text = HEAD + "K = tl.constexpr(3)\n@triton.jit\ndef kernel(out):\n    tl.store(out, K)\n"
    text += "out = np.zeros(1, np.float32)\nkernel[(1,)](out)\nK = tl.constexpr(NEW)\n" + TAIL
    assert script(text.replace("NEW", "4"))["value"] == 4
    again = script(text.replace("NEW", "4"))
    assert again["value"] == 4 and (again["hits"], again["misses"]) == (2, 0)
    other = script(text.replace("NEW", "5"))
    assert other["value"] == 5 and (other["hits"], other["misses"]) == (1, 1)


def test_a_found_kernel_tells_what_the_compiled_one_told(script):
    text = HEAD + '''
@triton.jit
def kernel(out, n, B: tl.constexpr):
    tl.static_print("B is", B)
    i = tl.arange(0, B)
    tl.store(out + i, i.to(tl.float32), mask=i < n)

found = kernel[(1,)](np.zeros(40, np.float32), 40, B=64)
print(json.dumps({"found": "disk cache" in found.times, "remarks": [list(r) for r in found.remarks],
                  "asm": {name: found.asm[name] if isinstance(found.asm[name], str) else len(found.asm[name]) for name in found.asm},
                  "arguments": [list(a) for a in found.arguments]}))
'''
    first, again = script(text), script(text)
    assert (first.pop("found"), again.pop("found")) == (False, True)
    assert "B is 64" in first["stdout"]
    first.pop("stdout"), first.pop("stderr"), again.pop("stderr")
    assert "B is 64" in again.pop("stdout")
    assert first == again
    assert first["remarks"] and set(first["asm"]) >= {"ttir", "llir", "obj"}


def test_assertions_name_the_line_after_a_hit(script):
    text = HEAD + '''
@triton.jit
def kernel(out, n):
    tl.device_assert(n < 3, "too large")
    tl.store(out, n)

try:
    kernel[(1,)](np.zeros(1, np.float32), 7, debug=True)
    print(json.dumps({"said": ""}))
except triton.TritonError as error:
    print(json.dumps({"said": str(error)}))
'''
    first = script(text)["said"]
    assert "too large" in first and "script.py:9:" in first
    assert script(text)["said"] == first
    assert "script.py:10:" in script(text.replace("@triton.jit", "\n@triton.jit"))["said"]


# ---- the compiler itself -----------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["libtegula.so.0", "libtegula-core.so.0"])
def test_another_build_of_the_compiler_finds_nothing(script, tmp_path, changed):
    """The build id in a copy of the library, or of what it opens to compile, is changed by one bit."""
    build = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
    library = build / "lib" / changed
    note = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    build_id = bytes.fromhex(note.split("Build ID:")[1].split()[0])
    data = library.read_bytes()
    assert data.count(build_id) == 1
    copy = tmp_path / "lib"
    copy.mkdir()
    for name in ("libtegula.so.0", "libtegula-core.so.0"):
        shutil.copy(build / "lib" / name, copy / name)
    (copy / changed).write_bytes(data.replace(build_id, bytes([build_id[0] ^ 1]) + build_id[1:]))
    text = HEAD + "@triton.jit\ndef kernel(out):\n    tl.store(out, 3)\n" + TAIL
    preload = {"LD_PRELOAD": str(copy / "libtegula.so.0"), "TEGULA_WORKER": str(build / "bin" / "tegula-worker")}
    assert script(text)["misses"] == 1
    assert script(text)["hits"] == 1
    other = script(text, env=preload)
    assert (other["hits"], other["misses"]) == (0, 1)
    assert script(text, env=preload)["hits"] == 1
    assert script(text)["hits"] == 1


# ---- the folder ----------------------------------------------------------------------------------

PLAIN = HEAD + "@triton.jit\ndef kernel(out):\n    tl.store(out, 3)\n" + TAIL


def test_upstreams_name_of_the_folder_counts(script, tmp_path):
    env = {"TEGULA_CACHE_DIR": "", "TRITON_CACHE_DIR": str(tmp_path / "theirs")}
    assert script(PLAIN, env=env)["misses"] == 1
    assert script(PLAIN, env=env)["hits"] == 1
    assert list((tmp_path / "theirs").iterdir())


def test_the_users_cache_folder_is_the_default(script, tmp_path):
    env = {"TEGULA_CACHE_DIR": "", "TRITON_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    script(PLAIN, env=env)
    assert (tmp_path / "xdg" / "tegula").is_dir()
    script(PLAIN, env={**env, "XDG_CACHE_HOME": "", "HOME": str(tmp_path / "home")})
    assert (tmp_path / "home" / ".cache" / "tegula").is_dir()


def test_an_unsafe_folder_is_one_warning_and_no_cache(script, folder):
    text = HEAD + "@triton.jit\ndef kernel(out, B: tl.constexpr):\n    tl.store(out, B)\n" + '''
out = np.zeros(1, np.float32)
for b in (2, 3):
    kernel[(1,)](out, b)
print(json.dumps({"value": float(out[0])}))
'''
    folder.mkdir()
    folder.chmod(0o777)
    for _ in range(2):
        done = script(text)
        assert done["value"] == 3
        assert done["stderr"].count("compiled kernels are not kept on disk") == 1, done["stderr"]
        assert "can be written to by others" in done["stderr"]
    assert not list(folder.iterdir())


def test_the_cache_is_switched_off(script, folder):
    text = PLAIN.replace("info = core.cache_info()", "info = {'hits': 0, 'misses': 0}")
    for env in ({"TEGULA_DISK_CACHE": "0"}, {"TRITON_ALWAYS_COMPILE": "1"}):
        done = script(text, env=env)
        assert done["value"] == 3 and "not kept" not in done["stderr"]
    assert not folder.exists()


def test_the_command_line_looks_at_the_cache(script, folder):
    program = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula"
    env = {**os.environ, "TEGULA_CACHE_DIR": str(folder)}

    def tegula(*arguments):
        return subprocess.run([program, "cache", *arguments], capture_output=True, text=True, env=env, timeout=60)

    script(PLAIN)
    assert "1 compiled kernels" in tegula("stats").stdout
    assert tegula("verify").returncode == 0
    entry, = (path for path in folder.rglob("*.0") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-1])
    done = tegula("verify")
    assert done.returncode == 1 and "1 were damaged" in done.stdout
    assert script(PLAIN)["misses"] == 1
    assert "1 compiled kernels are removed" in tegula("clear").stdout
    assert "0 compiled kernels" in tegula("stats").stdout
    folder.chmod(0o777)
    done = tegula("stats")
    assert done.returncode == 1 and "CacheMissing" in done.stderr and "can be written to by others" in done.stderr


# ---- many processes --------------------------------------------------------------------------------

MANY = HEAD + '''
import random
@triton.jit
def kernel(out, B: tl.constexpr):
    tl.store(out, B)

keys = list(range(2, 2 + int(sys.argv[1])))
random.Random(int(sys.argv[2])).shuffle(keys) if int(sys.argv[2]) % 2 else None
out = np.zeros(1, np.float32)
wrong = 0
for key in keys:
    kernel[(1,)](out, key)
    wrong += out[0] != key
print(json.dumps({"wrong": int(wrong), "misses": core.cache_info()["misses"]}))
'''


def start(path, folder, *arguments):
    return subprocess.Popen([sys.executable, str(path), *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "TEGULA_CACHE_DIR": str(folder)})


def test_processes_that_start_together_compile_each_kernel_once(tmp_path, folder):
    """Of the whole, 16 processes with 200 kernels each, a part; TEGULA_TEST_ALL asks for all."""
    processes, keys = (16, 200) if os.environ.get("TEGULA_TEST_ALL") else (6, 20)
    path = tmp_path / "many.py"
    path.write_text(MANY)
    running = [start(path, folder, keys, number) for number in range(processes)]
    rows = [json.loads(process.communicate(timeout=600)[0]) for process in running]
    assert not any(process.returncode for process in running)
    assert sum(row["wrong"] for row in rows) == 0
    assert keys <= sum(row["misses"] for row in rows) <= 1.1 * keys


def test_killed_processes_leave_a_cache_that_is_right(tmp_path, folder):
    """Compiling processes are killed at random points; what they leave is never wrong."""
    rounds = 1000 if os.environ.get("TEGULA_TEST_ALL") else 6
    path = tmp_path / "many.py"
    path.write_text(MANY)
    for number in range(rounds):
        process = start(path, folder, 40, number)
        time.sleep(0.25 + number * 0.37 % 1.0)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start(path, folder, 40, 0)
    row = json.loads(process.communicate(timeout=600)[0])
    assert row["wrong"] == 0
    program = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula"
    done = subprocess.run([program, "cache", "verify"], capture_output=True, text=True,
                          env={**os.environ, "TEGULA_CACHE_DIR": str(folder)})
    assert done.returncode == 0, done.stdout
    shutil.rmtree(folder)
