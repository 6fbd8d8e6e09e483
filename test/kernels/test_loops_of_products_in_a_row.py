"""Loops of products that follow other loops, branches and each other: right, and the assembler leaves their products asynchronous."""
import re
import shutil
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
ASSEMBLER = shutil.which("ptxas")
D = 64


@triton.jit
def scaled_then_attention_kernel(a, b, q, k, v, out, n1, n2, BN: tl.constexpr, D: tl.constexpr):
    """The first loop computes with its product, the second one hands it on; both copy tiles of the same sizes."""
    i, j, d = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    bias = tl.zeros([128, BN], tl.float32)
    for t in range(0, n1):
        y = tl.load(b + (t * D + d)[:, None] * BN + j[None, :])
        bias += tl.dot(tl.load(a + i[:, None] * 512 + (t * D + d)[None, :]), y) * 2.0
    acc = tl.zeros([128, D], tl.float32)
    for t in range(0, n2):
        s = tl.dot(x, tl.load(k + d[:, None] + (t * BN + j)[None, :] * D))
        s = tl.minimum(tl.maximum(s + bias, -2.0), 2.0).to(tl.float16)
        acc += tl.dot(s, tl.load(v + (t * BN + j)[:, None] * D + d[None, :]))
    tl.store(out + i[:, None] * D + d[None, :], acc)


