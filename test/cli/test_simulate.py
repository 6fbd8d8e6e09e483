"""tegula simulate: PTX files with planted mistakes, each found at its line; the same files without them are clean."""
import os
import subprocess

import numpy as np
import pytest

HEAD = """.version 8.0
.target sm_80
.address_size 64
"""

# Sums each row of 128 numbers: every thread leaves its number in shared memory, one thread adds them.
SUM = HEAD + """
.visible .entry sum(.param .u64 rows, .param .u64 sums, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b32 %r<12>;
.reg .b64 %rd<12>;
.reg .f32 %f<8>;
.shared .align 16 .b8 tile[512];
.loc 1 3 0
ld.param.u64 %rd1, [rows];
ld.param.u64 %rd2, [sums];
ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
.loc 1 4 0
mad.lo.s32 %r5, %r3, %r4, %r2;
setp.lt.s32 %p1, %r5, %r1;
mul.wide.s32 %rd3, %r5, 4;
add.s64 %rd4, %rd1, %rd3;
mov.f32 %f1, 0f00000000;
@%p1 ld.global.f32 %f1, [%rd4];
.loc 1 5 0
mov.u32 %r6, tile;
shl.b32 %r7, %r2, 2;
add.s32 %r8, %r6, %r7;
st.shared.f32 [%r8], %f1;
.loc 1 6 0
bar.sync 0;
.loc 1 7 0
setp.ne.s32 %p2, %r2, 0;
@%p2 bra DONE;
mov.f32 %f2, 0f00000000;
mov.u32 %r9, 0;
LOOP:
ld.shared.f32 %f3, [%r6];
add.rn.f32 %f2, %f2, %f3;
add.s32 %r6, %r6, 4;
add.s32 %r9, %r9, 1;
setp.lt.s32 %p3, %r9, %r4;
@%p3 bra LOOP;
.loc 1 8 0
mul.wide.s32 %rd5, %r3, 4;
add.s64 %rd6, %rd2, %rd5;
st.global.f32 [%rd6], %f2;
DONE:
ret;
}
.file 1 "sum.py"
"""

SOURCE = "\n".join(["# line 1", "@triton.jit", "def sum(rows, sums, n):", "    x = tl.load(rows + i)", "    tile = x",
                    "    barrier()", "    total = tl.sum(tile)", "    tl.store(sums, total)", ""])


@pytest.fixture
def simulate(tegula, tmp_path):
    """Runs a PTX text on four rows of 128 numbers."""

    def run(text, *options, n=512, size=512):
        (tmp_path / "sum.py").write_text(SOURCE)
        (tmp_path / "sum.ptx").write_text(text)
        x = np.random.default_rng(1).integers(-99, 99, size).astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        done = tegula("simulate", "sum.ptx::sum", "--grid", 4, "--block", 128, "--arg", "@x.npy", "--arg", "new:f32[4]",
                      "--arg", n, "--save", "1=out.npy", *options)
        return done, x

    run.folder = tmp_path
    return run


def replaced(old, new, text=SUM):
    assert text.count(old) == 1
    return text.replace(old, new)


def test_a_right_kernel_runs_clean_and_right(simulate):
    done, x = simulate(SUM)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no findings" in done.stdout
    np.testing.assert_array_equal(np.load(simulate.folder / "out.npy"), x.reshape(4, 128).sum(1))


def test_a_missing_barrier_is_a_race_with_both_lines(simulate):
    done, _ = simulate(replaced("bar.sync 0;\n", ""))
    assert done.returncode == 3
    assert "race: " in done.stderr
    assert "ld.shared.f32 %f3, [%r6]" in done.stderr and "st.shared.f32 [%r8], %f1" in done.stderr
    assert "sum.py:7" in done.stderr and "sum.py:5" in done.stderr
    assert "total = tl.sum(tile)" in done.stderr


@pytest.mark.parametrize("schedule", ["round-robin", "random", "priority"])
def test_a_race_is_found_under_every_schedule(simulate, schedule):
    done, _ = simulate(replaced("bar.sync 0;\n", ""), "--schedule", schedule, "--seed", 5)
    assert done.returncode == 3 and "race: " in done.stderr


