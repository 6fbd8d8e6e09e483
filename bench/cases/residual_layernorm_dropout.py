import torch

from kernels.residual_layernorm_dropout import residual_layernorm_dropout
from measure import Case


def cases():
    rows, columns, p = 2048, 4096, 0.1
    x, residual = torch.randn(rows, columns), torch.randn(rows, columns)
    weight, bias = torch.randn(columns), torch.randn(columns)

    def ours():
        h, out = torch.empty_like(x), torch.empty_like(x)
        residual_layernorm_dropout(x, residual, weight, bias, h, out, p, 1234)
        return h, out

    def chain():
        """What one writes without a fused kernel."""
        total = x + residual
        normed = torch.nn.functional.layer_norm(total, (columns,), weight, bias, 1e-5)
        return total, torch.nn.functional.dropout(normed, p)

    def error():
        _, out = ours()
        exact = torch.nn.functional.layer_norm((x + residual).double(), (columns,), weight.double(), bias.double(), 1e-5)
        dropped = (out == 0).double().mean().item()
        off = torch.where(out != 0, out - exact / (1 - p), 0.0).abs().max().item()
        return off + (100.0 if abs(dropped - p) > 0.01 else 0.0), 5e-5

    yield Case(f"residual+layernorm+dropout {rows}x{columns} f32", ours, {"torch": chain}, error,
               16 * rows * columns, "GB/s", 2.0)
