"""The fast Walsh-Hadamard transform of rows by joins and splits of halves."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def butterfly(x, ROWS: tl.constexpr, N: tl.constexpr, H: tl.constexpr):
    y = x.reshape(ROWS, N // (2 * H), 2, H)
    a, b = y.permute(0, 1, 3, 2).split()
    return tl.join(a + b, a - b).permute(0, 1, 3, 2).reshape(ROWS, N)


@triton.jit
def hadamard_kernel(x_ptr, out_ptr, scale, rows, ROWS: tl.constexpr, N: tl.constexpr, LOG_N: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(x_ptr + at, mask=r[:, None] < rows, other=0.0).to(tl.float32)
    for s in tl.static_range(LOG_N):
        x = butterfly(x, ROWS, N, 2**s)
    tl.store(out_ptr + at, x * scale, mask=r[:, None] < rows)


def check_rows(device):
    for n, dtype in ((1, torch.float32), (2, torch.float32), (32, torch.float16), (64, torch.float32)):
        x = normal(5, n, device=device, dtype=dtype)
        out = torch.empty_like(x)
        hadamard_kernel[(3,)](x, out, n**-0.5, 5, ROWS=2, N=n, LOG_N=n.bit_length() - 1)
        h = torch.ones(1, 1, dtype=torch.float64)
        while h.shape[0] < n:
            h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
        close(out, wide(x) @ h.T * n**-0.5, error=1e-6)
