import torch

from kernels.layernorm import layernorm
from measure import Case


def cases():
    rows, columns = 2048, 4096
    x, weight, bias = torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)

    def ours():
        out, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
        layernorm(x, weight, bias, out, mean, rstd, block=1024)
        return out

    def reference(x=x, weight=weight, bias=bias):
        return torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)

    def error():
        return (ours() - reference(x.double(), weight.double(), bias.double())).abs().max().item(), 5e-5

    yield Case(f"layernorm {rows}x{columns} f32", ours, {"torch": reference}, error, 8 * rows * columns, "GB/s")
