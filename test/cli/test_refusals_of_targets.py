"""A target refuses what it cannot do as any mistake is: the place in the source, the reason, a hint."""
import re
import shutil

import pytest

HEAD = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def moved(x):
    return tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x], tl.int32, True, 1)


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(p + i)
    y = tl.load(q + i)
"""
LINE = HEAD.count("\n") + 1
CASES = {
    # name: (signature, body, target, place of the caret, reason, hint)
    "inline assembly on the CPU": ("p=*i32,q=*i32", "    z = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x], tl.int32, "
                                   "True, 1)\n    tl.store(q + i, z)\n", "cpu", f"{LINE}:9", "inline assembly", "constexpr"),
    "in a helper": ("p=*i32,q=*i32", "    tl.store(q + i, moved(x))\n", "cpu", "8:12", "inline assembly", "constexpr"),
}


@pytest.mark.parametrize("case", CASES)
def test_refusal_has_place_reason_and_hint(tegula, tmp_path, case):
    signature, body, target, place, reason, hint = CASES[case]
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + body)
    done = tegula("compile", f"{path}::kernel", "--target", target, "--signature", signature, "--emit", "ttir")
    assert done.returncode == 1, done.stdout
    assert f"{path}:{place}: error: " in done.stderr and reason in done.stderr, done.stderr
    assert re.search(rf"^ *hint: .*{re.escape(hint)}", done.stderr, re.M), done.stderr
    assert "loc(" not in done.stderr and "; hint" not in done.stderr


@pytest.mark.skipif(not shutil.which("ptxas"), reason="needs an assembler")
@pytest.mark.parametrize("body, place", [("    z = tl.inline_asm_elementwise('moof.b32 $0, $1;', '=r,r', [x], tl.int32, True, 1)\n    tl.store(q + i, z)\n", f"{LINE}:9"),
                                         ("    tl.store(q + i, moved(x))\n", "8:12")], ids=["in the kernel", "in a helper"])
def test_an_error_of_the_assembler_is_where_its_line_comes_from(tegula, tmp_path, body, place):
    path = tmp_path / "kernel.py"
    path.write_text((HEAD + body).replace("'mov.b32", "'moof.b32"))
    done = tegula("compile", f"{path}::kernel", "--target", "sm_90a", "--signature", "p=*i32,q=*i32", "--emit", "ptx", env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 1, done.stdout
    assert f"{path}:{place}: error: target `sm_90a`: the assembler refuses the kernel" in done.stderr and "moof" in done.stderr, done.stderr
