import torch

from kernels.matmul import matmul
from measure import Case


def case(M, N, K, dtype, goal=None, **blocks):
    a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)

    def ours():
        c = torch.empty(M, N)
        matmul(a, b, c, **blocks)
        return c

    def error():
        exact = a.double() @ b.double()
        scale = (a.double().abs() @ b.double().abs()).max().item()
        return (ours() - exact).abs().max().item(), 2.0**-22 * K * scale / K**0.5

    name = str(dtype).removeprefix("torch.").replace("float", "f")
    return Case(f"matmul {M}x{N}x{K} {name}", ours, {"torch": lambda: torch.mm(a, b)}, error,
                2 * M * N * K, "GFLOP/s", goal)


def cases():
    yield case(1024, 1024, 1024, torch.float32, 0.5, block_m=64, block_n=128, block_k=128, group=4)
    yield case(1024, 1024, 1024, torch.bfloat16, None, block_m=64, block_n=128, block_k=128, group=4)
    yield case(509, 521, 523, torch.float32, None, block_m=64, block_n=128, block_k=128, group=4)