def test_an_access_out_of_bounds_is_found(simulate):
    done, _ = simulate(SUM, n=512, size=500)
    assert done.returncode == 3
    assert "out-of-bounds: " in done.stderr and "sum.py:4" in done.stderr and "ld.global.f32" in done.stderr


def test_a_misaligned_access_is_found(simulate):
    done, _ = simulate(replaced("ld.global.f32 %f1, [%rd4];", "ld.global.f32 %f1, [%rd4+2];"))
    assert done.returncode == 3
    assert "misaligned: " in done.stderr and "sum.py:4" in done.stderr


def test_shared_memory_that_nobody_wrote_is_found(simulate):
    done, _ = simulate(replaced("st.shared.f32 [%r8], %f1;\n", "@%p1 st.shared.f32 [%r8], %f1;\n"), n=500)
    assert done.returncode == 3
    assert "uninitialised: " in done.stderr and "sum.py:7" in done.stderr


def test_stores_of_different_blocks_to_one_place_race(simulate):
    done, _ = simulate(replaced("mul.wide.s32 %rd5, %r3, 4;", "mov.u64 %rd5, 0;"))
    assert done.returncode == 3
    assert "race: " in done.stderr and "another block" in done.stderr and "sum.py:8" in done.stderr


def test_a_barrier_that_part_of_the_block_never_reaches_is_found(simulate):
    text = replaced("bar.sync 0;\n", "setp.gt.s32 %p2, %r2, 63;\n@%p2 bra DONE;\nbar.sync 0;\nbar.sync 1, 128;\n")
    done, _ = simulate(text)
    assert done.returncode == 3
    assert any(kind in done.stderr for kind in ("missing-barrier", "deadlock", "divergent-barrier")), done.stderr
    assert "sum.py:6" in done.stderr


def test_an_aligned_barrier_reached_by_half_a_warp_is_found(simulate):
    text = replaced("bar.sync 0;\n", "setp.gt.s32 %p2, %r2, 15;\n@%p2 bra SKIP;\nbar.sync 0;\nSKIP:\n")
    done, _ = simulate(text)
    assert done.returncode == 3
    assert any(kind in done.stderr for kind in ("unaligned-warp", "divergent-barrier")), done.stderr
    assert "sum.py:6" in done.stderr


def test_the_same_seed_gives_the_same_run(simulate):
    text = replaced("bar.sync 0;\n", "")
    runs = [simulate(text, "--schedule", "random", "--seed", 9)[0].stderr for _ in range(2)]
    assert runs[0] == runs[1] != ""


def test_a_bundle_repeats_the_run(simulate, tegula):
    done, _ = simulate(replaced("bar.sync 0;\n", ""), "--bundle", "found", "--schedule", "random", "--seed", 3)
    assert done.returncode == 3 and "tegula simulate --replay found" in done.stderr
    (simulate.folder / "sum.ptx").unlink()
    (simulate.folder / "x.npy").unlink()
    again = tegula("simulate", "--replay", "found")
    assert again.returncode == 3 and "memory after the run: " in again.stdout
    assert again.stderr.splitlines()[0] == done.stderr.splitlines()[0]
    assert (simulate.folder / "found" / "findings.txt").read_text().splitlines()[0] == done.stderr.splitlines()[0]


def test_no_finding_writes_no_bundle(simulate):
    done, _ = simulate(SUM, "--bundle", "found")
    assert done.returncode == 0 and not (simulate.folder / "found").exists()


@pytest.mark.parametrize("statement", ["grid 4 1", "buffer 99999999999999 0 writable written x", "parameter buffer 7 0", "nonsense"])
def test_a_damaged_bundle_is_refused(simulate, tegula, statement):
    simulate(replaced("bar.sync 0;\n", ""), "--bundle", "found")
    with open(simulate.folder / "found" / "launch.txt", "a") as file:
        file.write(statement + "\n")
    done = tegula("simulate", "--replay", "found")
    assert done.returncode == 1 and f"`{statement}` is not understood" in done.stderr


