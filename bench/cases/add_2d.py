import torch

from kernels.add_2d import add_2d
from measure import Case


def cases():
    x, y = torch.randn(2000, 1500), torch.randn(1500, 2000).T
    out, other = torch.zeros(2000, 1500), torch.zeros(2000, 1500)

    def error():
        add_2d(x, y, out, block_r=32, block_c=128)
        return (out - (x + y)).abs().max().item(), 0.0

    yield Case("add_2d 2000x1500 f32, one transposed", lambda: add_2d(x, y, out, block_r=32, block_c=128),
               {"torch": lambda: torch.add(x, y, out=other)}, error, 12 * x.numel(), "GB/s")
