import numpy as np
import torch

from kernels.softmax import softmax
from kernels.softmax_online import softmax_online
from kernels.softmax_wide import softmax_wide
from measure import Case


def numpy_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def case(kernel, rows, columns, goal=None, **options):
    x = torch.randn(rows, columns)

    def ours():
        out = torch.empty_like(x)
        kernel(x, out, **options)
        return out

    def error():
        return (ours() - torch.softmax(x.double(), dim=1)).abs().max().item(), 1e-6

    name = f"{kernel.__name__} {rows}x{columns} f32"
    return Case(name, ours, {"torch": lambda: torch.softmax(x, dim=1), "numpy": lambda: numpy_softmax(x.numpy())}, error,
                8 * rows * columns, "GB/s", goal)


def cases():
    for columns in (1024, 4096, 16384):
        yield case(softmax, 2048, columns, goal=1.0)
    yield case(softmax, 2048, 781)
    yield case(softmax_wide, 2048, 16384, block=2048)
    yield case(softmax_online, 2048, 16384, block=2048)