def test_the_profile_shows_costs_by_source_line(simulate):
    done, _ = simulate(SUM, "--profile")
    assert done.returncode == 0
    rows = {line.split("|")[1].strip(): line.split("|")[0].split() for line in done.stdout.splitlines() if " | " in line}
    # 16 warps read 4 sectors each; 16 warps store to shared memory without a conflict.
    assert rows["x = tl.load(rows + i)"][3:5] == ["64", "1.0"]
    assert rows["tile = x"][3:5] == ["16", "1.0"]
    assert rows["barrier()"][3] == "16"


def test_barriers_that_order_nothing_are_listed(simulate):
    done, _ = simulate(replaced("mov.u32 %r4, %ntid.x;", "mov.u32 %r4, %ntid.x;\nbar.sync 0;"), "--profile")
    said = [line for line in done.stdout.splitlines() if "ordered nothing" in line]
    assert said == ["the barrier in PTX line 21 (line 3) ordered nothing in this run"]


def test_bank_conflicts_are_counted(simulate):
    done, _ = simulate(replaced("shl.b32 %r7, %r2, 2;", "and.b32 %r7, %r2, 15;\nshl.b32 %r7, %r7, 5;"), "--profile")
    row = next(line for line in done.stdout.splitlines() if "| " in line and "tile = x" in line)
    # 16 rows of 32 bytes: 4 rows meet in each bank.
    assert row.split("|")[0].split()[3:5] == ["64", "4.0"]


def test_the_page_is_self_contained(simulate):
    done, _ = simulate(replaced("bar.sync 0;\n", ""), "--html", "page.html")
    page = (simulate.folder / "page.html").read_text()
    assert done.returncode == 3
    assert "total = tl.sum(tile)" in page and "race" in page
    assert "http" not in page and "src=" not in page


def test_a_warp_that_never_ends_is_stopped(simulate):
    done, _ = simulate(replaced("setp.lt.s32 %p3, %r9, %r4;", "setp.ge.s32 %p3, %r9, 0;\nmov.u32 %r6, tile;\nmov.u32 %r9, 0;"),
                       "--steps", 100000)
    assert done.returncode == 3 and "step-limit" in done.stderr


@pytest.mark.parametrize(
    "change, said",
    [
        (("bar.sync 0;", "barr.sync 0;"), "barr.sync"),
        (("add.rn.f32 %f2, %f2, %f3;", "add.rn.f32 %f2, %f2, %f99;"), "%f99"),
        (("add.rn.f32 %f2, %f2, %f3;", "add.rn.s32 %f2, %f2, %f3;"), "add.rn.s32"),
        (("@%p3 bra LOOP;", "@%p3 bra NOWHERE;"), "NOWHERE"),
    ],
)
def test_what_the_machine_does_not_know_is_refused_with_its_text(simulate, change, said):
    done, _ = simulate(replaced(*change))
    assert done.returncode == 1
    assert "[CodeNotUnderstood]" in done.stderr and said in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--arg", "1.5", "--arg", "0", "--arg", "0"], "no integer"),
        (["--arg", "0", "--arg", "0", "--arg", "99999999999"], "does not fit"),
        (["--arg", "0", "--arg", "0", "--arg", "new:f32[4]"], "an address"),
        (["--arg", "0", "--arg", "0"], "takes 3 run-time arguments, and 2 were given"),
        (["--arg", "0", "--arg", "0", "--arg", "'text'"], "neither an array nor a number"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tegula, tmp_path, arguments, said):
    (tmp_path / "sum.ptx").write_text(SUM)
    done = tegula("simulate", "sum.ptx::sum", *arguments)
    assert done.returncode == 1 and said in done.stderr


def test_an_unknown_entry_is_refused_with_those_there_are(tegula, tmp_path):
    (tmp_path / "sum.ptx").write_text(SUM)
    done = tegula("simulate", "sum.ptx::product")
    assert done.returncode == 1 and "its entries: sum" in done.stderr


def test_an_unknown_schedule_is_refused(simulate):
    done, _ = simulate(SUM, "--schedule", "fair")
    assert done.returncode == 1 and "round-robin, random, priority" in done.stderr


