import torch

from kernels.attention import attention
from measure import Case


def case(heads, length, head, causal):
    q, k, v = (torch.randn(heads, length, head) for _ in range(3))

    def ours():
        out = torch.empty_like(q)
        attention(q, k, v, out, causal=causal, block_q=64, block_k=64)
        return out

    def reference(q=q, k=k, v=v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def error():
        return (ours() - reference(q.double(), k.double(), v.double())).abs().max().item(), 1e-5

    name = f"attention {heads}x{length}x{head}{' causal' if causal else ''} f32"
    return Case(name, ours, {"torch": reference}, error, 4 * heads * length * length * head / (2 if causal else 1),
                "GFLOP/s")


def cases():
    yield case(8, 1024, 64, False)
    yield case(8, 1024, 64, True)
