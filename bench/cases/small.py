"""Kernels that show a feature; measured so that the demo has them all."""
import torch

from kernels.helpers_tuples import normalise
from kernels.shift_in_place import shift_by_one_kernel
from kernels.vector_add import add
from measure import Case


def helpers():
    x = torch.randn(2048, 1000)

    def ours():
        out, stats = torch.empty_like(x), torch.empty(2048, 2)
        normalise(x, out, stats, kind="leaky")
        return out

    def reference(x=x):
        variance, mean = torch.var_mean(x, dim=1, correction=0, keepdim=True)
        y = (x - mean) / torch.sqrt(variance + 1e-6)
        return torch.where(y > 0, y, y * 0.25)

    def error():
        return (ours() - reference(x.double())).abs().max().item(), 2e-5

    return Case("helpers returning tuples 2048x1000 f32", ours,
                {"torch": reference}, error, 8 * x.numel(), "GB/s")


def shift():
    n = 1 << 16
    buffer, other = torch.randn(n + 1), torch.randn(n + 1)

    def ours():
        shift_by_one_kernel[(1,)](buffer, n, BLOCK=n)

    def reference():
        other[1:] = other[:-1].clone()

    def error():
        expected = buffer.clone()
        expected[1:] = buffer[:-1]
        ours()
        return (buffer - expected).abs().max().item(), 0.0

    return Case("shift in place 2^16 f32", ours, {"torch": reference}, error, 8 * n, "GB/s")


def overlapping():
    n = 1 << 16
    buffer, other = torch.ones(n + 1), torch.ones(n + 1)

    def ours():
        add(buffer[:-1], buffer[:-1], buffer[1:], block=n)

    def reference():
        other[1:] = other[:-1] + other[:-1]

    def error():
        buffer.normal_()
        expected = buffer.clone()
        expected[1:] = buffer[:-1] + buffer[:-1]
        ours()
        off = (buffer - expected).abs().max().item()
        buffer.fill_(0.0)
        return off, 0.0

    return Case("add, overlapping arguments 2^16 f32", ours, {"torch": reference}, error, 8 * n, "GB/s")


def cases():
    yield helpers()
    yield shift()
    yield overlapping()
