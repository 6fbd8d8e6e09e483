"""Products that upstream's scripts compare theirs with: `triton._C.libtriton.nvidia.cublas`, which PyTorch computes."""
import pytest
import torch

import tegula
from tegula._C.libtriton import amd, nvidia

FP8 = torch.float8_e4m3fn
WORKSPACE = torch.empty(16, dtype=torch.uint8)


def zeros(*shape, dtype=torch.float16):
    return torch.zeros(shape).to(dtype)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device: PyTorch sees none")])])
def device(request, monkeypatch):
    """On the cores the same calls of PyTorch's give the same products; there CublasLt refuses, which is put off."""
    if request.param == "cpu":
        monkeypatch.setattr(nvidia, "_check", lambda method, **tensors: None)
    return request.param


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_products_of_a_matrix_and_a_transposed_one(device, dtype):
    a, b, c = (torch.randn(shape, device=device).to(dtype) for shape in ((32, 64), (48, 64), (32, 48)))
    blas, wanted, c = nvidia.cublas.CublasLt(WORKSPACE.to(device)), a.double() @ b.double().T, c.half()
    out = torch.empty(32, 48, dtype=dtype, device=device)
    blas.matmul(a, b, out)
    torch.testing.assert_close(out.double(), wanted, rtol=2e-2, atol=5e-2)
    blas.gemm(a, b, c, out, 0.5, 2.0)
    torch.testing.assert_close(out.double(), 0.5 * wanted + 2.0 * c.double(), rtol=2e-2, atol=5e-2)


def test_products_of_bytes(device):
    a, b = (torch.randn(shape, device=device).to(FP8) for shape in ((32, 64), (48, 64)))
    blas, wanted = nvidia.cublas.CublasLt(WORKSPACE.to(device)), a.float() @ b.float().T
    out = torch.empty(32, 48, device=device).to(FP8)
    blas.matmul(a, b, out)
    torch.testing.assert_close(out.float(), wanted, rtol=1e-1, atol=2e-2)
    blas.matmul(a, b.T.contiguous().T, transposed := torch.empty(48, 32, device=device).to(FP8).T)
    assert torch.equal(transposed.float(), out.float())
    blas.gemm(a, b, torch.full((32, 48), 9.0, device=device).half(), out, 100.0, 1.0)
    torch.testing.assert_close(out.float(), (100 * wanted + 9).clamp(-448, 448), rtol=1e-1, atol=1e-1)


@pytest.mark.parametrize("a, b, c, message", [
    (zeros(3, 4), zeros(4, 5), zeros(3, 5), "A is 3 x 4 and B is 4 x 5\n  hint: B is passed transposed"),
    (zeros(3, 4), zeros(5, 4), zeros(3, 4), "C is 3 x 4, and the product 3 x 5"),
    (zeros(3, 4), zeros(4), zeros(3, 4), "B has 1 dimensions"),
    (zeros(3, 4).float(), zeros(5, 4), zeros(3, 5), "the types of A, B and C differ: float32, float16, float16"),
    (zeros(3, 4).int(), zeros(5, 4).int(), zeros(3, 5).int(), "matrices of int32 are not multiplied"),
    (zeros(3, 4, dtype=FP8), zeros(5, 4, dtype=FP8), zeros(3, 5, dtype=FP8), "where 16 divides N and K, which are 5 and 4"),
    (zeros(3, 4), zeros(5, 4), zeros(3, 5), "matrices of one GPU; here are A on cpu, B on cpu, C on cpu"),
])
def test_matrices_that_do_not_fit_are_named(a, b, c, message):
    with pytest.raises(RuntimeError, match=f"CublasLt.matmul: .*{message}"):
        nvidia.cublas.CublasLt(WORKSPACE).matmul(a, b, c)


def test_where_scripts_look_for_them():
    assert tegula._C.libtriton.nvidia is nvidia
    with pytest.raises(TypeError, match="a tensor to work in, not a int"):
        nvidia.cublas.CublasLt(1 << 25)
    with pytest.raises(NotImplementedError, match="hint: "):
        amd.hipblas.HipblasLt(WORKSPACE)


def test_there_is_none_without_a_gpu():
    import tegula as triton

    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="there is no GPU"):
            triton.testing.cublas()


def test_nothing_is_collected_while_a_graph_is_captured(monkeypatch):
    import contextlib
    import gc

    import tegula as triton

    @contextlib.contextmanager
    def graph(*args, **kwargs):
        yield args, kwargs, gc.isenabled()

    monkeypatch.setattr(torch.cuda, "graph", graph)
    with pytest.raises(KeyError), triton.testing.cuda_graph_without_gc(3, pool=4) as captured:
        assert captured == ((3,), {"pool": 4}, False) and not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
