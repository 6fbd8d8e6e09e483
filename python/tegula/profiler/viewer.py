"""``triton.profiler.viewer`` (upstream's `proton-viewer`): a profile as a tree of text. `parse` reads a file and computes
metrics of its frames, `print_tree` prints them; neither needs Hatchet or pandas, so that `parse` returns a `Frame` of ours
and no GraphFrame.

    python -m tegula.profiler.viewer -m tflop16/s,time/ms matmul.hatchet

A frame's time and amounts have those below it in them. `nan` is the value of a frame that has none."""
import argparse
import json
import re
import sys

from .metrics import derive, known
from .scopes import METADATA_SCOPE

_FORMATS = ("full", "file_function_line", "function_line", "file_function")


class Frame:
    """A frame of a profile: its name, its children, its own metrics, `total` of those that are added up, and the `values` of
    the metrics that were asked for."""

    def __init__(self, literal, children):
        self.name, self.own, self.children = literal["frame"]["name"], literal["metrics"], children
        self.total, self.values = {}, {}

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


def _frame(literal):
    """Frames of launch_metadata's own launches are left out, and those with nothing in them."""
    children = [found for found in map(_frame, literal["children"]) if found is not None]
    is_empty = not literal["metrics"] and not children
    return None if is_empty or literal["frame"]["name"].partition(":")[0] == METADATA_SCOPE else Frame(literal, children)


def _sum(frame, names):
    for child in frame.children:
        _sum(child, names)
    for name in names:
        parts = [frame.own[name]] if name in frame.own else []
        parts += [child.total[name] for child in frame.children if name in child.total]
        if parts:
            frame.total[name] = sum(parts)


def _load(filename):
    """The root and the devices of a file."""
    with open(filename, encoding="utf-8") as file:
        try:
            root, devices = json.load(file)
            frame = _frame(root) or Frame(root, [])
            _sum(frame, [name for name, value in root["metrics"].items() if isinstance(value, (int, float))])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"profiler: {filename} is no profile: {type(error).__name__}: {error}") from None
    return frame, devices


def _keep(frame, decide):
    """The tree of frames of which `decide(frame, children kept)` holds."""
    frame.children = [child for child in frame.children if _keep(child, decide)]
    return decide(frame, frame.children)


def _mark_included(frame, pattern, is_below, kept):
    is_in = is_below or bool(pattern.match(frame.name))
    for child in frame.children:
        _mark_included(child, pattern, is_in, kept)
    if is_in or any(id(child) in kept for child in frame.children):
        kept.add(id(frame))


def _filter(root, include, exclude, threshold, metric):
    if include:
        kept, pattern = set(), _pattern(include)
        _mark_included(root, pattern, False, kept)
        _keep(root, lambda frame, children: id(frame) in kept)
    if exclude:
        pattern = _pattern(exclude)
        _keep(root, lambda frame, children: not pattern.match(frame.name))
    if threshold is not None:
        _keep(root, lambda frame, children: bool(children) or _is_at_least(frame.values[metric], threshold))


def _pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"profiler: {text!r} is no regular expression: {error}") from None


def _is_at_least(value, threshold):
    return isinstance(value, (int, float)) and value >= threshold


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """The root of the profile in a file, and the names of the metrics that were computed.

    `include` keeps the frames on paths through one whose name matches from its beginning (`re.match`), `exclude` drops the
    matching ones and all below, `threshold` those below which, and in which, the first metric is less. What is dropped stays
    in the sums of the frames above. The root stays."""
    metrics = metrics.split(",") if isinstance(metrics, str) else list(metrics or ())
    if not metrics:
        raise ValueError("profiler: which metrics? show_metrics tells those of a file")
    root, devices = _load(filename)
    names = derive(root, metrics, devices)
    _filter(root, include, exclude, threshold, names[0])
    return root, names


def _shown(name, format):
    """A frame FILE:LINE@FUNCTION as it is to be shown; other names stay, or lose what they have before the last `/`."""
    if format == "file_function_line":
        return name.split("/")[-1]
    if format == "function_line":
        return name.split(":")[-1]
    if format == "file_function":
        last = name.split("/")[-1]
        return f"{last.split(':')[0]}@{last.split('@')[-1]}" if "@" in last else last
    return name


def _text(value):
    return f"{value:.3f}" if isinstance(value, (int, float)) else str(value)


def _lines(frame, metrics, depth, format, before="", branch=""):
    yield f"{before}{branch}{' '.join(_text(frame.values[name]) for name in metrics)} {_shown(frame.name, format)}"
    if depth > 1:
        before += {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for child in frame.children:
            branch = "└─ " if child is frame.children[-1] else "├─ "
            yield from _lines(child, metrics, depth - 1, format, before, branch)


def _print(text):
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(str.maketrans("├└│─", "|`|-")).encode(encoding, "backslashreplace").decode(encoding)
    print(text)


def print_tree(gf, metrics, depth=100, format=None, print_sorted=False):
    """Prints what `parse` returned: a line a frame, the metrics before its name. `depth` counts levels; `print_sorted` adds the
    frames by the first metric."""
    if format not in (None, *_FORMATS):
        raise ValueError(f"profiler: format is {format!r}; it is one of {', '.join(_FORMATS)}")
    metrics = [metrics] if isinstance(metrics, str) else list(metrics)
    if missing := [name for name in metrics if name not in gf.values]:
        raise ValueError(f"profiler: the tree has no {missing[0]!r}; it was parsed for {', '.join(gf.values)}")
    _print("\n".join(_lines(gf, metrics, max(depth, 1), format)))
    if print_sorted:
        first = metrics[0]
        frames = [frame for frame in list(gf.walk())[1:] if _is_at_least(frame.values[first], float("-inf"))]
        _print(f"\nSorted by {first}")
        for frame in sorted(frames, key=lambda frame: -frame.values[first]):
            _print(f"{_text(frame.values[first])} {_shown(frame.name, format)}")


def show_metrics(file_name):
    """Prints the metrics that are in a file."""
    _print("\n".join(known(_load(file_name)[0])))


def read(filename):
    """Upstream's, for those who go on with Hatchet."""
    raise NotImplementedError(f"profiler: `read` would return {filename} as a GraphFrame of Hatchet\n  hint: `parse` makes a "
                              "tree of ours; hatchet.GraphFrame.from_literal takes the file but for its last element")


def main():
    parser = argparse.ArgumentParser(prog="proton-viewer", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("-l", "--list", action="store_true", help="the metrics that are in the file")
    parser.add_argument("-m", "--metrics", help="with commas: names of the list, time/ms, avg_time/us, cpu_time/ms, tflop16/s, "
                        "gbyte/s, util, time/%%")
    parser.add_argument("-i", "--include", help="paths through frames that match this expression")
    parser.add_argument("-e", "--exclude", help="no frames that match this expression, and none below them")
    parser.add_argument("-t", "--threshold", type=float, help="frames whose first metric is at least this")
    parser.add_argument("-d", "--depth", type=int, default=100)
    parser.add_argument("-f", "--format", choices=_FORMATS, default="full", help="of frames FILE:LINE@FUNCTION")
    parser.add_argument("--print-sorted", action="store_true", help="the frames by the first metric, too")
    options = parser.parse_args()
    if options.include and options.exclude:
        parser.error("--include or --exclude, not both")
    try:
        if options.list:
            return show_metrics(options.file)
        tree, metrics = parse(options.metrics, options.file, options.include, options.exclude, options.threshold)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return print_tree(tree, metrics, options.depth, options.format, options.print_sorted)


if __name__ == "__main__":
    main()