@triton.jit
def attention_kernel(q, k, v, first, out, n1, n2, FORM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """First sums from several places, and trips that use the sums before their scores are there."""
    i, j, d = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    acc = tl.zeros([128, D], tl.float32)
    if FORM == "branch":
        if n1 > 0:
            acc = tl.load(first + i[:, None] * D + d[None, :])
    elif FORM == "loads":
        for t in range(0, n1):
            acc += tl.load(first + i[:, None] * D + d[None, :])
    elif FORM == "products":
        for t in range(0, n1):
            p = tl.minimum(tl.dot(x, tl.load(k + d[:, None] + (t * BN + j)[None, :] * D)), 2.0).to(tl.float16)
            acc += tl.dot(p, tl.load(v + (t * BN + j)[:, None] * D + d[None, :])) * 2.0
    for t in range(0, n2):
        s = tl.dot(x, tl.load(k + d[:, None] + (t * BN + j)[None, :] * D))
        p = tl.minimum(s, 2.0).to(tl.float16)
        if FORM == "decay":
            acc = acc * 0.5
        elif FORM == "decay of rows":
            acc = acc * tl.load(first + i * D)[:, None]
        acc = tl.dot(p, tl.load(v + (t * BN + j)[:, None] * D + d[None, :]), acc)
    tl.store(out + i[:, None] * D + d[None, :], acc)


@triton.jit
def product_kernel(a, b, first, out, n1, n2, BN: tl.constexpr, BK: tl.constexpr):
    """A product that begins with a bias under a condition."""
    i, j, k = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([128, BN], tl.float32)
    if n1 > 0:
        acc = tl.load(first + i[:, None] * BN + j[None, :])
    for t in range(0, n2):
        acc = tl.dot(tl.load(a + i[:, None] * 512 + (t * BK + k)[None, :]), tl.load(b + (t * BK + k)[:, None] * BN + j[None, :]), acc)
    tl.store(out + i[:, None] * BN + j[None, :], acc)


@triton.jit
def places_kernel(a, b, out, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two sums that change places in each trip."""
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    one, two = tl.zeros([BM, BN], tl.float32), tl.full([BM, BN], 1.0, tl.float32)
    for t in range(0, n):
        x = tl.load(a + i[:, None] * 512 + (t * BK + k)[None, :])
        y = tl.load(b + (t * BK + k)[:, None] * BN + j[None, :])
        one, two = two, tl.dot(x, y, one)
    tl.store(out + i[:, None] * BN + j[None, :], one * 3 - two)


FORMS = ["branch", "loads", "products", "decay", "decay of rows"]


def integers(*shape, seed, span=2):
    return torch.randint(-span, span + 1, shape, generator=torch.Generator().manual_seed(seed)).half()


def on(target, *tensors):
    return [tensor.to("cuda" if target == "cuda" else "cpu") for tensor in tensors]


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("n1, n2", [(0, 2), (1, 1), (2, 0), (3, 3), (5, 4), (4, 5)])
def test_a_loop_does_not_go_on_in_the_slots_of_one_that_waits_for_its_products(target, n1, n2, stages):
    a, b, q, k, v = (integers(*shape, seed=seed) for seed, shape in enumerate([(128, 512), (512, 128), (128, D), (1024, D), (1024, D)]))
    bias = 2 * a[:, :n1 * D].float() @ b[:n1 * D].float()
    expected = torch.zeros(128, D)
    for t in range(n2):
        s = (q.float() @ k[t * 128:(t + 1) * 128].float().T + bias).clamp(-2, 2)
        expected += s @ v[t * 128:(t + 1) * 128].float()
    *moved, out = on(target, a, b, q, k, v, torch.zeros(128, D))
    scaled_then_attention_kernel[(1,)](*moved, out, n1, n2, BN=128, D=D, num_warps=8, num_stages=stages)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n1, n2", [(0, 3), (2, 0), (3, 4)])
def test_sums_of_several_ways_and_sums_that_decay(target, form, n1, n2):
    q, k, v = (integers(*shape, seed=seed) for seed, shape in enumerate([(128, D), (1024, D), (1024, D)]))
    first = integers(128, D, seed=3).float()

    def trip(t):
        return (q.float() @ k[t * 128:(t + 1) * 128].float().T).clamp(max=2) @ v[t * 128:(t + 1) * 128].float()

    expected = torch.zeros(128, D)
    for t in range(n1):
        expected = first if form == "branch" else expected + (first if form == "loads" else 2 * trip(t) if form == "products" else 0)
    for t in range(n2):
        expected = expected * (0.5 if form == "decay" else first[:, :1] if form == "decay of rows" else 1) + trip(t)
    *moved, out = on(target, q, k, v, first, torch.zeros(128, D))
    attention_kernel[(1,)](*moved, out, n1, n2, FORM=form, BN=128, D=D, num_warps=8, num_stages=3)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("rows, columns, warps, stages", [(128, 128, 8, 3), (64, 64, 4, 3), (128, 64, 4, 2), (64, 128, 4, 1)])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_sums_change_places(target, n, rows, columns, warps, stages):
    a, b = integers(rows, 512, seed=1), integers(512, columns, seed=2)
    one, two = torch.zeros(rows, columns), torch.ones(rows, columns)
    for t in range(n):
        one, two = two, one + a[:, t * 64:(t + 1) * 64].float() @ b[t * 64:(t + 1) * 64].float()
    *moved, out = on(target, a, b, torch.zeros(rows, columns))
    places_kernel[(1,)](*moved, out, n, BM=rows, BN=columns, BK=64, num_warps=warps, num_stages=stages)
    assert torch.equal(out.cpu(), one * 3 - two)


def notes(build_dir, folder, kernel, signature, warps):
    """Returns the assembler's notes about a kernel of this file."""
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", str(warps), "--num-stages", "3", "--emit", "ptx", "-o", folder / "code.ptx"], check=True, timeout=120)
    assert "wgmma.mma_async" in (folder / "code.ptx").read_text()
    done = subprocess.run([ASSEMBLER, "-arch=sm_90a", "-v", folder / "code.ptx", "-o", folder / "code.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns, warps", [(128, 8), (64, 4)])
def test_the_assembler_leaves_attention_asynchronous(build_dir, tmp_path, form, columns, warps):
    signature = f"q=*f16:16,k=*f16:16,v=*f16:16,first=*f32:16,out=*f32:16,n1=i32,n2=i32,FORM='{form}',BN={columns},D={D}"
    assert not re.search(r"C75\d\d", said := notes(build_dir, tmp_path, "attention_kernel", signature, warps)), said


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("columns, warps", [(256, 8), (128, 8), (128, 4)])
def test_the_assembler_leaves_a_product_behind_a_branch_asynchronous(build_dir, tmp_path, columns, warps):
    signature = f"a=*f16:16,b=*f16:16,first=*f32:16,out=*f32:16,n1=i32,n2=i32,BN={columns},BK=64"
    assert not re.search(r"C75\d\d", said := notes(build_dir, tmp_path, "product_kernel", signature, warps)), said
