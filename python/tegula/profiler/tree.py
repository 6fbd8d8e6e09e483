"""The tree of a session: frames by their paths, each with the metrics that were added to it, and the file that it is
written to. The file is upstream's: a list of the root frame as the reader Hatchet takes it, and of the devices."""
import json
import math
import numbers
import os
from collections.abc import Mapping

TIME, COUNT = "time (ns)", "count"
RESERVED = {TIME, "time", COUNT, "device_id", "device_type", "cpu_time (ns)", "cpu_time"}
INCLUSIVE, EXCLUSIVE, PROPERTY = "inclusive", "exclusive", "property"
MOST_FRAMES = 100  # of a path: readers of JSON are recursive, and viewers show no more
DEEPER = "<deeper>"
_MARKS = {"(exc)": EXCLUSIVE, "(pty)": PROPERTY}


def _number(value, name, owner):
    if isinstance(value, numbers.Integral):
        return int(value)
    if not isinstance(value, numbers.Real):
        raise TypeError(f"profiler: the metric `{name}` of {owner} is a {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise ValueError(f"profiler: the metric `{name}` of {owner} is {value}, which no sum can have in it")
    return float(value)


def checked(metrics, owner):
    """(name, kind, value) of each metric. Numbers are added up; `NAME (exc)` is not counted among the frames above, and
    `NAME (pty)` is a property, a number or text, of which the last one holds."""
    if not isinstance(metrics, Mapping):
        raise TypeError(f"profiler: the metrics of {owner} are a {type(metrics).__name__}, not a dictionary")
    rows = []
    for key, value in metrics.items():
        if not isinstance(key, str):
            raise TypeError(f"profiler: a metric of {owner} is named by {key!r}, not by text")
        mark = next((mark for mark in _MARKS if key.endswith(mark)), "")
        name, kind = key.removesuffix(mark).rstrip(), _MARKS.get(mark, INCLUSIVE)
        if not name or name in RESERVED:
            raise ValueError(f"profiler: {owner} cannot have a metric named `{name}`: the profiler writes that one")
        if isinstance(value, str) and kind != INCLUSIVE:
            rows.append((name, PROPERTY, value))
        else:
            rows.append((name, kind, _number(value, name, owner)))
    return rows


class Frame:
    """One line of the tree."""

    __slots__ = ("name", "children", "metrics")

    def __init__(self, name):
        self.name, self.children, self.metrics = name, {}, {}

    def literal(self):
        return {"children": [child.literal() for child in self.children.values()],
                "frame": {"name": self.name, "type": "function"}, "metrics": dict(self.metrics)}


class Tree:
    """All frames of a session. Its owner keeps threads apart."""

    def __init__(self):
        self.root, self.inclusive, self.devices = Frame("ROOT"), {}, {}

    def frame(self, path, device=None):
        """The frame at the end of a path of names; one of each device that it ran on."""
        found, last = self.root, len(path) - 1
        if last >= MOST_FRAMES:
            path = (*path[:MOST_FRAMES - 2], DEEPER, path[-1])
            last = MOST_FRAMES - 1
        for index, name in enumerate(path):
            key = (name, device if index == last else None)
            if key not in found.children:
                found.children[key] = Frame(name)
            found = found.children[key]
        return found

    def add(self, frame, rows):
        for name, kind, value in rows:
            if kind == INCLUSIVE:
                self.inclusive[name] = 0
            frame.metrics[name] = value if kind == PROPERTY else frame.metrics.get(name, 0) + value

    def add_time(self, frame, device, nanoseconds):
        """One more run, on a device (type, index)."""
        self.devices[device] = True
        self.add(frame, [(TIME, INCLUSIVE, nanoseconds), (COUNT, INCLUSIVE, 1)])
        frame.metrics.update(device_type=device[0], device_id=device[1])

    def literal(self, describe):
        """The content of the file; `describe` tells what a device is. The root names the metrics that readers add up."""
        root, devices = self.root.literal(), {}
        root["metrics"] = dict.fromkeys(self.inclusive, 0)
        for kind, index in sorted(self.devices):
            devices.setdefault(kind, {})[index] = describe(kind, index)
        return [root, devices]


def write(path, content):
    """Writes a file whole or not at all."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, allow_nan=False)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
