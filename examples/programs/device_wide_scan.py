"""A prefix sum over the whole device in one pass: programs publish sums and look back at those before them."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def pack(flag, value):
    """A flag above the bits of a float, in one word that is written at once."""
    return (flag.to(tl.uint64) << 32) | value.to(tl.uint32, bitcast=True).to(tl.uint64)


@triton.jit
def unpack(word):
    return (word >> 32).to(tl.int32), (word & 0xFFFFFFFF).to(tl.uint32).to(tl.float32, bitcast=True)


@triton.jit
def exclusive_prefix(scratch, pid, own):
    tl.atomic_xchg(scratch + pid, pack(tl.full((), 1, tl.int32), own), sem="release")
    prefix = own * 0
    target = pid - 1
    while target >= 0:
        flag, value = unpack(tl.atomic_add(scratch + target, 0, sem="acquire"))
        if flag != 0:
            prefix += value
            if flag == 2:
                target = -1
            else:
                target -= 1
    tl.atomic_xchg(scratch + pid, pack(tl.full((), 2, tl.int32), prefix + own), sem="release")
    return prefix


@triton.jit
def scan_kernel(x_ptr, out_ptr, ticket_ptr, scratch_ptr, n, EXCLUSIVE: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.atomic_add(ticket_ptr, 1)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0)
    inner = tl.cumsum(x, 0)
    prefix = exclusive_prefix(scratch_ptr, pid, tl.sum(x, 0))
    result = inner + prefix
    if EXCLUSIVE:
        result -= x
    tl.store(out_ptr + offs, result, mask=offs < n)


def scan(x, exclusive=False, BLOCK=128):
    n = x.numel()
    programs = triton.cdiv(n, BLOCK)
    out = torch.empty_like(x)
    ticket = torch.zeros(1, dtype=torch.int32, device=x.device)
    scratch = torch.zeros(programs, dtype=torch.uint64, device=x.device)
    scan_kernel[(programs,)](x, out, ticket, scratch, n, EXCLUSIVE=exclusive, BLOCK=BLOCK)
    return out


def check_lengths(device):
    for n in (1, 128, 129, 1500):
        x = normal(n, device=device)
        close(scan(x), wide(x).cumsum(0), error=2e-6)


def check_exclusive(device):
    x = integers(-5, 5, (700,), device=device).float()
    same(scan(x, exclusive=True), wide(x).cumsum(0) - wide(x))
