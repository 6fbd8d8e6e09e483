"""Products by instructions of several warps (wgmma on sm_90a): which kernels get them, that the assembler leaves them
asynchronous, and that they are right and clean on the machine in many shapes, orders and chains."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import devices
import tegula as triton
import tegula.language as tl

ASSEMBLER = shutil.which("ptxas")


@triton.jit
def product_kernel(a, b, c, K, sam, sak, sbk, sbn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, LOOP: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    if LOOP:
        for i in range(0, K, BK):
            x = tl.load(a + m[:, None] * sam + (i + k)[None, :] * sak)
            y = tl.load(b + (i + k)[:, None] * sbk + n[None, :] * sbn)
            acc += tl.dot(x, y)
    else:
        acc = tl.dot(tl.load(a + m[:, None] * sam + k[None, :] * sak), tl.load(b + k[:, None] * sbk + n[None, :] * sbn))
    tl.store(c + m[:, None] * N + n[None, :], acc)


def integers(generator, *shape, dtype=torch.float16, by_columns=False):
    made = torch.randint(-4, 5, shape[::-1] if by_columns else shape, generator=generator).to(dtype)
    return made.T if by_columns else made


@pytest.mark.parametrize("by_columns", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 3), (128, 64, 64, 4, 2), (64, 128, 16, 8, 4), (128, 128, 64, 8, 3),
                                                     (64, 16, 128, 4, 2), (64, 256, 32, 4, 3), (128, 80, 16, 4, 3), (64, 32, 16, 4, 4)])
def test_shapes_and_orders(target, m, n, bk, warps, stages, by_columns):
    generator = torch.Generator().manual_seed(m + n)
    for trips, loop in ((1, False), (0, True), (1, True), (5, True)):
        k = trips * bk
        a = integers(generator, m, max(k, bk), by_columns=by_columns[0])
        b = integers(generator, max(k, bk), n, by_columns=by_columns[1])
        c = torch.full((m, n), 9.0)
        product_kernel[(1,)](a, b, c, k, *a.stride(), *b.stride(), M=m, N=n, BK=bk, LOOP=loop, num_warps=warps, num_stages=stages)
        assert torch.equal(c, a[:, :k].float() @ b[:k].float())


@triton.jit
def precise_kernel(a, b, c, N: tl.constexpr, K: tl.constexpr, MOST: tl.constexpr):
    n, k = tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + n[:, None] * K + k[None, :]), tl.load(b + n[None, :] * K + k[:, None])
    tl.store(c + n[:, None] * N + n[None, :], tl.dot(x, y, max_num_imprecise_acc=MOST))


@pytest.mark.parametrize("most", [0, 32, 64])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=["e4m3", "e5m2"])
def test_sums_of_bytes_are_precise_where_that_is_asked(target, dtype, most):
    """The unit of 8-bit floats keeps 13 bits of a sum: one large product hides small ones from it."""
    a, b = torch.full((64, 64), 0.125), torch.full((64, 64), 0.125)
    a[:, 5], b[:, 5] = 256, 256
    c = torch.full((64, 64), 9.0)
    precise_kernel[(1,)](a.to(dtype), b.to(dtype), c, N=64, K=64, MOST=most)
    assert torch.equal(c, a @ b.T)


# --- factors of 8 and 32 bits: one of them lies with K innermost, and is read there; the rows come from registers where they lie otherwise


@triton.jit
def typed_kernel(a, b, c, K, sam, sak, sbk, sbn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], OUT)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * sam + (i + k)[None, :] * sak)
        y = tl.load(b + (i + k)[:, None] * sbk + n[None, :] * sbn)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


FACTORS = {"tf32": (torch.float32,) * 2, "int8": (torch.int8,) * 2, "e4m3": (torch.float8_e4m3fn,) * 2, "e5m2": (torch.float8_e5m2,) * 2,
           "e4m3 e5m2": (torch.float8_e4m3fn, torch.float8_e5m2)}
ORDERS = {"nn": (0, 0), "nt": (0, 1), "tn": (1, 0), "tt": (1, 1)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 3), (128, 64, 64, 4, 2), (64, 128, 32, 8, 4), (128, 128, 32, 8, 3),
                                                     (64, 16, 128, 4, 2), (64, 80, 32, 4, 1), (64, 40, 64, 4, 3), (32, 128, 64, 4, 1)])
def test_types_and_orders(target, m, n, bk, warps, stages, factors, order):
    generator = torch.Generator().manual_seed(m + n)
    out = (torch.int32, tl.int32) if factors == "int8" else (torch.float32, tl.float32)
    for k in (0, bk, 5 * bk):
        a, b = (integers(generator, *shape, dtype=dtype, by_columns=by)
                for shape, dtype, by in zip(((m, max(k, bk)), (max(k, bk), n)), FACTORS[factors], ORDERS[order]))
        c = torch.full((m, n), 9, dtype=out[0])
        typed_kernel[(1,)](a, b, c, k, *a.stride(), *b.stride(), M=m, N=n, BK=bk, OUT=out[1], num_warps=warps, num_stages=stages)
        assert torch.equal(c.float(), a.float()[:, :k] @ b.float()[:k])


@triton.jit
def chain_kernel(q, k, v, o, trips, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, trips):
        y = tl.load(k + (i * N + n)[:, None] * D + d[None, :])
        z = tl.load(v + (i * N + n)[:, None] * D + d[None, :])
        p = tl.dot(x, tl.trans(y))
        acc = acc * 2.0 + tl.dot(tl.maximum(p, 0.0).to(x.dtype), z)
    tl.store(o + m[:, None] * D + d[None, :], acc)


@pytest.mark.parametrize("m, n, d, warps", [(64, 64, 64, 4), (128, 32, 64, 4), (128, 64, 128, 8), (64, 32, 32, 8)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_of_a_product(target, m, n, d, warps, dtype):
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randint(-1, 2, shape, generator=generator).to(dtype) for shape in ((m, d), (3 * n, d), (3 * n, d)))
    o, wanted = torch.full((m, d), 9.0), torch.zeros(m, d)
    chain_kernel[(1,)](q, k, v, o, 3, M=m, N=n, D=d, num_warps=warps)
    for i in range(3):
        part = slice(i * n, (i + 1) * n)
        wanted = wanted * 2 + (q.float() @ k[part].float().T).clamp(min=0) @ v[part].float()
    assert torch.equal(o, wanted)


@triton.jit
def computed_kernel(a, w, scale, c, K, swk, swn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, SCALED: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(w + (i + k)[:, None] * swk + n[None, :] * swn).to(x.dtype)
        if SCALED:
            y = y * tl.load(scale + i // BK * N + n)[None, :]
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("by_columns", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 3), (128, 64, 64, 8, 3), (64, 32, 16, 4, 1), (64, 128, 64, 8, 2)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_second_factors_that_are_computed(target, m, n, bk, warps, stages, by_columns, is_scaled, dtype):
    """Weights of bytes that are cast, and scaled, on their way: they are stored where the instruction reads them."""
    generator = torch.Generator().manual_seed(8)
    for trips in (0, 1, 4):
        k = trips * bk
        a = integers(generator, m, max(k, bk), dtype=dtype)[:, :k].contiguous()
        w = integers(generator, max(k, bk), n, dtype=torch.int8, by_columns=by_columns)
        scale = torch.randint(1, 4, (max(trips, 1), n), generator=generator).to(dtype)
        c = torch.full((m, n), 9.0)
        computed_kernel[(1,)](a, w, scale, c, k, *w.stride(), M=m, N=n, BK=bk, SCALED=is_scaled, num_warps=warps, num_stages=stages)
        weights = w.float()[:k] * (scale.float().repeat_interleave(bk, 0)[:k] if is_scaled else 1)
        assert torch.equal(c, a.float() @ weights)


@triton.jit
def first_factor_kernel(a, g, w, c, sums, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, FIRST: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc, total = tl.zeros([M, N], tl.float32), tl.zeros([M], tl.float32)
    for i in range(0, K, BK):
        if FIRST:
            y = tl.load(w + (i + k)[:, None] * N + n[None, :])
        x = tl.load(a + m[:, None] * K + (i + k)[None, :]).to(tl.float32)
        total += tl.sum(x * x, 1)
        x = (x * tl.load(g + i + k)[None, :]).to(tl.float16)
        if not FIRST:
            y = tl.load(w + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc)
    tl.store(sums + m, total)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 3), (128, 128, 64, 8, 3), (128, 64, 32, 4, 4), (64, 128, 64, 8, 2), (64, 32, 64, 4, 1)])
def test_first_factors_that_are_computed(target, build_dir, tmp_path, m, n, bk, warps, stages, first):
    """A norm on the way: the factor is stored where the instruction reads it, beside the copies of the second one."""
    generator = torch.Generator().manual_seed(8)
    for trips in (0, 1, 4):
        k = trips * bk
        a, w = (integers(generator, *size) for size in ((m, max(k, bk)), (max(k, bk), n)))
        a = a[:, :k].contiguous()
        g = torch.randint(1, 4, (max(k, bk),), generator=generator).float()
        c, sums = torch.full((m, n), 9.0), torch.full((m,), 9.0)
        first_factor_kernel[(1,)](a, g, w, c, sums, k, m, n, bk, first, num_warps=warps, num_stages=stages)
        assert torch.equal(c, (a.float() * g[:k]) @ w[:k].float()) and torch.equal(sums, (a.float() ** 2).sum(1))
    signature = f"a=*f16:16,g=*f32:16,w=*f16:16,c=*f32:16,sums=*f32:16,K=i32:16,M={m},N={n},BK={bk},FIRST={first}"
    assert not re.search(r"[^g]mma\.sync", compiled(build_dir, tmp_path, "first_factor_kernel", signature, warps, stages))


@triton.jit
def scaled_first_kernel(a, g, w, c, K, sam, sak, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * sam + (i + k)[None, :] * sak)
        y = tl.load(w + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot((x.to(tl.float32) * tl.load(g + i + k)[None, :]).to(x.dtype), y)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("by_columns", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 128, 16, 4, 5), (64, 64, 16, 4, 3), (128, 64, 32, 4, 2), (128, 32, 16, 8, 4), (32, 64, 16, 2, 3)])
def test_first_factors_are_computed_of_copies(target, m, n, bk, warps, stages, by_columns):
    """Also where so few columns of K are copied that lanes could exchange what they read."""
    generator = torch.Generator().manual_seed(9)
    for trips in (0, 1, 6):
        k = trips * bk
        a, w = integers(generator, m, max(k, bk), by_columns=by_columns), integers(generator, max(k, bk), n)
        g, c = torch.randint(1, 4, (max(k, bk),), generator=generator).float(), torch.full((m, n), 9.0)
        scaled_first_kernel[(1,)](a, g, w, c, k, *a.stride(), M=m, N=n, BK=bk, num_warps=warps, num_stages=stages)
        assert torch.equal(c, (a[:, :k].float() * g[:k]) @ w[:k].float())


@triton.jit
def eight_bits_kernel(q, k, v, out, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention of 8-bit floats, `v` with its positions innermost: the weights are a factor that shared memory turns."""
    m, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    best, total, sums = tl.full([M], float("-inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in range(0, length, N):
        n = start + tl.arange(0, N)
        s = tl.dot(x, tl.load(k + n[None, :] * D + d[:, None])) * scale
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        sums = sums * shrink[:, None] + tl.dot(p.to(q.dtype.element_ty), tl.load(v + d[None, :] * length + n[:, None]))
        best = better
    tl.store(out + m[:, None] * D + d[None, :], sums / total[:, None])


@pytest.mark.parametrize("m, n, d, warps, stages", [(64, 64, 64, 4, 3), (128, 64, 64, 4, 3), (128, 128, 64, 8, 2), (64, 64, 128, 4, 3), (128, 64, 128, 8, 3)])
def test_weights_of_eight_bits_are_stored_in_each_trip(target, build_dir, tmp_path, m, n, d, warps, stages):
    g = torch.Generator().manual_seed(n)
    q, k, v = (torch.randn(256, d, generator=g).to(torch.float8_e4m3fn) for _ in range(3))
    out = torch.zeros(256, d)
    eight_bits_kernel[(256 // m,)](q, k, v.T.contiguous(), out, 0.2, 256, m, n, d, num_warps=warps, num_stages=stages)
    scores = q.float() @ k.float().T * 0.2
    best, total, sums = torch.full((256, 1), -torch.inf), 0, 0
    for start in range(0, 256, n):
        part = scores[:, start:start + n]
        better = torch.maximum(best, part.amax(1, keepdim=True))
        p, shrink = torch.exp2(part - better), torch.exp2(best - better)
        total = total * shrink + p.sum(1, keepdim=True)
        sums = sums * shrink + p.to(torch.float8_e4m3fn).float() @ v[start:start + n].float()
        best = better
    assert (out - sums / total).abs().max() < 2e-2
    signature = f"q=*f8e4nv:16,k=*f8e4nv:16,v=*f8e4nv:16,out=*f32:16,scale=f32,length=i32:16,M={m},N={n},D={d}"
    assert not re.search(r"[^g]mma\.sync", compiled(build_dir, tmp_path, "eight_bits_kernel", signature, warps, stages))


@triton.jit
def turned_chain_kernel(q, k, v, o, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    x = tl.load(q + n[:, None] * D + d[None, :])
    s = tl.dot(tl.load(k + n[None, :] * D + d[:, None]), tl.load(v + n[:, None] * D + d[None, :]))
    tl.store(o + n[:, None] * D + d[None, :], tl.dot(x, s.to(x.dtype)))


@pytest.mark.parametrize("n, d, warps", [(64, 64, 4), (64, 64, 8), (128, 64, 8)])
def test_a_product_is_the_second_factor(target, n, d, warps):
    generator = torch.Generator().manual_seed(4)
    q, k, v = (torch.randint(-1, 2, (n, d), generator=generator).half() for _ in range(3))
    o = torch.full((n, d), 9.0)
    turned_chain_kernel[(1,)](q, k, v, o, N=n, D=d, num_warps=warps)
    assert torch.equal(o, q.float() @ (k.float().T @ v.float()))


@triton.jit
def turned_result_kernel(a, b, c, o, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    at = n[:, None] * D + d[None, :]
    s = tl.dot(tl.load(a + at), tl.trans(tl.load(b + at)))
    s = tl.where(n[:, None] >= n[None, :], s, 0.0)
    tl.store(o + at, tl.dot(tl.trans(s.to(tl.float16)), tl.load(c + at)))


@pytest.mark.parametrize("n, d, warps", [(64, 64, 4), (64, 32, 4), (128, 64, 8), (128, 64, 4)])
def test_a_turned_result_is_stored_by_neighbours(target, build_dir, tmp_path, n, d, warps):
    """Backward passes of attention: a thread's two neighbours go to shared memory together, and the product turns the tile."""
    generator = torch.Generator().manual_seed(4)
    a, b, c = (torch.randint(-1, 2, (n, d), generator=generator).half() for _ in range(3))
    o = torch.full((n, d), 9.0)
    turned_result_kernel[(1,)](a, b, c, o, N=n, D=d, num_warps=warps)
    assert torch.equal(o, (a.float() @ b.float().T).tril().T @ c.float())
    text = compiled(build_dir, tmp_path, "turned_result_kernel", f"a=*f16:16,b=*f16:16,c=*f16:16,o=*f32:16,N={n},D={d}", warps)
    assert text.count("wgmma.mma_async") and not re.search(r"st\.shared\.[bu]16", text)


@triton.jit
def two_sums_kernel(a, b, c, d, K, N: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 32)
    left, right = tl.zeros([64, N], tl.float32), tl.zeros([64, N], tl.float32)
    for i in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        left = tl.dot(x, tl.load(b + (i + k)[:, None] * N + n[None, :]), left)
        right = tl.dot(x, tl.load(c + (i + k)[:, None] * N + n[None, :]), right)
    tl.store(d + m[:, None] * N + n[None, :], left * right)


def test_two_sums_run_together(target):
    generator = torch.Generator().manual_seed(5)
    a, b, c = (torch.randint(-2, 3, shape, generator=generator).half() for shape in ((64, 160), (160, 32), (160, 32)))
    d = torch.full((64, 32), 9.0)
    two_sums_kernel[(1,)](a, b, c, d, 160, N=32)
    assert torch.equal(d, (a.float() @ b.float()) * (a.float() @ c.float()))


@triton.jit
def half_kernel(a, b, c, K):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float16)
    for i in range(0, K, 32):
        acc = tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * 64 + m[None, :]), acc,
                     out_dtype=tl.float16)
    tl.store(c + m[:, None] * 64 + m[None, :], acc)


def test_sums_of_sixteen_bits(target):
    generator = torch.Generator().manual_seed(6)
    a, b = integers(generator, 64, 96), integers(generator, 96, 64)
    c = torch.full((64, 64), 9.0, dtype=torch.float16)
    half_kernel[(1,)](a, b, c, 96)
    assert torch.equal(c.float(), a.float() @ b.float())


def assembled(text, folder):
    """Returns the assembler's notes about a PTX text."""
    (folder / "kernel.ptx").write_text(text)
    done = subprocess.run([ASSEMBLER, "-arch=sm_90a", "-v", folder / "kernel.ptx", "-o", folder / "kernel.cubin"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


def compiled(build_dir, folder, kernel, signature, warps, stages=3):
    """Returns a kernel of this file as PTX."""
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", str(warps), "--num-stages", str(stages), "--emit", "ptx", "-o", folder / "code.ptx"],
                   check=True, timeout=120)
    return (folder / "code.ptx").read_text()


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("order, pieces", [("nn", 8), ("nt", 4), ("tt", 4), ("tn", 0)])
@pytest.mark.parametrize("factor, result, step", [("fp32", "fp32", 8), ("i8", "i32", 32), ("fp8e4nv", "fp32", 32)])
def test_the_assembler_leaves_all_types_asynchronous(build_dir, tmp_path, factor, result, step, order, pieces):
    strides = {"n": ("i32:16", "1"), "t": ("1", "i32:16")}
    (sam, sak), (sbk, sbn) = (strides[one] for one in order)
    out = {"fp32": "fp32", "i32": "int32"}[result]
    signature = (f"a=*{factor}:16,b=*{factor}:16,c=*{result}:16,K=i32:16,sam={sam},sak={sak},sbk={sbk},sbn={sbn},"
                 f"M=128,N=256,BK={4 * step},OUT={out}")
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::typed_kernel", "--target", "sm_90a", "--signature", signature,
                    "--num-warps", "8", "--emit", "ptx", "-o", tmp_path / "code.ptx"], check=True, timeout=120)
    text = (tmp_path / "code.ptx").read_text()
    assert len(re.findall(r"wgmma\.mma_async", text)) == pieces
    if pieces:
        notes = assembled(text, tmp_path)
        assert not re.search(r"C75\d\d", notes), notes
        assert re.search(r" 0 bytes spill stores", notes), notes


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3),
                                                     (64, 256, 64, 4, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4)])
