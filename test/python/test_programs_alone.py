"""Launches of so few programs that each has a multiprocessor for itself run code of their own (decision 35)."""
import json
import os
import subprocess
import sys

import pytest

SCRIPT = '''
import json, os, sys, threading
from pathlib import Path
import torch
import tegula as triton, tegula.language as tl
from tegula import _tegula as core


@triton.jit
def product(a, b, c, k, K: tl.constexpr, N: tl.constexpr):
    rows, columns, inner = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((16, N), tl.float32)
    for first in range(0, k, K):
        x = tl.load(a + rows[:, None] * k + first + inner[None, :])
        y = tl.load(b + (first + inner[:, None]) * N + columns[None, :])
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def double(a, c, N: tl.constexpr):
    places = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(c + places, tl.load(a + places) * 2)


MOST = 8
torch.manual_seed(0)
A, B = torch.randn(16 * MOST, 128).half(), torch.randn(128, 32).half()
record = Path(os.environ["TEGULA_SIM_RECORD"])
seen, rows = set(), []


def shared_bytes():
    """Of the launches since the last call, as the machine was told."""
    new = [path for path in record.iterdir() if path not in seen] if record.exists() else []
    seen.update(new)
    return sorted(int(line.split()[1]) for path in new for line in (path / "launch.txt").read_text().splitlines()
                  if line.startswith("shared "))


def multiply(programs, **options):
    c = torch.full((16 * programs, 32), float("nan"))
    kernel = product[(programs,)](A[:16 * programs], B, c, 128, 32, 32, num_stages=2, **options)
    assert torch.allclose(c, A[:16 * programs].float() @ B.float(), atol=1e-3)
    rows.append({"shared": shared_bytes(), "first": c[:16].tolist(), "shown": kernel.metadata.shared})


def end():
    info = core.cache_info()
    print(json.dumps({"rows": rows, "hits": info["hits"], "misses": info["misses"], "entries": info["entries"]}))
'''


