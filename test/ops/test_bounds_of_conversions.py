"""Values are bounded to what a narrow type holds, then converted, which saturates (to 8 bits at 16): NaN is what the bounds make of it."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

X = np.array([0.0, -0.0, 1.5, -1.5, 126.9, 127.0, 127.5, 128.0, -127.5, -128.0, -128.9, 254.9, 255.5, 256.0, 447.0, 449.0, 464.0, -464.0,
              6e4, -6e4, 3e9, -3e9, 1e38, -1e38, np.inf, -np.inf, np.nan], np.float32)


@triton.jit
def bounded_kernel(x_ptr, out_ptr, low: tl.constexpr, high: tl.constexpr, FORM: tl.constexpr, n: tl.constexpr):
    i = tl.arange(0, n)
    x = tl.load(x_ptr + i)
    if FORM == "clamp":
        x = tl.clamp(x, low, high)
    elif FORM == "NaN stays":
        x = tl.clamp(x, low, high, propagate_nan=tl.PropagateNan.ALL)
    elif FORM == "below first":
        x = tl.minimum(tl.maximum(x, low), high)
    else:
        x = tl.maximum(tl.minimum(x, high), low)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("form", ["clamp", "NaN stays", "below first", "above first"])
@pytest.mark.parametrize("dtype, low, high", [(torch.int8, -128.0, 127.0), (torch.int8, -127.0, 127.0), (torch.int8, -300.0, 130.0),
                                              (torch.uint8, 0.0, 255.0), (torch.uint8, 1.0, 300.0), (torch.int16, -32768.0, 40000.0),
                                              (torch.float8_e4m3fn, -448.0, 448.0), (torch.float8_e4m3fn, -1.0, 500.0),
                                              (torch.float8_e5m2, -57344.0, 57344.0), (torch.float8_e5m2, -60000.0, 100.0)])
def test_bounds_and_conversion(target, form, dtype, low, high):
    out = torch.zeros(len(X), dtype=dtype)
    bounded_kernel[(1,)](X, out, low, high, form, len(X))
    x = torch.from_numpy(X)
    number = {"clamp": low, "below first": low, "above first": high, "NaN stays": float("nan")}[form]
    bounded = torch.where(x.isnan(), number, x.clamp(low, high))
    if dtype.is_floating_point:
        largest = torch.finfo(dtype).max
        expected = bounded.clamp(-largest, largest).to(dtype)
    else:
        limits = torch.iinfo({torch.int8: torch.int16, torch.uint8: torch.uint16}.get(dtype, dtype))
        expected = torch.where(bounded.isnan(), 0.0, bounded).double().trunc().clamp(limits.min, limits.max).long().to(dtype)
    assert torch.equal(out.float().nan_to_num(7e4), expected.float().nan_to_num(7e4))