def test_the_assembler_leaves_products_asynchronous(build_dir, tmp_path, m, n, bk, warps, stages):
    signature = f"a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,sam=i32:16,sak=1,sbk=i32:16,sbn=1,M={m},N={n},BK={bk},LOOP=True"
    text = compiled(build_dir, tmp_path, "product_kernel", signature, warps, stages)
    assert len(re.findall(r"wgmma\.mma_async", text)) == max(1, m // 64 * 4 // warps) * bk // 16
    notes = assembled(text, tmp_path)
    assert not re.search(r"C75\d\d", notes), notes
    assert re.search(r" 0 bytes spill stores", notes), notes


@triton.jit
def latent_kernel(q, kv, out, T: tl.constexpr, K: tl.constexpr, N: tl.constexpr, LOADED_TURNED: tl.constexpr):
    """Keys are the values, too: one tile is a product's second factor as it lies and transposed."""
    t, k, n = tl.arange(0, T), tl.arange(0, K), tl.arange(0, N)
    x = tl.load(q + t[:, None] * K + k[None, :])
    if LOADED_TURNED:
        keys = tl.load(kv + n[None, :] * K + k[:, None])
        result = tl.dot(tl.dot(x, keys).to(x.dtype), tl.trans(keys))
    else:
        values = tl.load(kv + n[:, None] * K + k[None, :])
        result = tl.dot(tl.dot(x, tl.trans(values)).to(x.dtype), values)
    tl.store(out + t[:, None] * K + k[None, :], result)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("t, k, n, warps", [(64, 128, 64, 4), (64, 256, 64, 8), (128, 64, 32, 4), (16, 64, 64, 4)])
def test_a_tile_is_multiplied_as_it_lies_and_transposed(target, t, k, n, warps, turned):
    g = torch.Generator().manual_seed(t)
    q, kv, out = integers(g, t, k), integers(g, n, k), torch.zeros(t, k)
    latent_kernel[(1,)](q, kv, out, t, k, n, turned, num_warps=warps)
    scores = q.double() @ kv.double().T
    assert torch.equal(out.double(), scores.half().double() @ kv.double())


@pytest.mark.parametrize("turned", [False, True])
def test_both_orders_are_read_from_one_buffer(build_dir, tmp_path, turned):
    signature = f"q=*f16:16,kv=*f16:16,out=*f32:16,T=64,K=128,N=64,LOADED_TURNED={turned}"
    text = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::latent_kernel", "--target", "sm_90a", "--signature", signature,
                           "--emit", "simt"], capture_output=True, text=True, check=True, timeout=120).stdout
    assert text.count("simt.local_store") == 2  # `q` and `kv`, once each
    assert text.count("simt.dot_async") == 2 and "tt.dot" not in text