@pytest.fixture
def script(tmp_path):
    """Runs lines behind SCRIPT in a process of their own, with the machine's launches recorded; a launch of up to four programs
    is one of programs that are alone."""
    runs = iter(range(9))

    def run(lines, **env):
        path = tmp_path / "script.py"
        path.write_text(SCRIPT + lines + "\nend()\n")
        clean = {name: value for name, value in os.environ.items() if name not in ("TEGULA_DISK_CACHE", "TRITON_ALWAYS_COMPILE")}
        done = subprocess.run([sys.executable, "-B", str(path)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              env={**clean, "TEGULA_TARGET": "ptxvm", "TEGULA_SIM_ARCH": "sm_90a", "TEGULA_PROGRAMS_ALONE": "4",
                                   "TEGULA_CACHE_DIR": str(tmp_path / "cache"), "TEGULA_SIM_RECORD": str(tmp_path / f"runs-{next(runs)}"), **env})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


FEW, MANY = 12288, 6144  # bytes of shared memory: two more trips are copied ahead where nobody else needs the room


@pytest.mark.parametrize("programs, wanted", [((2, 8, 2, 4, 5), (FEW, MANY, FEW, FEW, MANY)), ((8, 2, 8), (MANY, FEW, MANY))])
def test_a_launch_runs_the_code_for_its_programs_whichever_came_first(script, programs, wanted):
    said = script("".join(f"multiply({count})\n" for count in programs))
    assert [row["shared"] for row in said["rows"]] == [[size] for size in wanted]
    assert {row["shown"] for row in said["rows"]} == {wanted[0]}, "the kernel shows the code that was compiled for its first launch"


def test_both_codes_compute_the_same_to_the_bit(script):
    few, many = script("multiply(2)\nmultiply(8)")["rows"]
    assert few["shared"] != many["shared"] and few["first"] == many["first"]


def test_a_warmup_compiles_for_many_programs_whatever_grid_it_is_told(script):
    said = script("kernel = product.warmup(A, B, torch.empty(1), 128, 32, 32, num_stages=2, grid=(1,))\n"
                  "rows.append(kernel.metadata.shared)\nmultiply(8)\nmultiply(2)")
    assert said["rows"][0] == MANY and [row["shared"] for row in said["rows"][1:]] == [[MANY], [FEW]]


def test_a_kernel_that_was_compiled_for_a_signature_stays_what_it_is(script):
    said = script("source = triton.compiler.ASTSource(product, {'a': '*fp16', 'b': '*fp16', 'c': '*fp32', 'k': 'i32', 'K': 'constexpr', 'N': 'constexpr'},\n"
                  "                                   {'K': 32, 'N': 32})\n"
                  "kernel = triton.compile(source, target=triton.runtime.driver.active.get_current_target(), options={'num_stages': 2})\n"
                  "for programs in (2, 8):\n    kernel[(programs, 1, 1)](A, B, torch.empty(16 * programs, 32), 128, None, None)\n"
                  "    rows.append(shared_bytes())\nrows.append([kernel.metadata.shared])")
    assert said["rows"][0] == said["rows"][1] == said["rows"][2]


def test_threads_that_launch_at_once_make_one_code(script):
    # The records are read once, behind all launches: a thread could see another one's half written.
    said = script("multiply(8)\nasked, shared_bytes = shared_bytes, list\n"
                  "threads = [threading.Thread(target=multiply, args=(2,)) for _ in range(4)]\n"
                  "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n"
                  "assert len(rows) == 5, 'one failed'\nrows = [rows[0]['shared'] + asked()]")
    assert said["rows"] == [[MANY, FEW, FEW, FEW, FEW]]


def test_no_launch_is_of_programs_that_are_alone_where_the_environment_says_so(script):
    said = script("multiply(1)", TEGULA_PROGRAMS_ALONE="0")
    assert said["rows"][0]["shared"] == [MANY]


# --- on disk: the machine keeps nothing there, GPUs do ------------------------------------------------------

PREPARED = """
kernel = {name}.warmup({arguments}num_stages=2)
rows.append([kernel.metadata.shared, kernel.n_regs])
kernel.function.prepare((1, 1, 1))
"""
PRODUCT = PREPARED.format(name="product", arguments="torch.float16, torch.float16, torch.float32, 128, 32, 32, ")
DOUBLE = PREPARED.format(name="double", arguments="torch.float32, torch.float32, 1024, ")


def test_both_codes_are_found_on_disk_by_the_next_process(script):
    first = script(PRODUCT, TEGULA_TARGET="sm_90a")
    assert first["entries"] == 2
    again = script(PRODUCT, TEGULA_TARGET="sm_90a")
    assert (again["hits"], again["misses"], again["entries"], again["rows"]) == (2, 0, 2, first["rows"])


def test_a_kernel_without_loops_has_one_code(script):
    assert script(DOUBLE, TEGULA_TARGET="sm_90a")["entries"] == 1


def test_a_process_that_may_not_compile_goes_on_with_the_code_that_there_is(script):
    script(PRODUCT.replace("kernel.function.prepare((1, 1, 1))", ""), TEGULA_TARGET="sm_90a")
    closed = script(PRODUCT, TEGULA_TARGET="sm_90a", TEGULA_CLOSED="1")
    assert (closed["hits"], closed["entries"]) == (1, 1)


# --- on a GPU -----------------------------------------------------------------------------------------------

ON_GPU = """
from tegula import _tegula
FEW = _tegula.device("cuda", 0)["multiprocessors"]


def multiply(programs, kernel=product):
    a, b = torch.randn(16 * programs, 128, device="cuda").half(), torch.randn(128, 32, device="cuda").half()
    c = torch.full((16 * programs, 32), float("nan"), device="cuda")
    compiled = kernel[(programs,)](a, b, c, 128, 32, 32, num_stages=2)
    assert torch.allclose(c, a.float() @ b.float(), atol=1e-2)
    return compiled.metadata.shared
"""


@pytest.fixture
def device_script(script):
    def run(lines, **env):
        return script(ON_GPU + lines, **{"TEGULA_TARGET": "cuda", "TEGULA_PROGRAMS_ALONE": "", **env})

    return run


@pytest.mark.gpu
def test_a_device_has_as_many_programs_alone_as_multiprocessors(device_script, tmp_path):
    few = device_script("rows.append(multiply(FEW))")
    many = device_script("rows.append(multiply(FEW + 1))", TEGULA_CACHE_DIR=str(tmp_path / "another"))
    assert (few["rows"], many["rows"]) == ([FEW], [MANY])


@pytest.mark.gpu
def test_launches_of_few_and_of_many_take_turns(device_script):
    said = device_script("for count in (1, FEW + 1, FEW, 4 * FEW, 2): multiply(count)")
    assert (said["misses"], said["entries"]) == (2, 2)
    assert device_script("for count in (FEW + 1, 1): multiply(count)")["misses"] == 0, "each is found, whichever was first"


@pytest.mark.gpu
def test_a_launch_of_many_finds_the_loopless_kernel_that_one_of_few_compiled(device_script):
    lines = ("for count in {counts}:\n    a = torch.randn(count * 128, device='cuda')\n    c = torch.empty_like(a)\n"
             "    double[(count,)](a, c, 128)\n    assert torch.equal(c, 2 * a)")
    assert device_script(lines.format(counts="(1, 4 * FEW)"))["misses"] == 1
    assert device_script(lines.format(counts="(4 * FEW,)"))["misses"] == 0


@pytest.mark.gpu
def test_a_closed_process_launches_few_with_the_code_for_many(device_script):
    device_script("multiply(4 * FEW)")
    closed = device_script("rows.append(multiply(2))\nrows.append(multiply(4 * FEW))", TEGULA_CLOSED="1")
    assert (closed["rows"], closed["entries"]) == ([MANY, MANY], 1)


@pytest.mark.gpu
def test_a_graph_is_captured_of_a_launch_whose_code_is_new(device_script):
    device_script("""
a, b = torch.randn(16 * 4 * FEW, 128, device="cuda").half(), torch.randn(128, 32, device="cuda").half()
c = torch.zeros(16 * 4 * FEW, 32, device="cuda")
product[(4 * FEW,)](a, b, c, 128, 32, 32, num_stages=2)
c.zero_()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    product[(2,)](a, b, c, 128, 32, 32, num_stages=2)
assert not c.any()
graph.replay()
torch.cuda.synchronize()
assert torch.allclose(c[:32], a[:32].float() @ b.float(), atol=1e-2) and not c[32:].any()
""")


@pytest.mark.gpu
def test_a_tuner_measures_the_code_that_its_launch_runs(device_script):
    said = device_script("""
tuned = triton.autotune([triton.Config({"K": 32}, num_stages=2), triton.Config({"K": 64}, num_stages=2)], key=[])(product)
a, b = torch.randn(32, 128, device="cuda").half(), torch.randn(128, 32, device="cuda").half()
c = torch.empty(32, 32, device="cuda")
tuned[lambda meta: (2,)](a, b, c, 128, N=32)
assert torch.allclose(c, a.float() @ b.float(), atol=1e-2)
""")
    assert said["entries"] == 4, "two codes of each configuration"


ROWS = '''
@triton.jit
def rows_twice(x, y, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        places = tl.program_id(0) * n + first + tl.arange(0, BLOCK)
        inside = first + tl.arange(0, BLOCK) < n
        tl.store(y + places, tl.load(x + places, mask=inside, other=-1.0) * 2, mask=inside)


@triton.jit
def states(s, decay, out, step, steps, BLOCK: tl.constexpr):
    here = s + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), tl.float32)
    for _ in range(steps):
        new, by = tl.load(here), tl.load(decay)
        tl.store(there, state)
        state = by * state + new
        here, there, decay = here + step, there + step, decay + 1


@triton.jit
def late_read(x, y, out, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        places = first + tl.arange(0, BLOCK)
        tl.store(y + places, tl.load(x + places) * 2)
        tl.store(out + places, tl.load(y + places) + 1)


BLOCK, TRIPS = 32, 9
N = BLOCK * TRIPS


def walk(x, y, n=N, programs=1, kernel=rows_twice, **options):
    """Returns the bytes of shared memory, which is the ring of copies."""
    kernel[(programs,)](x, y, n, BLOCK, num_warps=1, **options)
    return shared_bytes()


def trip_by_trip(x, y):
    for first in range(0, N, BLOCK):
        y[first:first + BLOCK] = x[first:first + BLOCK] * 2
'''


def test_a_loop_that_writes_apart_from_what_it_reads_is_copied_ahead(script):
    said = script(ROWS + "x = torch.randn(3, N - 5)\ny = torch.full((3, N - 5), float('nan'))\n"
                  "rows.append(walk(x, y, N - 5, 3))\nassert torch.equal(y, x * 2)\n"
                  "x = torch.randn(5, N)\ny = torch.empty(5, N)\nrows.append(walk(x, y, N, 5))\nassert torch.equal(y, x * 2)\n"
                  "rows.append(walk(x[:1], y[:1], N, 1, num_stages=1))\n")
    few, many, unstaged = said["rows"]
    assert few[0] >= 2 * 32 * 4 and many == [0] and unstaged == [0]


@pytest.mark.parametrize("behind", [-288, -64, -32, 0, 32, 64, 256, 288])
def test_a_trip_reads_what_an_earlier_one_wrote_through_another_argument(script, behind):
    # By the lane that wrote it: by whole blocks. Between lanes M12 wants a barrier, and the machine refuses the launch.
    said = script(ROWS + f"behind = {behind}\n"
                  "memory = torch.randn(3 * N + 64)\nwant = memory.clone()\n"
                  "start = N\nx, y = memory[start:], memory[start + behind:]\n"
                  "trip_by_trip(want[start:], want[start + behind:])\n"
                  "rows.append(walk(x, y))\nrows.append(bool(torch.equal(memory, want)))\n")
    assert said["rows"][1]


def test_rows_in_place_are_copied_ahead(script):
    said = script(ROWS + "x = torch.randn(N)\nwant = x * 2\nrows.append(walk(x, x))\nassert torch.equal(x, want)\n")
    assert said["rows"][0][0] > 0


def test_pointers_that_move_by_a_number_of_the_launch_are_copied_ahead(script):
    said = script(ROWS + "s, decay, out = torch.randn(TRIPS, 64), torch.rand(TRIPS), torch.empty(TRIPS, 64)\n"
                  "states[(2,)](s, decay, out, 64, TRIPS, BLOCK, num_warps=1)\nrows.append(shared_bytes())\n"
                  "state = torch.zeros(64)\n"
                  "for i in range(TRIPS):\n    assert torch.allclose(out[i], state)\n    state = decay[i] * state + s[i]\n"
                  "# a step of no bytes, and one that leads back\n"
                  "states[(1,)](s[0], decay, out[0], 0, TRIPS, BLOCK, num_warps=1)\n"
                  "states[(1,)](s[-1], decay, out[-1], -64, TRIPS, BLOCK, num_warps=1)\n"
                  "state = torch.zeros(BLOCK)\n"
                  "for i in range(TRIPS):\n    assert torch.allclose(out[TRIPS - 1 - i, :BLOCK], state)\n    state = decay[i] * state + s[TRIPS - 1 - i, :BLOCK]\n")
    assert said["rows"][0][0] > 0


def test_what_a_trip_writes_is_not_read_ahead_in_the_same_trip(script):
    script(ROWS + "x, y, out = torch.randn(N), torch.zeros(N), torch.empty(N)\n"
           "late_read[(1,)](x, y, out, N, BLOCK, num_warps=1)\nassert torch.equal(y, x * 2) and torch.equal(out, x * 2 + 1)\n")


def test_rows_that_the_program_has_read_stay_with_its_cache(script):
    said = script(ROWS + """
@triton.jit
def scaled(x, w, y, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        total += tl.load(x + first + tl.arange(0, BLOCK))
    whole = tl.sum(total)
    for first in range(0, n, BLOCK):
        places = first + tl.arange(0, BLOCK)
        tl.store(y + places, tl.load(x + places) * tl.load(w + places) + whole)


x, w, y = torch.randn(N), torch.randn(N), torch.empty(N)
kernel = scaled[(1,)](x, w, y, N, BLOCK, num_warps=1)
assert torch.allclose(y, x * w + x.sum(), atol=1e-4)
rows.append([remark.text for remark in kernel.remarks if "ahead" in remark.text])
""")
    assert any("1 load runs" in text for text in said["rows"][0]) and not any("2 loads run" in text for text in said["rows"][0])
