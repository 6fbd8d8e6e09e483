"""Timing and comparing, as kernels' own tests and benchmarks want it."""
import math
import time


def _quantile(ordered, q):
    """Linear interpolation between the two nearest ranks."""
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of a call of `fn`: its mean (or min, max, median, all), or quantiles.
    `warmup` and `rep` are milliseconds."""
    if return_mode not in ("mean", "min", "max", "median", "all"):
        raise ValueError(f"return_mode is `{return_mode}`; it is mean, min, max, median or all")
    fn()
    start = time.perf_counter()
    for _ in range(5):
        fn()
    estimate = max((time.perf_counter() - start) * 1e3 / 5, 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    times = []
    for _ in range(max(1, int(rep / estimate))):
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1e3)
    ordered = sorted(times)
    if quantiles is not None:
        found = [_quantile(ordered, q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    return {"all": times, "min": ordered[0], "max": ordered[-1], "median": _quantile(ordered, 0.5),
            "mean": sum(times) / len(times)}[return_mode]


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises AssertionError unless the arrays agree: |x - y| <= atol + rtol * |y|."""
    import numpy

    def array(value):
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            return value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
        return numpy.asarray(value)

    x, y = array(x), array(y)
    atol = atol(x.dtype) if callable(atol) else 1e-2 if atol is None else atol
    rtol = rtol(x.dtype) if callable(rtol) else 0.0 if rtol is None else rtol
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, err_msg=err_msg, equal_nan=True)