@triton.jit
def turned_twice_kernel(q, k, out, T: tl.constexpr, K: tl.constexpr):
    """Products of one transposed tile, far from each other: another product's factors are stored between them."""
    t, d = tl.arange(0, T), tl.arange(0, K)
    at = t[:, None] * K + d[None, :]
    keys = tl.load(k + at)
    turned = tl.trans(keys)
    m = tl.dot(keys, turned).to(keys.dtype)
    m = tl.where(t[:, None] > t[None, :], m, 0.0)
    m = tl.dot(m, m)
    scores = tl.dot(tl.load(q + at), turned)
    tl.store(out + t[:, None] * T + t[None, :], m + scores)


@pytest.mark.parametrize("t, k, warps", [(64, 128, 4), (128, 64, 8), (16, 32, 2)])
def test_a_transposed_tile_is_multiplied_again_later(target, t, k, warps):
    g = torch.Generator().manual_seed(k)
    q, keys = (torch.randint(-1, 2, (t, k), generator=g).half() for _ in range(2))
    out = torch.zeros(t, t)
    turned_twice_kernel[(1,)](q, keys, out, t, k, num_warps=warps)
    m = torch.tril(keys.double() @ keys.double().T, -1)
    assert torch.equal(out.double(), m @ m + q.double() @ keys.double().T)


