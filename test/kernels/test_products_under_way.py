"""The assembler leaves the registers of products under way alone (test/machine_code.py); no GPU is needed."""
from pathlib import Path

import pytest

import machine_code

SPELLINGS = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "spellings"

TWO_LOOPS = ("Q=*f16:16,K=*f16:16,V=*f16:16,Out=*f16:16,sm_scale=f32," + ",".join(f"stride_{x}{d}=i32:16" for x, ds in (
    ("q", "zhm"), ("k", "zhn"), ("v", "zhn"), ("o", "zhm")) for d in ds) + ",H=i32:16,N_CTX=i32:16,EVEN=1")
ONE_LOOP = "q_ptr=*f16:16,k_ptr=*f16:16,v_ptr=*f16:16,o_ptr=*f16:16,scale=f32,LENGTH=i32:16"
MATMUL = ",".join(f"{x}_ptr=*f16:16" for x in "abc") + "," + ",".join(f"{n}=i32:16" for n in "MNK") + "," + ",".join(
    f"stride_{n}=i32" + ("" if n in ("ak", "bn", "cn") else ":16") for n in ("am", "ak", "bk", "bn", "cm", "cn"))
# Tile, head, warps, stages.
ATTENTION = [(64, 64, 64, 4, 3), (128, 64, 64, 4, 3), (128, 64, 64, 8, 3), (128, 128, 64, 8, 2),
             (64, 64, 128, 4, 3), (128, 64, 128, 8, 3), (128, 128, 128, 8, 2), (64, 64, 128, 4, 2)]
PRODUCTS = [(64, 64, 32, 4, 3), (128, 128, 32, 4, 4), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3)]
CASES = [("attention_plain.py::two_loops_kernel", f"{TWO_LOOPS},BLOCK_M={m},BLOCK_N={n},HEAD_DIM={head},CAUSAL={causal}", warps, stages)
         for m, n, head, warps, stages in ATTENTION for causal in (0, 1)]
CASES += [("attention_plain.py::one_loop_kernel", f"{ONE_LOOP},BLOCK_M={m},BLOCK_N={n},D={head},CAUSAL=1", warps, stages)
          for m, n, head, warps, stages in ATTENTION]
CASES += [("matmul_plain.py::wrapped_kernel", f"{MATMUL},BLOCK_M={m},BLOCK_N={n},BLOCK_K={k},GROUP_M=8", warps, stages)
          for m, n, k, warps, stages in PRODUCTS]


@pytest.mark.parametrize("kernel, signature, warps, stages", CASES)
def test_no_instruction_touches_their_registers(build_dir, kernel, signature, warps, stages):
    text = machine_code.of_kernel(build_dir, SPELLINGS / kernel, signature, "--num-warps", warps, "--num-stages", stages)
    assert "HGMMA" in text and machine_code.faults(text) == []


def code(*lines):
    return "\n".join(line if line.endswith(":") else f"        /*{16 * i:04x}*/   {line} ;" for i, line in enumerate(lines))


START = ("HGMMA.64x16x16.F32 R24, R8, gdesc[UR4], RZ, !UPT", "HGMMA.64x16x16.F32 R24, R12, gdesc[UR4], R24, gsb0")
WAIT = "WARPGROUP.DEPBAR.LE gsb0, 0x0"


@pytest.mark.parametrize("touching", ["FADD R5, R31, R6", "STG.E.64 desc[UR4][R2.64], R30", "MOV R25, RZ", "LDS.128 R12, [R3]",
                                      "HGMMA.64x16x16.F32 R40, R24, gdesc[UR4], RZ, !UPT"])
def test_what_touches_them_is_found(touching):
    assert machine_code.faults(code(*START, touching, WAIT, "EXIT"))
    assert not machine_code.faults(code(*START, WAIT, touching, WAIT, "EXIT"))
    around = code(*START, "@P0 BRA `(.L_x_1)", WAIT, ".L_x_1:", touching, WAIT, "EXIT")
    assert machine_code.faults(around) and not machine_code.faults(around.replace("@P0 ", "").replace("BRA `(.L_x_1)", "NOP"))


@pytest.mark.parametrize("harmless", ["FADD R5, R32, R6", "STG.E desc[UR4][R2.64], R8", "LDGSTS.E.BYPASS.128 [R21], desc[UR4][R22.64]",
                                      "HGMMA.64x16x16.F32 R24, R16, gdesc[UR4], R24, gsb0"])
def test_what_leaves_them_alone_is_not(harmless):
    assert not machine_code.faults(code(*START, harmless, WAIT, "EXIT"))