COPY = '''.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 out, .param .u64 in)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
.shared .align 16 .b8 tile[128];
.file 1 "copy.py"
ld.param.u64 %rd0, [out];
ld.param.u64 %rd1, [in];
mov.u32 %r0, %tid.x;
mad.wide.u32 %rd0, %r0, 4, %rd0;
mad.wide.u32 %rd1, %r0, 4, %rd1;
mov.u32 %r1, tile;
mad.lo.u32 %r1, %r0, 4, %r1;
.loc 1 3 0
cp.async.ca.shared.global [%r1], [%rd1], 4;
.loc 1 4 0
cp.async.wait_all;
.loc 1 5 0
ld.shared.u32 %r2, [%r1];
st.global.u32 [%rd0], %r2;
ret;
}
'''


@pytest.fixture
def copied(tegula, tmp_path):
    def run(text, *more):
        (tmp_path / "copy.ptx").write_text(text)
        np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32))
        done = tegula("simulate", "copy.ptx::copy", "--block", "32", "--arg", "new:f32[32]", "--arg", "@x.npy", "--save", "0=y.npy",
                      *map(str, more))
        return done, np.load(tmp_path / "y.npy") if (tmp_path / "y.npy").exists() else None
    return run


@pytest.mark.parametrize("copies", ["late", "at-once", "random"])
def test_copies_are_right_whenever_they_complete(copied, copies):
    done, values = copied(COPY, "--copies", copies)
    assert done.returncode == 0 and np.array_equal(values, np.arange(32))


@pytest.mark.parametrize("copies", ["late", "at-once", "random"])
def test_a_missing_wait_is_found_with_both_lines_whenever_copies_complete(copied, copies):
    done, _ = copied(COPY.replace("cp.async.wait_all;", ""), "--copies", copies)
    assert done.returncode == 3
    assert "copy.py:5: copy-under-way: reads 4 bytes of shared memory while a copy into it is under way" in done.stderr
    assert "copy.py:3" in done.stderr and "cp.async.ca" in done.stderr


def test_a_bundle_repeats_how_copies_complete(copied, tegula, tmp_path):
    copied(COPY.replace("cp.async.wait_all;", ""), "--bundle", "found", "--copies", "at-once")
    assert "copies at-once" in (tmp_path / "found" / "launch.txt").read_text()
    first, late = tegula("simulate", "--replay", "found"), (tmp_path / "found" / "launch.txt")
    late.write_text(late.read_text().replace("copies at-once", "copies late"))
    second = tegula("simulate", "--replay", "found")
    assert "memory after the run" in first.stdout and first.stdout != second.stdout


def test_an_unknown_completion_of_copies_is_refused(simulate):
    done, _ = simulate(SUM, "--copies", "never")
    assert done.returncode == 1 and "late, at-once or random" in done.stderr


def test_simulate_wants_a_kernel_or_a_bundle(tegula):
    assert tegula("simulate").returncode == 2


@pytest.mark.parametrize("arguments, reason", [
    (["k.py::k", "--block", "32"], "are of a .ptx file"), (["k.py::k", "--shared", "0"], "are of a .ptx file"),
    (["k.ptx", "--record"], "no folder to write"), (["--replay", "found", "--arg", "x=1"], "takes no --arg"),
    (["k.ptx", "--shared", "-1"], "`-1` is no number from 0 on"), (["k.ptx", "--seed", "abc"], "`abc` is no number from 0 on"),
    (["k.ptx", "--block", "a"], "is not an integer")])
def test_options_that_mean_nothing_are_refused(tegula, arguments, reason):
    (tegula.folder / "k.ptx").write_text(SUM)
    done = tegula("simulate", *arguments)
    assert done.returncode == 2 and reason in done.stderr and "hint: " in done.stderr, done.stderr


@pytest.mark.parametrize("arguments, reason", [
    (["--block", "0"], "a block has no threads"), (["--grid", "0"], "it is from 1 to 2147483647"), (["--grid", "1,0"], "it is from 1 to 65535")])
