"""tegula check FILE.py::KERNEL: the classic mistakes, each beside the same kernel without it."""
import json
import re

import pytest

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def found(tegula, body, *options, kernel="k"):
    """(kind, text of the line) of each finding."""
    path = tegula.folder / "k.py"
    path.write_text(HEAD + body)
    done = tegula("check", f"k.py::{kernel}", *options)
    rows = re.findall(r"k\.py:(\d+):\d+: warning: .*\[(\w+)\]\n", done.stderr)
    assert done.returncode == (1 if rows else 0), done.stderr
    assert all(f"[{kind}]" in done.stderr and "hint: " in done.stderr for _, kind in rows)
    lines = path.read_text().splitlines()
    return [(kind, lines[int(line) - 1].strip()) for line, kind in rows]


def sized(**arguments):
    return [text for name, value in arguments.items() for text in ("--arg", f"{name}={value}")]


TAIL = """def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i{load})
    tl.store(y + i, v{store})
"""
SIGNATURE = ["--signature", "x=*f32,y=*f32,n=i32,BLOCK=128"]


@pytest.mark.parametrize("load, store, kinds", [
    (", mask=i < n", ", mask=i < n", []), ("", ", mask=i < n", ["v = tl.load(x + i)"]), (", mask=i < n", "", ["tl.store(y + i, v)"]),
    ("", "", ["v = tl.load(x + i)", "tl.store(y + i, v)"])])  # n is never used
def test_a_tail_without_a_mask(tegula, load, store, kinds):
    assert found(tegula, TAIL.format(load=load, store=store), *SIGNATURE) == [("TailWithoutMask", line) for line in kinds]


LOOP = """def k(x, y, n, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        total += tl.load(p)
        p += BLOCK
    tl.store(y, tl.sum(total))
"""


@pytest.mark.parametrize("n, lines", [(1024, []), (1000, ["total += tl.load(p)"])])
def test_a_tail_beyond_an_array_of_known_size(tegula, n, lines):
    arguments = sized(x=f"new:f32[{n}]", y="new:f32[1]", n=n, BLOCK=128)
    assert found(tegula, LOOP, "--grid", 1, *arguments) == [("TailWithoutMask", line) for line in lines]
    text = tegula("check", "k.py::k", "--grid", 1, *arguments).stderr
    assert ("it reaches element 1023 of `x`, which has 1000" in text) == bool(lines)


def test_offsets_before_an_array(tegula):
    body = "def k(x, y):\n    i = tl.arange(0, 8)\n    tl.store(y + i, tl.load(x + i - 1))\n"
    assert found(tegula, body, "--grid", 1, *sized(x="new:f32[8]", y="new:f32[8]")) == [
        ("TailWithoutMask", "tl.store(y + i, tl.load(x + i - 1))")]


REDUCTION = """def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n{other})
    v = {between}
    tl.store(y, tl.{function}(v))
"""


@pytest.mark.parametrize("other, between, function, is_found", [
    ("", "v * 2", "sum", True), ("", "tl.exp(v)", "max", True), (", other=0.0", "tl.exp(v)", "sum", False),
    ("", "tl.where(i < n, v, 0)", "sum", False), ("", "(v + 1)[None, :]", "sum", True)])
def test_a_reduction_of_masked_lanes(tegula, other, between, function, is_found):
    rows = found(tegula, REDUCTION.format(other=other, between=between, function=function), *SIGNATURE)
    assert rows == ([("ReductionOfMaskedLanes", f"tl.store(y, tl.{function}(v))")] if is_found else [])


def test_a_reduction_behind_a_loop(tegula):
    body = LOOP.replace("tl.load(p)", "tl.load(p, mask=tl.arange(0, BLOCK) < n)")
    assert [kind for kind, _ in found(tegula, body, *SIGNATURE)] == ["ReductionOfMaskedLanes"]


OVERFLOW = """def k(x, y, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0){wide}
    i = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * stride + i)))
"""


