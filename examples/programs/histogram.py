"""Histograms: of a tile by tl.histogram, joined by atomics; and of many bins by atomics alone."""
import torch
import triton
import triton.language as tl

from beside import integers, same


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n_elements, NUM_BINS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    local = tl.histogram(x, NUM_BINS, mask=mask)
    bins = tl.arange(0, NUM_BINS)
    tl.atomic_add(out_ptr + bins, local, mask=local > 0, sem="relaxed")


@triton.jit
def histogram_atomic_kernel(x_ptr, w_ptr, out_ptr, n, lo, hi, nbins, HAS_WEIGHTS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, offs < n, other=float("nan"))
    inside = (x >= lo) & (x <= hi) & (offs < n)
    place = ((x - lo) / (hi - lo) * nbins).to(tl.int32)
    place = tl.minimum(place, nbins - 1)
    if HAS_WEIGHTS:
        w = tl.load(w_ptr + offs, inside, other=0)
    else:
        w = inside.to(out_ptr.dtype.element_ty)
    tl.atomic_add(out_ptr + place, w, mask=inside)


def check_few_bins(device):
    for n in (1, 100, 1000):
        x = integers(0, 64, (n,), device=device)
        out = torch.zeros(64, dtype=torch.int32, device=device)
        histogram_kernel[(triton.cdiv(n, 256),)](x, out, n, NUM_BINS=64, BLOCK=256)
        same(out, torch.bincount(x.cpu(), minlength=64))


def check_ranges_and_weights(device):
    x = integers(-20, 120, (333,), device=device).float() + 0.25
    w = integers(0, 9, (333,), device=device, seed=1)
    kept = x.cpu()[(x.cpu() >= 0) & (x.cpu() <= 100)]
    out = torch.zeros(10, dtype=torch.int32, device=device)
    histogram_atomic_kernel[(triton.cdiv(333, 128),)](x, None, out, 333, 0.0, 100.0, 10, HAS_WEIGHTS=False, BLOCK=128)
    same(out, torch.histc(kept, 10, 0, 100))
    out.zero_()
    histogram_atomic_kernel[(triton.cdiv(333, 128),)](x, w, out, 333, 0.0, 100.0, 10, HAS_WEIGHTS=True, BLOCK=128)
    place = (kept / 10).long().clamp(max=9)
    same(out, torch.zeros(10).index_add(0, place, w.cpu()[(x.cpu() >= 0) & (x.cpu() <= 100)].float()))
