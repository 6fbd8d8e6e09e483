"""Scattered loads of a vector that meets a tile: each element is loaded once a program, not once a warp and a register."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def taps_kernel(x, w, out, COLUMNS, TAPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of a row's predecessors, each column by weights of its own, which lie tap by tap."""
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for tap in tl.static_range(TAPS):
        at = rows - (TAPS - 1) + tap
        values = tl.load(x + at[:, None] * COLUMNS + columns[None, :], mask=(at >= 0)[:, None], other=0.0)
        total += values.to(tl.float32) * tl.load(w + columns * TAPS + tap).to(tl.float32)[None, :]
    tl.store(out + rows[:, None] * COLUMNS + columns[None, :], total)


@pytest.mark.parametrize("taps", [1, 4])
@pytest.mark.parametrize("rows, block, warps", [(8, 256, 4), (16, 128, 4), (64, 32, 4), (4, 16, 1)])
def test_sums_of_taps(target, rows, block, warps, taps):
    g = torch.Generator().manual_seed(rows)
    x, w = torch.randint(-8, 9, (2 * rows, 2 * block), generator=g).bfloat16(), torch.randint(-8, 9, (2 * block, taps), generator=g).bfloat16()
    out = torch.full((2 * rows, 2 * block), float("nan"))
    taps_kernel[(2, 2)](x, w, out, 2 * block, taps, rows, block, num_warps=warps)
    before = torch.cat([torch.zeros(taps - 1, 2 * block), x.float()])
    assert torch.equal(out, sum(before[tap:tap + 2 * rows] * w[:, tap].float() for tap in range(taps)))


@pytest.mark.parametrize("rows, block", [(8, 256), (16, 128)])
def test_each_element_is_loaded_once(build_dir, rows, block):
    text = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::taps_kernel", "--target", "sm_90a", "--signature",
                           f"x=*bf16:16,w=*bf16:16,out=*f32:16,COLUMNS=i32:16,TAPS=4,ROWS={rows},BLOCK={block}", "--emit", "ptx"],
                          capture_output=True, text=True, check=True, timeout=120).stdout
    # Four taps of each column as two pairs, of a word each.
    assert len(re.findall(r"ld\.global\.b32", text)) == 2 * max(1, block // 128)
