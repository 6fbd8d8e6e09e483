"""Every example kernel, assembled for GPUs of several generations; no GPU is needed."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "bench"))
from compile_time import KERNELS

INT3 = "packed_ptr=*u8:16,scale_ptr=*f16:16,x_ptr=*f16:16,y_ptr=*f16:16,N=i32:16,K=i32:16,BLOCK_N=4,GROUPS=2"
SIGNATURES = {kernel: signature for kernel, (signature, aim) in KERNELS.items()} | {
    f"gemv_int3::gemv_int3_{form}_kernel": INT3 for form in ("scatter", "gather", "join", "typed")}
ARCHITECTURES = ["sm_80", "sm_90a", "sm_120"]


def compile_kernel(build_dir, kernel, arch, emit, path):
    file, name = kernel.split("::")
    return subprocess.run([build_dir / "bin" / "tegula", "compile", f"{ROOT / 'examples' / 'kernels' / file}.py::{name}",
                           "--target", arch, "--signature", SIGNATURES[kernel], "--emit", emit, "-o", path],
                          capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("kernel", list(SIGNATURES), ids=lambda k: k.split("::")[1])
def test_assembles(build_dir, tmp_path, kernel, arch):
    done = compile_kernel(build_dir, kernel, arch, "cubin", tmp_path / "kernel.cubin")
    if refused := re.search(r"the NVIDIA target has no .*", done.stderr):
        pytest.skip(f"refused: {refused[0]}")
    if "assembler" in done.stderr and "TEGULA_PTXAS" in done.stderr:
        pytest.skip(f"there is no assembler here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"


def test_a_kernel_is_found_by_its_name(build_dir, tmp_path):
    done = compile_kernel(build_dir, "softmax::softmax_kernel", "sm_90a", "ptx", tmp_path / "kernel.ptx")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "kernel.ptx").read_text()
    assert ".target sm_90a" in text and ".entry softmax_kernel" in text.replace(".visible ", "")


def test_a_kernel_that_spills_has_all_registers(build_dir, tmp_path):
    """The assembler gives such a kernel as few as let the most programs run, and spills the rest: 64 of 255 with one warp."""
    source = tmp_path / "held.py"
    source.write_text("import tegula.language as tl\nfrom tegula import jit\n\n\n@jit\ndef held(x, y, n):\n    i = tl.arange(0, 8192)\n"
                      "    a, b = tl.load(x + i), tl.load(y + i)\n    for _ in range(n):\n        a, b = a * 1.5 - b * a, b * a + 2.0\n"
                      "    tl.store(x + i, a)\n    tl.store(y + i, b)\n")
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{source}::held", "--signature", "x=*f32:16,y=*f32:16,n=i32", "--target", "sm_90a",
                           "--options", "num_warps=1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    usage = re.search(r"usage: (\d+) registers a thread, (none|\d+)", done.stdout)
    if not usage:
        pytest.skip("there is no assembler here")
    assert usage[2] != "none" and int(usage[1]) > 200, usage[0]
