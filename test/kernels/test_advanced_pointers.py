"""Block pointers and scalar pointers that a loop advances: base and carried number, so that boxes, wide accesses and no barriers follow."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]


@triton.jit
def product_kernel(x_ptr, w_ptr, y_ptr, M, N, K, sx, sw, sy, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    x = tl.make_block_ptr(x_ptr, (M, K), (sx, 1), (row, 0), (BM, BK), (1, 0))
    w = tl.make_block_ptr(w_ptr, (K, N), (sw, 1), (0, col), (BK, BN), (1, 0))
    acc = tl.zeros([BM, BN], tl.float32)
    if FORM == "two loops":  # the second one goes on where the first one has ended
        for k in range(0, BK, BK):
            acc = tl.dot(tl.load(x, boundary_check=(0, 1)), tl.load(w, boundary_check=(0, 1)), acc)
            x, w = tl.advance(x, (0, BK)), tl.advance(w, (BK, 0))
        for k in range(BK, K, BK):
            acc = tl.dot(tl.load(x, boundary_check=(0, 1)), tl.load(w, boundary_check=(0, 1)), acc)
            x, w = tl.advance(x, (0, BK)), tl.advance(w, (BK, 0))
    elif FORM == "backwards":
        last = tl.cdiv(K, BK) - 1
        x, w = tl.advance(x, (0, last * BK)), tl.advance(w, (last * BK, 0))
        for k in range(0, K, BK):
            acc = tl.dot(tl.load(x, boundary_check=(0, 1)), tl.load(w, boundary_check=(0, 1)), acc)
            x, w = x.advance((0, -BK)), w.advance((-BK, 0))
    else:
        for k in range(0, K, BK):
            acc = tl.dot(tl.load(x, boundary_check=(0, 1)), tl.load(w, boundary_check=(0, 1)), acc)
            x, w = x.advance((0, BK)), w.advance((BK, 0))
    y = tl.make_block_ptr(y_ptr, (M, N), (sy, 1), (row, col), (BM, BN), (1, 0))
    tl.store(y, acc.to(tl.float16), boundary_check=(0, 1))


@triton.jit
def rows_kernel(x_ptr, y_ptr, n, rows, FORM: tl.constexpr, B: tl.constexpr):
    """Scalar pointers that walk over rows, or along one."""
    i = tl.arange(0, B)
    if FORM == "rows":
        for row in range(0, rows):
            tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0) * 2, mask=i < n)
            x_ptr += n
            y_ptr += n
    elif FORM == "along":
        for at in range(0, rows * n, B):
            tl.store(y_ptr + i, tl.load(x_ptr + i, mask=at + i < rows * n, other=0) * 2, mask=at + i < rows * n)
            x_ptr += B
            y_ptr += B
    else:  # by a number that each trip loads
        for row in range(0, rows):
            tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0) * 2, mask=i < n)
            step = tl.load(x_ptr).to(tl.int32) * 0 + n
            x_ptr += step
            y_ptr += step


def integers(*shape, seed, span=2):
    return torch.randint(-span, span + 1, shape, generator=torch.Generator().manual_seed(seed)).half()


def on(target, *tensors):
    return [tensor.to("cuda" if target == "cuda" else "cpu") for tensor in tensors]


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", ["plain", "two loops", "backwards"])
@pytest.mark.parametrize("m, n, k", [(128, 256, 256), (72, 136, 104), (200, 264, 64)])
@pytest.mark.parametrize("bm, bn, bk, warps, stages", [(128, 256, 64, 8, 3), (64, 64, 32, 4, 2)])
def test_products_by_block_pointers(target, form, m, n, k, bm, bn, bk, warps, stages):
    a, b = integers(m, k, seed=1), integers(k, n, seed=2)
    *moved, c = on(target, a, b, torch.full((m, n), 9.0).half())
    product_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn))](*moved, c, m, n, k, k, n, n, FORM=form, BM=bm, BN=bn, BK=bk, num_warps=warps,
                                                             num_stages=stages)
    assert torch.equal(c.cpu().float(), a.float() @ b.float())


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", ["rows", "along", "loaded"])
@pytest.mark.parametrize("n, rows", [(128, 5), (100, 7), (1, 3), (128, 0)])
def test_pointers_that_walk(target, form, n, rows):
    x = integers(rows * n + 128, seed=3, span=8)
    moved, y = on(target, x, torch.full((rows * n + 128,), 3.0).half())
    rows_kernel[(1,)](moved, y, n, rows, FORM=form, B=128, num_warps=1)
    expected = torch.full((rows * n + 128,), 3.0).half()
    expected[:rows * n] = x[:rows * n] * 2
    assert torch.equal(y.cpu(), expected)


def remarks(build_dir, kernel, signature, warps):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature, "--num-warps",
                           str(warps), "--num-stages", "3"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("form", ["plain", "two loops", "backwards"])
def test_block_pointers_that_advance_are_copied_in_boxes(build_dir, form):
    said = remarks(build_dir, "product_kernel", "x_ptr=*f16:16,w_ptr=*f16:16,y_ptr=*f16:16,M=i32:16,N=i32:16,K=i32:16,sx=i32:16,sw=i32:16,sy=i32:16,"
                   f"FORM='{form}',BM=128,BN=256,BK=64", 8)
    assert "2 loads are copied by one thread in boxes" in said, said


@triton.jit
def in_place_kernel(y_ptr, n, FORM: tl.constexpr, B: tl.constexpr):
    """Each trip adds to what it loads, and the trips meet nowhere, but for the last form."""
    i = tl.arange(0, B)
    if FORM == "blocks":
        for p in range(0, tl.cdiv(n, B)):
            at = y_ptr + p * B + i
            tl.store(at, tl.load(at, mask=p * B + i < n) + 1, mask=p * B + i < n)
    elif FORM == "blocks of an index":
        for p in range(0, tl.cdiv(n, B)):
            o = p * B + i
            tl.store(y_ptr + o, tl.load(y_ptr + o, mask=o < n) + 1, mask=o < n)
    elif FORM == "pointer and index":
        for p in range(0, n, B):
            tl.store(y_ptr + p + i, tl.load(y_ptr + p + i, mask=p + i < n) + 1, mask=p + i < n)
    elif FORM == "pointer":
        for p in range(0, n, B):
            tl.store(y_ptr + i, tl.load(y_ptr + i, mask=p + i < n) + 1, mask=p + i < n)
            y_ptr += B
    else:  # half of a block further
        for p in range(0, tl.cdiv(n, B)):
            o = p * (B // 2) + i
            tl.store(y_ptr + o, tl.load(y_ptr + o, mask=o < n) + 1, mask=o < n)


APART = ["blocks", "blocks of an index", "pointer and index", "pointer"]


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", [*APART, "halves"])
@pytest.mark.parametrize("n", [0, 5, 512, 1500])
def test_trips_in_place(target, form, n):
    y, = on(target, torch.zeros(2048, dtype=torch.int32))
    in_place_kernel[(1,)](y, n, FORM=form, B=512, num_warps=4)
    expected = torch.zeros(2048, dtype=torch.int32)
    for p in range(-(-n // 512)):
        step = 256 if form == "halves" else 512
        expected[p * step:min(p * step + 512, n)] += 1
    assert torch.equal(y.cpu(), expected)


@pytest.mark.parametrize("form", [*APART, "halves"])
def test_warps_wait_only_where_trips_meet(build_dir, form):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::in_place_kernel", "--target", "sm_90a", "--signature",
                           f"y_ptr=*i32:16,n=i32,FORM='{form}',B=1024", "--emit", "ptx", "-o", "-"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert ("bar.sync" in done.stdout) == (form == "halves")
