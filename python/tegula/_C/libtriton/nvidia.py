"""``triton._C.libtriton.nvidia``: cuBLAS, with which upstream's scripts compare their kernels. Here PyTorch calls it."""
import types

_TYPES = ("float8_e4m3fn", "float16", "bfloat16", "float32")


def _type_of(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def _check(method, **tensors):
    """Says what of A (M x K), B (N x K) and the result (M x N), the last one of the tensors, does not fit."""
    (a_name, a), (b_name, b), *_, (name, result) = tensors.items()
    for called, tensor in tensors.items():
        if tensor.ndim != 2:
            raise RuntimeError(f"CublasLt.{method}: {called} has {tensor.ndim} dimensions; matrices have 2")
    kinds = [_type_of(tensor) for tensor in (a, b, result)]
    if len(set(kinds)) > 1:
        raise RuntimeError(f"CublasLt.{method}: the types of {a_name}, {b_name} and {name} differ: {', '.join(kinds)}")
    if kinds[0] not in _TYPES:
        raise RuntimeError(f"CublasLt.{method}: matrices of {kinds[0]} are not multiplied; those of {', '.join(_TYPES)} are")
    (m, k), (n, other) = a.shape, b.shape
    if k != other:
        raise RuntimeError(f"CublasLt.{method}: {a_name} is {m} x {k} and {b_name} is {n} x {other}\n"
                           f"  hint: {b_name} is passed transposed, N x K: b.T.contiguous()")
    if tuple(result.shape) != (m, n):
        raise RuntimeError(f"CublasLt.{method}: {name} is {' x '.join(map(str, result.shape))}, and the product {m} x {n}")
    if kinds[0].startswith("float8") and (n % 16 or k % 16):
        raise RuntimeError(f"CublasLt.{method}: cuBLAS multiplies 8-bit floats where 16 divides N and K, which are {n} and {k}")
    places = {str(tensor.device): called for called, tensor in tensors.items()}
    if len(places) > 1 or not a.is_cuda:
        where = ", ".join(f"{called} on {tensor.device}" for called, tensor in tensors.items())
        raise RuntimeError(f"CublasLt.{method}: cuBLAS works on matrices of one GPU; here are {where}")


class CublasLt:
    """Products of matrices on a GPU. PyTorch computes them, on its current stream: `torch.matmul` and `torch.addmm`, or
    `torch._scaled_mm` with scales of 1, which all call cuBLAS. The algorithm is PyTorch's choice, whether f32 is cut to tf32
    is its setting, and `workspace` is not used: PyTorch has its own. Strides are obeyed."""

    def __init__(self, workspace):
        if not callable(getattr(workspace, "data_ptr", None)):
            raise TypeError(f"CublasLt takes a tensor to work in, not a {type(workspace).__name__}")
        self._workspace, self._one = workspace, None

    def matmul(self, A, B, C):
        """C = A @ B.T, of the element type of A: float16, bfloat16, float32 or float8_e4m3fn."""
        import torch

        _check("matmul", A=A, B=B, C=C)
        if _type_of(A).startswith("float8"):
            out = C if C.is_contiguous() else torch.empty_like(C, memory_format=torch.contiguous_format)
            self._of_bytes(A, B, C.dtype, out=out)
            if out is not C:
                C.copy_(out)
        else:
            torch.matmul(A, B.T, out=C)

    def gemm(self, A, B, C, D, alpha, beta):
        """D = alpha * A @ B.T + beta * C, where C is float16 and shaped as D. 8-bit floats are the nearest ones, up to the
        largest."""
        import torch

        _check("gemm", A=A, B=B, C=C, D=D)
        if _type_of(C) != "float16" or C.shape != D.shape:
            raise RuntimeError(f"CublasLt.gemm: C is float16 of the shape of D, not {_type_of(C)} of {tuple(C.shape)}")
        if _type_of(A).startswith("float8"):
            largest = torch.finfo(D.dtype).max
            D.copy_((alpha * self._of_bytes(A, B, torch.float32) + beta * C.float()).clamp(-largest, largest))
        else:
            torch.addmm(C.to(D.dtype), A, B.T, beta=beta, alpha=alpha, out=D)

    def _of_bytes(self, A, B, dtype, out=None):
        import torch

        if self._one is None or self._one.device != A.device:
            self._one = torch.ones((), device=A.device)
        return torch._scaled_mm(A.contiguous(), B.contiguous().T, scale_a=self._one, scale_b=self._one, out_dtype=dtype,
                                use_fast_accum=True, out=out)


cublas = types.SimpleNamespace(CublasLt=CublasLt)