def test_a_transposed_tile_stays_for_a_later_product(build_dir):
    text = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::turned_twice_kernel", "--target", "sm_90a", "--signature",
                           "q=*f16:16,k=*f16:16,out=*f32:16,T=64,K=128", "--emit", "simt"], capture_output=True, text=True, check=True, timeout=120).stdout
    assert text.count("simt.dot_async") == 3 and "tt.dot" not in text


@triton.jit
def scaled_kernel(q, k, v, out, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention whose `q` is computed in the layout of the products' results."""
    m, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    x = (tl.load(q + m[:, None] * D + d[None, :]) * scale).to(tl.float16)
    best, total, sums = tl.full([M], float("-inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in range(0, length, N):
        n = start + tl.arange(0, N)
        s = tl.dot(x, tl.load(k + n[None, :] * D + d[:, None]))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        sums = sums * shrink[:, None] + tl.dot(p.to(tl.float16), tl.load(v + n[:, None] * D + d[None, :]))
        best = better
    tl.store(out + m[:, None] * D + d[None, :], sums / total[:, None])


@pytest.mark.parametrize("m, n, head, warps, stages", [(128, 128, 128, 8, 2), (128, 64, 128, 8, 3), (64, 64, 64, 4, 3), (128, 64, 64, 8, 3), (64, 64, 128, 4, 3)])
def test_a_factor_that_all_trips_read_is_not_in_registers(target, build_dir, tmp_path, m, n, head, warps, stages):
    g = torch.Generator().manual_seed(n)
    q, k, v = (torch.randn(256, head, generator=g).half() for _ in range(3))
    out = torch.zeros(256, head)
    scaled_kernel[(256 // m,)](q, k, v, out, 1 / 16, 256, m, n, head, num_warps=warps, num_stages=stages)
    scores = (q.float() / 16).half().double() @ k.double().T
    assert (out - torch.softmax(scores * 0.6931471805599453, 1) @ v.double()).abs().max() < 2e-3
    text = compiled(build_dir, tmp_path, "scaled_kernel", f"q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,scale=f32,length=i32:16,M={m},N={n},D={head}", warps, stages)
    products = re.findall(r"wgmma\.mma_async[^{]*\{[^}]*\}, (\{|%rd)", text)
    assert products.count("%rd") == head // 16 * (m // 64 * 4 // warps)
    assert products.count("{") == n // 16 * (m // 64 * 4 // warps)  # the weights, behind reductions over the scores


def attention_signature(m, n, head, causal):
    strides = ",".join(f"stride_{of}{d}=i32:16" for of in "qkvo" for d in ("z", "h", "n" if of in "kv" else "m"))
    return (f"Q=*f16:16,K=*f16:16,V=*f16:16,Out=*f16:16,sm_scale=f32,{strides},H=i32:16,N_CTX=i32:16,"
            f"HEAD_DIM={head},BLOCK_M={m},BLOCK_N={n},CAUSAL={causal},EVEN=True")


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("head, m, warps, causal, options, bound", [
    (128, 64, 8, True, "", 128),               # 150 registers left one program, and shared memory has room for two
    (32, 128, 4, True, "", 168),               # two programs ran, and shared memory has room for three; one register is spilled
    (64, 32, 4, True, "", 168),                # three run; a fourth would leave 0.77 of 158, and chains want all
    (64, 64, 4, True, "maxnreg=168", 168),     # the user's own
    (64, 64, 4, True, "", None),               # four fit
    (128, 64, 4, True, "", None),              # shared memory has room for two
    (64, 128, 8, False, "", None)])            # a third program would leave 80 registers
def test_registers_are_bound_where_one_more_program_fits(build_dir, tmp_path, head, m, warps, causal, options, bound):
    kernel = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "spellings" / "attention_plain.py"
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{kernel}::two_loops_kernel", "--target", "sm_90a", "--num-warps", str(warps),
                           "--num-stages", "3", "--signature", attention_signature(m, 64, head, causal), "--emit", "ptx", "-o", tmp_path / "code.ptx",
                           *(["--options", options] if options else [])], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "code.ptx").read_text()
    assert re.findall(r"\.maxnreg (\d+)", text) == ([str(bound)] if bound else [])
    notes = assembled(text, tmp_path)
    most_spilled = 8 if bound and not options else 0
    assert int(re.search(r" (\d+) bytes spill stores", notes)[1]) <= most_spilled and not re.search(r"C75\d\d", notes), notes
    assert not bound or int(re.search(r"Used (\d+) registers", notes)[1]) <= bound


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("m, n, bk, warps, stages, bound", [
    (16, 256, 32, 4, 5, 255),    # shared memory has room for two programs, the assembler left registers for eight
    (16, 64, 32, 4, 2, None),    # 20 warps and more run
    (64, 256, 32, 4, 3, None)])  # the instruction reads both factors itself
def test_registers_that_shared_memory_leaves_are_used(build_dir, tmp_path, m, n, bk, warps, stages, bound):
    signature = f"a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,sam=i32:16,sak=1,sbk=i32:16,sbn=1,M={m},N={n},BK={bk},LOOP=1"
    text = compiled(build_dir, tmp_path, "product_kernel", signature, warps, stages)
    assert re.findall(r"\.maxnreg (\d+)", text) == ([str(bound)] if bound else [])


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("is_scaled", [False, True])
def test_computed_factors_leave_products_asynchronous(build_dir, tmp_path, is_scaled):
    signature = f"a=*f16:16,w=*i8:16,scale=*f16:16,c=*f32:16,K=i32:16,swk=i32:16,swn=1,M=128,N=128,BK=64,SCALED={is_scaled}"
    text = compiled(build_dir, tmp_path, "computed_kernel", signature, 8)
    assert len(re.findall(r"wgmma\.mma_async", text)) == 4
    notes = assembled(text, tmp_path)
    assert not re.search(r"C75\d\d", notes) and re.search(r" 0 bytes spill stores", notes), notes


@triton.jit
def room_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * BN + n[None, :]), acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@pytest.mark.parametrize("bm, bn, warps, slots, pending", [(128, 128, 8, 3, 0), (128, 128, 4, 3, 0), (128, 256, 8, 4, 1), (64, 64, 4, 4, 1)])
def test_a_slot_more_does_not_cost_the_second_program(build_dir, tmp_path, bm, bn, warps, slots, pending):
    """Two programs share a multiprocessor where registers have room for them: one's products run while the other one waits."""
    signature = f"a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,BM={bm},BN={bn},BK=64"
    text = compiled(build_dir, tmp_path, "room_kernel", signature, warps)
    assert max(re.findall(r"wgmma\.wait_group\.sync\.aligned (\d)", text)) == str(pending)
    assert re.search(rf"setp\.eq\.b32\s+%p\d+, %r\d+, {slots};", text)


@triton.jit
def wrapped_kernel(a, b, c, M, K, first, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = (first + tl.arange(0, BM)) % M, (first + tl.arange(0, BN)) % BN, tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] + (i + k)[None, :] * M, mask=k[None, :] < K - i, other=0.0)
        y = tl.load(b + (i + k)[:, None] * BN + n[None, :], mask=k[:, None] < K - i, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], acc)


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
def test_checked_remainders_leave_products_asynchronous(build_dir, tmp_path):
    """A kernel that calls a function has its products one after the other, wherever the call is."""
    signature = "a=*f16:16,b=*f16:16,c=*f32:16,M=i32:16,K=i32:16,first=i32:16,BM=128,BN=128,BK=64"
    text = compiled(build_dir, tmp_path, "wrapped_kernel", signature, 8)
    assert "wgmma.mma_async" in text and "trap;" in text and "call" not in text
    assert not re.search(r"C75\d\d", assembled(text, tmp_path))


