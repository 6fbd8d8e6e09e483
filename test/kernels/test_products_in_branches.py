"""Products in branches of a loop, whose factors were loaded ahead of the branch, run on several warps like others: right, and asynchronous."""
import re
import shutil
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
ASSEMBLER = shutil.which("ptxas")
BK, LENGTH = 64, 512


@triton.jit
def product_kernel(a, b, keep, out, n, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Trips that `keep` names multiply; of the others each form does something else."""
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for t in range(0, n):
        x = tl.load(a + i[:, None] * 512 + (t * BK + k)[None, :])
        y = tl.load(b + (t * BK + k)[:, None] * BN + j[None, :])
        kind = tl.load(keep + t)
        if FORM == "skipped":
            if kind != 0:
                acc = tl.dot(x, y, acc)
        elif FORM == "either way":
            if kind != 0:
                acc = tl.dot(x, y, acc)
            else:
                acc = tl.dot(x, y, acc * 2)
        elif FORM == "also outside":
            acc = tl.dot(x, y, acc)
            if kind != 0:
                acc = tl.dot(x, y, acc)
        elif FORM == "nested":
            if kind != 0:
                if kind > 1:
                    acc = tl.dot(x, y, acc)
                acc += 1
        elif FORM == "scaled":
            if kind != 0:
                acc += tl.dot(x, y) * 2
    tl.store(out + i[:, None] * BN + j[None, :], acc)


@triton.jit
def attention_kernel(q, k, v, keep, out, n, BN: tl.constexpr, D: tl.constexpr):
    """Scores are always computed; weights and values are multiplied where `keep` says so."""
    i, j, d = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    acc = tl.zeros([128, D], tl.float32)
    for t in range(0, n):
        keys = tl.load(k + d[:, None] + (t * BN + j)[None, :] * D)
        values = tl.load(v + (t * BN + j)[:, None] * D + d[None, :])
        s = tl.dot(x, keys)
        p = tl.minimum(s, 2.0).to(tl.float16)
        if tl.load(keep + t) != 0:
            acc = tl.dot(p, values, acc)
    tl.store(out + i[:, None] * D + d[None, :], acc)


FORMS = ["skipped", "either way", "also outside", "nested", "scaled"]
KEEP = torch.tensor([1, 0, 2, 2, 0, 0, 1, 2], dtype=torch.int32)


def integers(*shape, seed, span=2):
    return torch.randint(-span, span + 1, shape, generator=torch.Generator().manual_seed(seed)).half()


def on(target, *tensors):
    return [tensor.to("cuda" if target == "cuda" else "cpu") for tensor in tensors]


def sums(form, acc, product, kind):
    if form == "skipped":
        return acc + product if kind else acc
    if form == "either way":
        return acc + product if kind else acc * 2 + product
    if form == "also outside":
        return acc + product * (2 if kind else 1)
    if form == "nested":
        return acc + (product if kind > 1 else 0) + 1 if kind else acc
    return acc + 2 * product if kind else acc


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("rows, columns, warps, stages", [(128, 128, 8, 3), (64, 64, 4, 4), (128, 64, 4, 1)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [0, 1, 8])
def test_products_in_branches(target, form, rows, columns, warps, stages, n):
    a, b = integers(rows, LENGTH, seed=1), integers(LENGTH, columns, seed=2)
    expected = torch.zeros(rows, columns)
    for t in range(n):
        product = a[:, t * BK:(t + 1) * BK].float() @ b[t * BK:(t + 1) * BK].float()
        expected = sums(form, expected, product, int(KEEP[t]))
    *moved, out = on(target, a, b, KEEP, torch.zeros(rows, columns))
    product_kernel[(1,)](*moved, out, n, FORM=form, BM=rows, BN=columns, BK=BK, num_warps=warps, num_stages=stages)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("columns, head, warps, stages", [(128, 128, 8, 2), (64, 64, 4, 3)])
@pytest.mark.parametrize("n", [1, 8])
def test_weights_and_values_in_a_branch(target, columns, head, warps, stages, n):
    q, k, v = integers(128, head, seed=1), integers(n * columns, head, seed=2), integers(n * columns, head, seed=3)
    expected = torch.zeros(128, head)
    for t in range(n):
        if KEEP[t]:
            p = (q.float() @ k[t * columns:(t + 1) * columns].float().T).clamp(max=2).half()
            expected += p.float() @ v[t * columns:(t + 1) * columns].float()
    *moved, out = on(target, q, k, v, KEEP, torch.zeros(128, head))
    attention_kernel[(1,)](*moved, out, n, BN=columns, D=head, num_warps=warps, num_stages=stages)
    assert torch.equal(out.cpu(), expected)


def code_of(build_dir, folder, kernel, signature, warps, stages):
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", str(warps), "--num-stages", str(stages), "--emit", "ptx", "-o", folder / "code.ptx"], check=True, timeout=120)
    return (folder / "code.ptx").read_text()


def notes(folder):
    done = subprocess.run([ASSEMBLER, "-arch=sm_90a", "-v", folder / "code.ptx", "-o", folder / "code.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


CASES = [("product_kernel", f"a=*f16:16,b=*f16:16,keep=*i32:16,out=*f32:16,n=i32,FORM='{form}',BM={rows},BN={columns},BK={BK}", warps, stages)
         for form in FORMS for rows, columns, warps, stages in [(128, 256, 8, 3), (128, 128, 8, 3), (128, 128, 4, 3), (64, 64, 4, 3)]]
CASES += [("attention_kernel", f"q=*f16:16,k=*f16:16,v=*f16:16,keep=*i32:16,out=*f32:16,n=i32,BN={columns},D={head}", warps, stages)
          for columns, head, warps, stages in [(128, 128, 8, 2), (64, 128, 8, 3), (64, 64, 4, 3)]]


@pytest.mark.parametrize("kernel, signature, warps, stages", CASES)
def test_products_in_branches_run_on_several_warps(build_dir, tmp_path, kernel, signature, warps, stages):
    text = code_of(build_dir, tmp_path, kernel, signature, warps, stages)
    assert "wgmma.mma_async" in text and "mma.sync" not in text.replace("wgmma", "")
    if ASSEMBLER:
        said = notes(tmp_path)
        assert not re.search(r"C75\d\d", said), said
