"""An LSTM step fused over its gates, and a simple recurrence over time with its weights kept in the program."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def sigmoid_tanh(i, f, g, o):
    tg = 2 * tl.sigmoid(2 * g) - 1
    return tl.sigmoid(i), tl.sigmoid(f), tg, tl.sigmoid(o)


@triton.jit
def lstm_pointwise_kernel(gates, c_in, h_out, c_out, hidden, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = j < hidden
    base = gates + b * 4 * hidden + j
    i, f, g, o = sigmoid_tanh(tl.load(base, mask), tl.load(base + hidden, mask), tl.load(base + 2 * hidden, mask), tl.load(base + 3 * hidden, mask))
    c = f * tl.load(c_in + b * hidden + j, mask) + i * g
    tl.store(c_out + b * hidden + j, c, mask)
    tl.store(h_out + b * hidden + j, o * (2 * tl.sigmoid(2 * c) - 1), mask)


@triton.jit
def rnn_kernel(x_ptr, w_ptr, h_ptr, out_ptr, T, B: tl.constexpr, D: tl.constexpr):
    b = tl.arange(0, B)[:, None]
    d = tl.arange(0, D)
    w = tl.load(w_ptr + d[:, None] * D + d[None, :])
    h = tl.load(h_ptr + b * D + d[None, :])
    for t in range(T):
        z = tl.dot(h, w, input_precision="ieee") + tl.load(x_ptr + (t * B + b) * D + d[None, :])
        h = 2 * tl.sigmoid(2 * z) - 1
        tl.store(out_ptr + (t * B + b) * D + d[None, :], h)


def check_lstm(device):
    gates, c = normal(3, 4 * 50, device=device), normal(3, 50, device=device, seed=1)
    h2, c2 = torch.empty_like(c), torch.empty_like(c)
    lstm_pointwise_kernel[(3, 2)](gates, c, h2, c2, 50, BLOCK=32)
    i, f, g, o = wide(gates).chunk(4, 1)
    cd = f.sigmoid() * wide(c) + i.sigmoid() * g.tanh()
    close(c2, cd, error=1e-6)
    close(h2, o.sigmoid() * cd.tanh(), error=1e-6)


def check_recurrence(device):
    T, B, D = 5, 16, 16
    x, w, h = normal(T, B, D, device=device), normal(D, D, device=device, seed=1, scale=0.3), normal(B, D, device=device, seed=2)
    out = torch.empty_like(x)
    rnn_kernel[(1,)](x, w, h, out, T, B=B, D=D)
    hd = wide(h)
    for t in range(T):
        hd = torch.tanh(hd @ wide(w) + wide(x)[t])
        close(out[t], hd, error=3e-6)