@pytest.mark.sim
@pytest.mark.parametrize("first", [0, 16, 48, -64])
def test_checked_remainders_of_products(first, monkeypatch):
    devices.use("sim", monkeypatch)
    generator = torch.Generator().manual_seed(7)
    a, b = integers(generator, 64, 80, by_columns=True), integers(generator, 80, 64)
    c = torch.full((64, 64), 9.0)
    run = lambda: wrapped_kernel[(1,)](a, b, c, 64, 80, first, BM=64, BN=64, BK=32)
    if first < 0:
        with pytest.raises(triton.TritonError, match="trap|negative multiple"):  # with words where no product is of several warps
            run()
        return
    run()
    assert torch.equal(c, torch.roll(torch.roll(a.float() @ b.float(), -first, 0), -first, 1))


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
@pytest.mark.parametrize("m, n, d, warps, stages", [(128, 64, 64, 4, 3), (128, 64, 128, 8, 3), (128, 128, 128, 8, 2), (64, 64, 64, 4, 4)])
def test_products_of_products_stay_asynchronous(build_dir, tmp_path, m, n, d, warps, stages):
    text = compiled(build_dir, tmp_path, "chain_kernel", f"q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,trips=i32,M={m},N={n},D={d}", warps,
                    stages)
    assert "wgmma.mma_async" in text
    assert not re.search(r"C75\d\d", assembled(text, tmp_path))


