"""Ops of which GPUs of different generations have different instructions, assembled; no GPU is needed."""
from pathlib import Path
import subprocess

import pytest

OPS = Path(__file__).resolve().parents[1] / "ops"
KERNELS = [
    *(("test_atomic", "rmw_kernel", f"x_ptr=*{t},value_ptr=*{t},old_ptr=*{t},n=i32,OP='{op}',BLOCK={block}")
      for op, t, block in [("add", "f16", 31), ("add", "bf16", 31), ("add", "f64", 64), ("add", "i64", 1000), ("max", "f32", 64),
                           ("min", "u64", 300), ("xor", "i32", 1), ("xchg", "f64", 64)]),
    ("test_atomic", "scalar_kernel", "x_ptr=*i32,old_ptr=*i32"),
    ("test_atomic", "sum_kernel", "x_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=128"),
    *(("test_atomic", "accumulate_kernel", f"x_ptr=*{t}:16,value_ptr=*{t}:16,n=i32:16,SEM='{sem}',BLOCK=1024")
      for t, sem in [("f16", "relaxed"), ("bf16", "acq_rel"), ("f32", "release"), ("f32", "acquire")]),
    *(("test_atomic", "cas_kernel", f"x_ptr=*{t},old_ptr=*{t},BLOCK=40") for t in ("i16", "f32", "i64")),
    ("test_atomic", "lock_kernel", "lock_ptr=*i32,x_ptr=*f32,out_ptr=*f32,SEM='release'"),
    *(("test_scan", "scan_1d_kernel", f"x_ptr=*{t}:16,out_ptr=*{t}:16,OP='{op}',REVERSE={reverse},BLOCK={block}")
      for op, t, reverse, block in [("sum", "i8", False, 60), ("prod", "f64", True, 1000), ("sum", "bf16", True, 4096)]),
    ("test_scan", "linear_kernel", "scale_ptr=*i32,shift_ptr=*i32,out_scale_ptr=*i32,out_shift_ptr=*i32,REVERSE=True,BLOCK=1024"),
    ("test_scan", "histogram_kernel", "x_ptr=*i64,out_ptr=*i32,n=i32,BINS=200,BLOCK=512"),
    *(("test_indexing", "cat_kernel", f"x_ptr=*{t},y_ptr=*{t},out_ptr=*{t},DIM={dim},R=16,C={c},N={n}")
      for t, dim, c, n in [("i8", 0, 7, 16), ("f64", 1, 32, 32), ("f16", 1, 5, 3)]),
    *(("test_debug", "print_2d_kernel", f"x_ptr=*{t},R=2,C=64") for t in ("fp8e5", "bf16", "i64", "i8")),
    ("test_debug", "types_kernel", "p_ptr=*f32,i=i32,u=u32,f=f32,B=1"),
    ("test_debug", "assert_kernel", "x_ptr=*f32,out_ptr=*f32,n=i32,BLOCK=256"),
    ("test_debug", "asm_kernel", "x_ptr=*f32,out_ptr=*f32,BLOCK=512"),
    ("test_debug", "packed_asm_kernel", "x_ptr=*u8,out_ptr=*u8,BLOCK=1024"),
]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("file, kernel, signature", KERNELS, ids=[f"{k}-{s}" for _, k, s in KERNELS])
def test_assembles(build_dir, tmp_path, file, kernel, signature, arch):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{OPS / file}.py::{kernel}", "--target", arch,
                           "--signature", signature, "--debug", "--emit", "cubin", "-o", tmp_path / "kernel.cubin"],
                          capture_output=True, text=True, timeout=120)
    if "assembler" in done.stderr and "TEGULA_PTXAS" in done.stderr:
        pytest.skip(f"there is no assembler here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"