def test_a_launch_without_threads_is_refused(tegula, arguments, reason):
    (tegula.folder / "k.ptx").write_text(SUM)
    done = tegula("simulate", "k.ptx", "--arg", "new:f32[8]", "--arg", "new:f32[8]", "--arg", "8", *arguments)
    assert done.returncode == 1 and reason in done.stderr and "too large" not in done.stderr


def test_too_few_arguments_are_counted(tegula):
    (tegula.folder / "k.ptx").write_text(SUM)
    done = tegula("simulate", "k.ptx", "--arg", "new:f32[8]")
    assert done.returncode == 1 and "takes 3 run-time arguments, and 1 were given [SlotCount]" in done.stderr and "hint: " in done.stderr


def test_an_empty_file_has_no_entry(tegula):
    (tegula.folder / "k.ptx").write_text("")
    done = tegula("simulate", "k.ptx")
    assert done.returncode == 1 and "Success" not in done.stderr and "``" not in done.stderr, done.stderr


@pytest.mark.parametrize("steps", [1, 7, 43])
def test_a_run_ends_at_its_step(simulate, steps):
    done, _ = simulate(SUM, "--steps", steps)
    assert done.returncode == 3 and f"after {steps} instructions" in done.stderr


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_a_source_that_is_no_file_is_not_read(tegula, path):
    os.mkfifo(tegula.folder / "pipe")
    code = SUM.replace(".visible .entry", f'.file 1 "{path}"\n.visible .entry').replace("bar.sync 0;\n", "")
    (tegula.folder / "k.ptx").write_text(code)
    done = tegula("simulate", "k.ptx", "--block", "128", "--profile", "--arg", "new:f32[128]", "--arg", "new:f32[1]", "--arg", "128")
    assert done.returncode == 3 and "finding" in done.stderr


def test_a_long_run_says_how_far_it_is(tegula):
    (tegula.folder / "k.ptx").write_text(HEAD + ".visible .entry spin() {\n.reg .pred %p;\n{\nLOOP: bra LOOP;\n}\n}\n")
    command = [tegula.program, "simulate", "k.ptx", "--grid", "3", "--block", "32", "--steps", "100000000000"]
    with subprocess.Popen(command, cwd=tegula.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        try:
            line = run.stderr.readline()
        finally:
            run.kill()
    assert line.startswith("simulating: ") and "0 of 3 programs done; --steps N" in line, line


def test_code_comes_from_a_pipe(tegula):
    done = subprocess.run([tegula.program, "check", "/dev/stdin"], input=b"import triton\n", capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["bash", "-c", '"$0" check <(echo "def f(:")', tegula.program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "[" in done.stderr and "cannot read" not in done.stderr, done.stderr


def upstreams(registers, body, parameters="", before=""):
    """A kernel as upstream Triton writes it."""
    return (f".version 8.7\n.target sm_90a\n.address_size 64\n{before}\n.visible .entry k({parameters})\n.reqntid 32\n{{\n"
            f"{registers}\n{body}\nret;\n}}\n")


def test_upstreams_loads_and_calls_are_understood(tegula):
    before = (".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\nadd.f32 %r2, %r1, %r1;\n"
              "st.param.b32 [r], %r2;\nret;\n}")
    body = ("ld.param.b64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
            "ld.global.b32 { %r2 }, [ %rd3 + 0 ];\n{ // callseq 0, 0\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r2;\n"
            "call.uni (q), twice, (p);\nld.param.b32 %r3, [q];\n}\nst.global.b32 [ %rd3 + 0 ], { %r3 };")
    (tegula.folder / "k.ptx").write_text(upstreams(".reg .b32 %r<4>;\n.reg .b64 %rd<4>;", body, ".param .u64 .ptr .global .align 1 x", before))
    np.save(tegula.folder / "x.npy", np.arange(32, dtype=np.float32))
    done = tegula("simulate", "k.ptx", "--block", "32", "--arg", "@x.npy", "--save", "0=o.npy")
    assert done.returncode == 0, done.stderr
    assert (np.load(tegula.folder / "o.npy") == 2 * np.arange(32)).all()