@pytest.mark.parametrize("wide, rows, is_found", [("", 70000, True), (".to(tl.int64)", 70000, False), ("", 30000, False)])
def test_offsets_that_leave_32_bits(tegula, wide, rows, is_found):
    arguments = sized(x=f"new:f32[{rows},70000]", y=f"new:f32[{rows}]", stride=70000, BLOCK=1024)
    findings = found(tegula, OVERFLOW.format(wide=wide), "--grid", rows, *arguments)
    assert findings == ([("OffsetOverflow", "tl.store(y + row, tl.sum(tl.load(x + row * stride + i)))")] if is_found else [])
    if is_found:
        assert "reaches 4899930000" in tegula("check", "k.py::k", "--grid", rows, *arguments).stderr


@pytest.mark.parametrize("expression, is_found", [
    ("(i - 1) // 2", True), ("(i - n) % 4", True), ("i // n", False), ("(n - 1) // 2", False), ("tl.cdiv(n, 4)", False),
    ("(i + 1) % n", False), ("tl.where(i > 2, i - 3, 0) // 2", True), ("tl.maximum(i - 3, 0) // 2", False)])
def test_divisions_of_negative_numbers(tegula, expression, is_found):
    body = f"def k(y, n):\n    i = tl.arange(0, 8)\n    tl.store(y + i, {expression} + i)\n"
    rows = found(tegula, body, "--signature", "y=*i32,n=i32")
    assert [kind for kind, _ in rows] == (["NegativeDivision"] if is_found else [])


MASK = """def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = {mask}
    tl.store(y + i, i{store})
    tl.store(x, n)
"""


@pytest.mark.parametrize("mask, store, lines", [
    ("i < n", "", ["inside = i < n"]), ("(i < n) & (i > 1)", "", ["inside = (i < n) & (i > 1)"]),
    ("i < n", ", mask=inside", []), ("i < n", ", mask=i < n", []), ("n + 1", "", [])])
def test_a_mask_that_is_never_used(tegula, mask, store, lines):
    assert found(tegula, MASK.format(mask=mask, store=store), *SIGNATURE) == [("UnusedMask", line) for line in lines]


def test_a_mask_of_another_specialization(tegula):
    body = ("def k(x, y, n, EVEN: tl.constexpr):\n    i = tl.arange(0, 8)\n    inside = i < n\n    if EVEN:\n        tl.store(y + i, i)\n"
            "    else:\n        tl.store(y + i, i, mask=inside)\n")
    assert found(tegula, body, "--signature", "x=*f32,y=*f32,n=i32,EVEN=True") == []


def test_findings_that_are_allowed(tegula):
    body = TAIL.format(load="", store="").replace("+ i)", "+ i)  # tegula: allow(OffsetOverflow, TailWithoutMask)")
    assert found(tegula, body, *SIGNATURE) == [("TailWithoutMask", "tl.store(y + i, v)")]
    body = TAIL.format(load="", store="").replace("+ i)", "+ i)  # tegula: allow(OffsetOverflow)")
    assert len(found(tegula, body, *SIGNATURE)) == 2


def test_findings_as_json(tegula, add_file):
    (tegula.folder / "k.py").write_text(HEAD + TAIL.format(load="", store=", mask=i < n"))
    done = tegula("check", "k.py::k", "--json", *SIGNATURE)
    row = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == ""
    assert (row["severity"], row["kind"], row["line"]) == ("warning", "TailWithoutMask", 8) and "line 9" in row["message"]


def test_what_is_not_a_check_of_a_kernel(tegula, add_file):
    assert tegula("check", "add.py::add").returncode == 2
    assert tegula("check", "add.py", *SIGNATURE).returncode == 2
    assert tegula("check", "add.py::add", *SIGNATURE, "--arg", "n=4").returncode == 2
    done = tegula("check", "add.py::add", "--signature", "x_ptr=*f32")
    assert done.returncode == 1 and "[ArgumentMissing]" in done.stderr or "[MissingArgument]" in done.stderr
