"""A loop whose loads find no room beside each other takes more registers, so that several are under way, as long as many warps run."""
import re
import shutil
import subprocess

import pytest

import tegula
import tegula.language as tl


@tegula.jit
def row_kernel(w, b, a, out, columns, rank, BLOCK: tl.constexpr, R: tl.constexpr):
    row, total = tl.program_id(0), tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        sums = tl.load(w + row * columns + c, mask=c < columns, other=0.0).to(tl.float32)
        for r in tl.static_range(R):
            sums += tl.load(b + row * rank + r, mask=r < rank, other=0.0).to(tl.float32) * tl.load(
                a + r * columns + c, mask=(c < columns) & (r < rank), other=0.0).to(tl.float32)
        total += sums * sums
    tl.store(out + row, tl.sum(total))


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no assembler here")
@pytest.mark.parametrize("ranks, bound", [(16, ["64"]), (2, [])])  # 34 loads of 16 bytes a trip, and 6
def test_several_are_under_way(build_dir, tmp_path, ranks, bound):
    signature = f"w=*bf16:16,b=*bf16:16,a=*bf16:16,out=*f32:16,columns=i32:16,rank=i32:16,BLOCK=2048,R={ranks}"
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::row_kernel", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", "4", "--emit", "ptx", "-o", tmp_path / "code.ptx"], check=True, timeout=120)
    assert re.findall(r"\.maxnreg (\d+)", (tmp_path / "code.ptx").read_text()) == bound
