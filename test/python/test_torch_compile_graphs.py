"""torch.compile finds kernels with heuristics and autotune in one graph."""
import pytest

pytest.importorskip("torch._dynamo")
PROGRAM = """
import tegula
tegula.install_as_triton()
import torch, triton, triton.language as tl

@triton.heuristics({"E": lambda arguments: arguments["n"] % 64 == 0})
@triton.jit
def plain(p, o, n, E: tl.constexpr, F: tl.constexpr = 3):
    i = tl.arange(0, 64)
    tl.store(o + i, tl.load(p + i, mask=i < n) + (1 if E else 2), mask=i < n)

@triton.heuristics({"E": lambda arguments: arguments["n"] % 64 == 0})
@triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def tuned(p, o, n, B: tl.constexpr, E: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(p + i, mask=i < n) + (1 if E else 2), mask=i < n)

def call_plain(p):
    o = torch.empty_like(p)
    plain[(1,)](p, o, 64)
    return o

def call_tuned(p):
    o = torch.empty_like(p)
    tuned[lambda meta: (triton.cdiv(64, meta["B"]),)](p, o, 64)
    return o

graphs = []
def backend(module, examples):
    graphs.append([str(node.target) for node in module.graph.nodes if "triton" in str(node.target)])
    return lambda *args: [torch.zeros(64)]

for call in (call_plain, call_tuned):
    torch.compile(call, backend=backend, fullgraph=True)(torch.randn(64))
print(*graphs)
"""


def test_heuristics_are_in_the_graph(python):
    done = python(PROGRAM)
    assert done.stdout.split("\n")[0] == "['triton_kernel_wrapper_mutation'] ['triton_kernel_wrapper_mutation']", done.stderr