@pytest.mark.parametrize("m, d, warps", [(64, 64, 4), (128, 128, 8), (256, 128, 16)])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_any_number_of_products_of_products(target, trips, stages, m, d, warps):
    """The second product of a trip runs into the next one, and of several groups of four warps none waits for another."""
    generator = torch.Generator().manual_seed(trips)
    q, k, v = (torch.randint(-1, 2, shape, generator=generator).half() for shape in ((m, d), (7 * 64, d), (7 * 64, d)))
    o, wanted = torch.full((m, d), 9.0), torch.zeros(m, d)
    chain_kernel[(1,)](q, k, v, o, trips, M=m, N=64, D=d, num_warps=warps, num_stages=stages)
    for i in range(trips):
        part = slice(i * 64, (i + 1) * 64)
        wanted = wanted * 2 + (q.float() @ k[part].float().T).clamp(min=0) @ v[part].float()
    assert torch.equal(o, wanted)


@triton.jit
def mixed_kernel(a, b, c, K, stride, N: tl.constexpr, BK: tl.constexpr):
    """One operand is copied; the other is loaded element by element."""
    m, n, k = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([128, N], tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * stride + n[None, :] * 3), acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.skipif(not ASSEMBLER, reason="there is no assembler here")
def test_loads_beside_products_leave_them_their_registers(build_dir, tmp_path):
    text = compiled(build_dir, tmp_path, "mixed_kernel", "a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,stride=i32,N=128,BK=64", 8)
    assert "wgmma.mma_async" in text and ".minnctapersm" not in text
    assembled(text, tmp_path)


