"""``triton._internal_testing``: what test suites of kernels share: which machine this is, random arrays by name of type, and
the way from arrays to a kernel's arguments and back."""
import contextlib
import os
import re

import numpy as np
import pytest
import torch

from . import knobs, language as tl
from .runtime.driver import driver
from .runtime.tensors import TensorWrapper, reinterpret

int_dtypes = [f"int{bits}" for bits in (8, 16, 32, 64)]
uint_dtypes = ["u" + name for name in int_dtypes]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = [f"float{bits}" for bits in (16, 32, 64)]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes_with_bfloat16]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter():
    return knobs.runtime.interpret


def get_current_target():
    """The GPUTarget of launches; None where the interpreter runs them."""
    return None if is_interpreter() else driver.active.get_current_target()


def is_cuda():
    target = get_current_target()
    return target is not None and target.backend == "cuda"


def _capability():
    return driver.active.get_device_capability()[0] if is_cuda() else 0


def is_ampere_or_newer():
    return _capability() >= 8


def is_hopper():
    return _capability() == 9


def is_hopper_or_newer():
    return _capability() >= 9


def is_blackwell():
    return _capability() == 10


def is_sm12x():
    return _capability() == 12


def is_hip():
    return False


is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx11 = is_hip_gfx12 = is_hip_gfx1250 = is_xpu = is_hip


def get_hip_lds_size():
    raise NotImplementedError("GPUs of this kind are no target")


def get_arch():
    target = get_current_target()
    return "" if target is None else str(target.arch)


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """An array of random numbers, never 0 where they are integers. bfloat16 numbers are float32 cut to 16 bits; 8-bit
    floats are bytes that stand for ordinary numbers."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = rs or np.random.RandomState(seed=17)
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        drawn = rs.randint(low, high, shape, dtype=dtype_str)
        drawn[drawn == 0] = 1
        return drawn
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    drawn = rs.normal(0, 1, shape)
    if dtype_str in float_dtypes:
        return drawn.astype(dtype_str)
    if dtype_str == "bfloat16":
        return (drawn.astype("float32").view("uint32") & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "bool_", "int1"):
        return drawn > 0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """A tensor for a kernel. PyTorch lacks the wide unsigned types and kernels may want 8-bit floats: then it is wrapped."""
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_of_dtype(x)) if isinstance(x, str) else x


def type_of_dtype(name):
    from ._utils import type_canonicalisation_dict

    return type_canonicalisation_dict[name]


def torch_dtype_name(dtype):
    """float32 of torch.float32 and of tl.float32."""
    if isinstance(dtype, tl.dtype):
        return repr(dtype).rsplit(".", 1)[-1]
    if isinstance(dtype, torch.dtype):
        return re.match(r"^torch\.(\w+)$", str(dtype))[1]
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def to_numpy(x):
    """The array behind a tensor, or behind a wrapped one."""
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(getattr(np, torch_dtype_name(x.dtype)))
    if isinstance(x, torch.Tensor):
        return x.cpu().float().numpy() if x.dtype is torch.bfloat16 else x.cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


def supports_tma(byval_only=False):
    """Tensor descriptors work on every target; kernels need no engine for them."""
    return True


def supports_ws():
    return is_cuda() and _capability() >= 9


def tma_skip_msg(byval_only=False):
    return "tensor descriptors are not supported"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def default_alloc_fn(size, align, _):
    return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())


@contextlib.contextmanager
def _fresh_knobs_impl(skipped_attr=None):
    """Switches as at the start, and as before behind the block."""
    groups = {name: value for name, value in vars(knobs).items()
              if isinstance(value, knobs.base_knobs) and name not in (skipped_attr or ())}
    environment, before = dict(os.environ), {name: dict(vars(group)) for name, group in groups.items()}
    try:
        for group in groups.values():
            for knob in group.knob_descriptors.values():
                os.environ.pop(knob.key, None)
            group.reset()
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        for name, group in groups.items():
            group.reset()
            vars(group).update(before[name])
