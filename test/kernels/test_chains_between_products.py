"""A trip that computes between its products has registers to do so side by side; products alone keep what the assembler gives them."""
import re
import shutil
import subprocess

import pytest

import tegula
import tegula.language as tl


@tegula.jit
def layers_kernel(x, w, v, out, hidden, BETWEEN: tl.constexpr, BEHIND: tl.constexpr):
    row, place = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 32)
    a = tl.load(x + row[:, None] * 32 + place[None, :])
    sums = tl.zeros((64, 32), tl.float32)
    for start in range(0, hidden, 32):
        b = tl.load(w + place[:, None] * hidden + (start + place)[None, :])
        c = tl.load(v + (start + place)[:, None] * 32 + place[None, :])
        h = tl.dot(a, b)
        if BETWEEN:
            h = h * tl.sigmoid(h)
        sums = tl.dot(h.to(c.dtype), c, sums)
    if BEHIND:
        sums = sums * tl.sigmoid(sums)
    tl.store(out + row[:, None] * 32 + place[None, :], sums)


@tegula.jit
def walk_kernel(x, w, out, depth, tiles, programs):
    row, place = tl.arange(0, 32), tl.arange(0, 32)
    for tile in range(tl.program_id(0), tiles, programs):
        sums = tl.zeros((32, 32), tl.float32)
        for start in range(0, depth, 32):
            a = tl.load(x + (tile * 32 + row)[:, None] * depth + (start + place)[None, :])
            b = tl.load(w + (start + place)[:, None] * 32 + place[None, :])
            sums = tl.dot(a, b, sums)
        sums = sums * tl.sigmoid(sums)
        tl.store(out + (tile * 32 + row)[:, None] * 32 + place[None, :], sums)


LAYERS = "x=*f16:16,w=*f16:16,v=*f16:16,out=*f32:16,hidden=i32:16"


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no assembler here")
@pytest.mark.parametrize("kernel, signature, warps, bound", [
    ("layers_kernel", f"{LAYERS},BETWEEN=True,BEHIND=False", 2, ["255"]),
    ("layers_kernel", f"{LAYERS},BETWEEN=False,BEHIND=True", 2, []),
    ("layers_kernel", f"{LAYERS},BETWEEN=True,BEHIND=False", 8, []),
    ("walk_kernel", "x=*f16:16,w=*f16:16,out=*f32:16,depth=i32:16,tiles=i32,programs=i32", 2, []),
])
def test_a_chain_between_products_has_all_registers(build_dir, tmp_path, kernel, signature, warps, bound):
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", str(warps), "--emit", "ptx", "-o", tmp_path / "code.ptx"], check=True, timeout=120)
    assert re.findall(r"\.maxnreg (\d+)", (tmp_path / "code.ptx").read_text()) == bound
