"""``triton.profiler.specs``: the peaks that the metric `util` compares with, from what a profile says of its devices."""

# 8-bit floating-point operations a second, as upstream's proton counts them; a type of twice the width has half of it.
_FLOPS8 = {
    "80": lambda multiprocessors, kilohertz: 624e12,
    "89": lambda multiprocessors, kilohertz: 330.3e12,
    "90": lambda multiprocessors, kilohertz: 1513e12 * multiprocessors / 114 * kilohertz / 1755e3,
    "100": lambda multiprocessors, kilohertz: 16384e3 * multiprocessors * kilohertz,
}


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Floating-point operations a second of types of `width` bits; `clock_rate` is in kHz."""
    if device_type != "CUDA" or arch not in _FLOPS8:
        raise ValueError(f"profiler: the peak of the device {device_type} {arch} is not known here")
    return _FLOPS8[arch](num_sms, clock_rate) / (width / 8)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Bytes a second of the memory: `bus_width` in bits, `memory_clock_rate` in kHz, two transfers a clock."""
    if device_type != "CUDA":
        raise ValueError(f"profiler: the bandwidth of the device {device_type} {arch} is not known here")
    return 2 * bus_width * memory_clock_rate * 1e3 / 8