@triton.jit
def chained_bytes_kernel(x_ptr, out_ptr, M: tl.constexpr):
    i = tl.arange(0, M)
    x = tl.load(x_ptr + i[:, None] * M + i[None, :])
    y = tl.minimum(tl.maximum(tl.dot(x, x), 0.0), 3.0).to(x.dtype)
    acc = tl.dot(x, y)
    acc = tl.dot(y, x, acc)
    tl.store(out_ptr + i[:, None] * M + i[None, :], acc)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_products_of_bytes_that_share_a_sum(target, monkeypatch, dtype, num_warps):
    """The first product's layout is of several warps; the second takes no matrix instruction then: an internal error."""
    monkeypatch.setenv("TEGULA_SIM_ARCH", "sm_90a")
    M = 64
    x = torch.randint(-2, 3, (M, M), generator=torch.Generator().manual_seed(1)).float()
    y, out = (x @ x).clamp(0, 3), torch.full((M, M), float("nan"))
    chained_bytes_kernel[(1,)](x.to(dtype), out, M, num_warps=num_warps)
    assert torch.equal(out, x @ y + y @ x)


@triton.jit
def dropped_kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * N + n[None, :]), acc)
    at = m[:, None] * N + n[None, :]
    tl.store(c + at, tl.where(tl.rand(1234, at) > 0.25, acc, 0.0))


@pytest.mark.sim
def test_sums_stay_in_their_registers_in_large_kernels(monkeypatch):
    """128 random numbers a thread: the code generator left out the pass that joins copies, and sums were moved while a product added to them."""
    devices.use("sim", monkeypatch)
    g = torch.Generator().manual_seed(1)
    a, b = integers(g, 128, 64), integers(g, 64, 128)
    c = torch.full((128, 128), float("nan"))
    dropped_kernel.target = "ptxvm"
    dropped_kernel[(1,)](a, b, c, 64, M=128, N=128, BK=32, num_warps=4, num_stages=4)
    expected = a.float() @ b.float()
    assert torch.all((c == expected) | (c == 0)) and 0.7 < (c == expected).float().mean() < 0.8
