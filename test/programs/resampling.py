"""Bilinear and nearest resampling of images, a grid sample with weights, and bit packing of masks."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def bilinear_kernel(x_ptr, out_ptr, H, W, HO, WO, scale_h, scale_w, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    oy, ox = o // WO, o % WO
    y = tl.maximum((oy + 0.5) * scale_h - 0.5, 0.0)
    x = tl.maximum((ox + 0.5) * scale_w - 0.5, 0.0)
    y0 = tl.floor(y).to(tl.int32)
    x0 = tl.floor(x).to(tl.int32)
    y1, x1 = tl.minimum(y0 + 1, H - 1), tl.minimum(x0 + 1, W - 1)
    fy, fx = y - y0, x - x0
    base = x_ptr + plane * H * W
    m = o < HO * WO
    top = tl.load(base + y0 * W + x0, m, 0.0) * (1 - fx) + tl.load(base + y0 * W + x1, m, 0.0) * fx
    bottom = tl.load(base + y1 * W + x0, m, 0.0) * (1 - fx) + tl.load(base + y1 * W + x1, m, 0.0) * fx
    tl.store(out_ptr + plane * HO * WO + o, top * (1 - fy) + bottom * fy, m)


@triton.jit
def nearest_kernel(x_ptr, out_ptr, H, W, HO, WO, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = ((o // WO).to(tl.float32) * (H / HO)).to(tl.int32)
    x = ((o % WO).to(tl.float32) * (W / WO)).to(tl.int32)
    tl.store(out_ptr + plane * HO * WO + o, tl.load(x_ptr + plane * H * W + y * W + x, o < HO * WO), o < HO * WO)


@triton.jit
def grid_sample_kernel(x_ptr, grid_ptr, out_ptr, H, W, C, n, BLOCK: tl.constexpr):
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = p < n
    gx = ((tl.load(grid_ptr + 2 * p, ok, 0.0) + 1) * W - 1) / 2
    gy = ((tl.load(grid_ptr + 2 * p + 1, ok, 0.0) + 1) * H - 1) / 2
    ix, iy = tl.floor(gx), tl.floor(gy)
    for c in range(C):
        acc = tl.zeros((BLOCK,), tl.float32)
        for dy in tl.static_range(2):
            for dx in tl.static_range(2):
                sx, sy = ix + dx, iy + dy
                w = (1 - tl.abs(gx - sx)) * (1 - tl.abs(gy - sy))
                inside = ok & (sx >= 0) & (sx < W) & (sy >= 0) & (sy < H)
                acc += w * tl.load(x_ptr + c * H * W + sy.to(tl.int32) * W + sx.to(tl.int32), inside, 0.0)
        tl.store(out_ptr + c * n + p, acc, ok)


@triton.jit
def pack_bits_kernel(x_ptr, words_ptr, n, BLOCK: tl.constexpr):
    w = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bit = tl.arange(0, 32)
    at = w[:, None] * 32 + bit[None, :]
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    word = tl.sum((x != 0).to(tl.uint32) << bit[None, :].to(tl.uint32), axis=1)
    tl.store(words_ptr + w, word.to(tl.int32, bitcast=True), mask=w * 32 < n)


@triton.jit
def apply_bitmask_kernel(logits_ptr, words_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(tl.program_id(1) * BLOCK, vocab, BLOCK * tl.num_programs(1)):
        word = start // 32 + tl.arange(0, BLOCK // 32)
        packed = tl.load(words_ptr + row * tl.cdiv(vocab, 32) + word, word * 32 < vocab, 0)
        kept = ((packed[:, None] >> (tl.arange(0, 32)[None, :])) & 1) == 0
        kept = kept.reshape(BLOCK)
        i = start + tl.arange(0, BLOCK)
        tl.store(logits_ptr + row * vocab + i, -float("inf"), kept & (i < vocab))


def check_bilinear(device):
    x = normal(2, 5, 7, device=device)
    for ho, wo in ((10, 14), (3, 4), (8, 5)):
        out = torch.empty(2, ho, wo, device=device)
        bilinear_kernel[(triton.cdiv(ho * wo, 64), 2)](x, out, 5, 7, ho, wo, 5 / ho, 7 / wo, BLOCK=64)
        close(out, torch.nn.functional.interpolate(wide(x)[None], (ho, wo), mode="bilinear")[0], error=2e-6)


def check_nearest(device):
    x = normal(2, 4, 6, device=device)
    out = torch.empty(2, 8, 3, device=device)
    nearest_kernel[(1, 2)](x, out, 4, 6, 8, 3, BLOCK=32)
    same(out, torch.nn.functional.interpolate(x.cpu()[None], (8, 3))[0])


def check_grid_sample(device):
    x, grid = normal(3, 6, 5, device=device), normal(20, 2, device=device, seed=1, scale=0.7)
    out = torch.empty(3, 20, device=device)
    grid_sample_kernel[(2,)](x, grid, out, 6, 5, 3, 20, BLOCK=16)
    close(out, torch.nn.functional.grid_sample(wide(x)[None], wide(grid)[None, None], align_corners=False)[0, :, 0], error=3e-6)


def check_bitmasks(device):
    vocab = 150
    allowed = integers(0, 2, (3, vocab), device=device, dtype=torch.int32)
    words = torch.zeros(3, 5, dtype=torch.int32, device=device)
    for row in range(3):
        pack_bits_kernel[(1,)](allowed[row], words[row], vocab, BLOCK=8)
    logits = normal(3, vocab, device=device)
    expected = wide(logits).masked_fill(allowed.cpu() == 0, float("-inf"))
    apply_bitmask_kernel[(3, 2)](logits, words, vocab, BLOCK=64)
    same(logits, expected)
