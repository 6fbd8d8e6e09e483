"""Metrics of the frames of a profile, computed from those that are in the file: rates, averages, units, shares."""
import math

from .specs import max_bps, max_flops

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PREFIXES = {"": 1.0, "g": 1e9, "t": 1e12}
_WIDTHS = ("8", "16", "32", "64")
# NAME/s -> the metric that it is a rate of, and its unit
_RATES = {
    **{f"{prefix}flop{width}/s": (f"flops{width}", unit) for prefix, unit in _PREFIXES.items() for width in ("", *_WIDTHS)},
    **{f"{prefix}byte/s": ("bytes", unit) for prefix, unit in _PREFIXES.items()},
}
_NAN = math.nan


def _bare(name):
    """A metric without the unit in its name."""
    return name.split("(")[0].strip().lower()


def known(root):
    """The metrics of a profile: those that are added up, and the others, without their units."""
    own = {name for frame in root.walk() for name in frame.own}
    return sorted({_bare(name) for name in (*root.total, *own)} - {"device_id", "device_type"})


class _Profile:

    def __init__(self, root, devices):
        self.root, self.devices, self.frames = root, devices, list(root.walk())
        self.others = {name: True for frame in self.frames for name in frame.own if name not in root.total}

    def find(self, wanted):
        """The name of a metric in the file, and whether it is added up."""
        for name in (*self.root.total, *self.others):
            if wanted.lower() in (name.lower(), _bare(name)):
                return name, name in self.root.total
        raise ValueError(f"profiler: the profile has no metric `{wanted}`; it has {', '.join(known(self.root)) or 'none'}")

    def values(self, wanted):
        name, is_total = self.find(wanted)
        return [(frame.total if is_total else frame.own).get(name, _NAN) for frame in self.frames]

    def seconds(self, wanted):
        name, _ = self.find(wanted)
        unit = _SECONDS[name.split("(")[1].split(")")[0]] if "(" in name else 1.0
        return [value * unit for value in self.values(wanted)]


def _over(above, below):
    return above / below if below else _NAN


def _times(profile, metric):
    """time/ms, cpu_time/us, avg_time/s: None for another metric."""
    name, _, unit = metric.partition("/")
    if unit not in _SECONDS or name.removeprefix("avg_") not in ("time", "cpu_time"):
        return None
    found = [value / _SECONDS[unit] for value in profile.seconds(name.removeprefix("avg_"))]
    return [_over(value, count) for value, count in zip(found, profile.values("count"))] if name.startswith("avg_") else found


def _share(profile, metric):
    """NAME/%: of the root's, or of all where frames stand for themselves."""
    found = profile.values(metric)
    numbers = [value for value in found if isinstance(value, (int, float)) and not math.isnan(value)]
    whole = found[0] if profile.find(metric)[1] else sum(numbers)
    return [100.0 * _over(value, whole) if isinstance(value, (int, float)) else _NAN for value in found]


def _least_seconds(profile, frame):
    """The time that a frame's work takes at the peaks of its device."""
    kind, index = frame.own["device_type"], frame.own["device_id"]
    device = profile.devices[kind][index]
    multiprocessors = device["num_sms"], device["clock_rate"]
    flops = sum(frame.own[f"flops{width}"] / max_flops(kind, device["arch"], int(width), *multiprocessors)
                for width in _WIDTHS if f"flops{width}" in frame.own)
    moved = frame.own.get("bytes", 0) / max_bps(kind, device["arch"], device["bus_width"], device["memory_clock_rate"])
    return max(flops, moved)


def _util(profile):
    found, name = [], profile.find("time")[0]
    for frame in profile.frames:
        is_kernel = "device_id" in frame.own and frame.own.get(name)
        found.append(_over(_least_seconds(profile, frame), frame.own[name] * _SECONDS["ns"]) if is_kernel else _NAN)
    return found


def _column(profile, metric):
    """The name of a column and its values."""
    if metric == "util":
        return metric, _util(profile)
    if metric in _RATES:
        name, unit = _RATES[metric]
        rows = zip(profile.values(name), profile.seconds("time"))
        return f"{metric} (inc)", [_over(value, seconds) / unit for value, seconds in rows]
    if (times := _times(profile, metric)) is not None:
        return f"{metric} (inc)", times
    name, slash, unit = metric.partition("/")
    if slash and unit != "%":
        raise ValueError(f"profiler: the metric `{metric}` has the unit `{unit}`, which is not known for it")
    found, is_total = profile.find(name)
    suffix = " (inc)" if is_total else ""
    return (f"{metric}{suffix}", _share(profile, name)) if slash else (found + suffix, profile.values(name))


def derive(root, metrics, devices):
    """Gives each frame the values of the metrics, and returns the names that these have there."""
    profile, names = _Profile(root, devices), []
    for metric in metrics:
        if not isinstance(metric, str):
            raise TypeError(f"profiler: a metric is named by text, not by {metric!r}")
        name, values = _column(profile, metric.strip())
        for frame, value in zip(profile.frames, values):
            frame.values[name] = value
        names.append(name)
    return names
