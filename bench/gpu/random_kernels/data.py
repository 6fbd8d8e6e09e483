"""Tensors of random kernels, in PyTorch; and how much two results differ.

In: a `Kernel` and a device. Out: its tensors by name, the same for the same seed and device.
"""
import torch

from .kernel import NAME, Kernel

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8": torch.float8_e4m3fn, "i8": torch.int8,
          "i32": torch.int32, "i64": torch.int64}
LARGEST = {"i8": 100, "i32": 1000, "i64": 1000}
POISON = {True: float("nan"), False: -7}  # by whether the type is of floats


def made(kernel: Kernel, device):
    generator = torch.Generator(device=device).manual_seed(kernel.seed)
    return {tensor.name: filled(tensor, generator) for tensor in kernel.tensors}


def filled(tensor, generator):
    device, dtype = generator.device, DTYPES[tensor.dtype]
    if tensor.is_output:
        values = torch.zeros(tensor.shape, device=device)
    elif tensor.filled == "places":
        values = torch.randint(0, tensor.below, tensor.shape, generator=generator, device=device)
    elif tensor.filled == "ends":
        inner = torch.randint(0, tensor.below + 1, (tensor.shape[0] - 2,), generator=generator, device=device)
        values = torch.cat([inner.new_tensor([0]), inner.sort().values, inner.new_tensor([tensor.below])])
    elif tensor.filled == "bits":
        values = torch.randint(-1 << 31, 1 << 31, tensor.shape, generator=generator, device=device)
    elif tensor.filled == "permutation":
        values = torch.randperm(tensor.shape[0], generator=generator, device=device)
    elif tensor.dtype in LARGEST:
        most = LARGEST[tensor.dtype]
        values = torch.randint(-most, most, tensor.shape, generator=generator, device=device)
    else:
        values = torch.randn(tensor.shape, generator=generator, device=device)
    return values.to(dtype)


def poison(kernel, tensors):
    """Before a run whose results count: nothing right is left of the last one."""
    for tensor in kernel.tensors:
        if tensor.is_output:
            is_sum = tensor.filled == "sums"
            tensors[tensor.name].fill_(0 if is_sum else POISON[tensors[tensor.name].is_floating_point()])


def launch(kernel, module, tensors):
    """A function without arguments; it returns what the compiler returns."""
    launcher = getattr(module, NAME)[kernel.grid]
    arguments = [*tensors.values(), *kernel.sizes.values()]
    return lambda: launcher(*arguments, **kernel.options)


def results(kernel, tensors):
    return {name: tensors[name].clone() for name in kernel.outputs}


def difference(found, right):
    """Of two results of a kernel, by output: relative, of integers the share that differs."""
    return {name: difference_of_tensors(found[name], right[name]) for name in right}


def difference_of_tensors(found, right):
    """Floats: of the largest element and, of each element, on average. Where only one is finite, tenfold the share."""
    if not right.is_floating_point():
        return (found != right).double().mean().item()
    found, right = found.double().flatten(), right.double().flatten()
    apart = 10 * (found.isfinite() != right.isfinite()).double().mean().item()
    finite = found.isfinite() & right.isfinite()
    if not finite.any():
        return apart
    off, size = (found - right)[finite].abs(), right[finite].abs()
    return max(apart, (off.max() / (size.max() + 1e-9)).item(), (off / (size + size.mean() + 1e-9)).mean().item())
