"""Measures a case: each contestant's best configuration, then all contestants in turn, round after round.

Contestants see the same tensors. Each result is checked before it is timed, outputs poisoned before. The first
contestant runs twice a round: the ratio of its two medians is the A-against-A spread, what equal looks like here.
A contestant that fails is reported with its error, and the others go on.
"""
import gc
import math
import statistics
from dataclasses import dataclass, field

import torch

import sources

GRAPH_SECONDS = 2e-3   # of launches in one graph, at least
ROUNDS, REPLAYS, EVENTS = 7, 3, 15
MADE = "made"  # where a launch that cannot write into `out` leaves what it made; `out` itself stays, graphs point at it


class DeviceLost(Exception):
    """The device's context is gone: nothing more can run in this process."""


@dataclass
class Case:
    part: str
    name: str
    bytes: int          # of one call: each input once, each output once
    make: object        # generator -> {name: tensor}, a set of inputs and outputs
    outputs: tuple      # names of the outputs in a set
    contestants: dict   # name -> [(configuration, what launches on a set)], or an exception
    error: object       # set, after a call -> what it is off by, relative
    allowed: float
    details: dict = field(default_factory=dict)
    prepare: object = None  # set -> puts back what calls change in place; it runs before a call that is checked


def lost(error):
    text = str(error).lower().replace("_", " ")
    return any(sign in text for sign in ("illegal memory access", "illegal address", "launch failure", "launch failed",
                                         "device-side assert", "misaligned address", "illegal instruction",
                                         "launch timed out", "hardware stack error", "context is destroyed"))


def describe(error):
    """The error in a few lines; an error of the device ends the process' measuring."""
    text = f"{type(error).__name__}: {error}".strip()
    if lost(error):
        raise DeviceLost(text[:600]) from error
    return text[:600]


def properties(compiled):
    """Registers and the like, where the compiler says them."""
    found = {}
    for name in ("n_regs", "n_spills", "shared", "num_warps"):
        value = getattr(compiled, name, None)
        if value is None:
            value = getattr(getattr(compiled, "metadata", None), name, None)
        if isinstance(value, int):
            found[name] = value
    return found


def make_sets(case, clock):
    """Sets of tensors that together are larger than three times the cache."""
    generator = torch.Generator(device=clock.device).manual_seed(1)
    first = case.make(generator)
    size = sum(tensor.numel() * tensor.element_size() for tensor in first.values())
    return [first] + [case.make(generator) for _ in range(math.ceil(3 * clock.cache_bytes / size))]


def checked(case, launch, tensors, clock):
    """Runs once over poisoned outputs; what the compiler returned, and the error."""
    for name in case.outputs:
        tensors[name].fill_(float("nan") if tensors[name].dtype.is_floating_point else -7)
    if case.prepare:
        case.prepare(tensors)
    sources.last_compiled = None
    launch(tensors)
    clock.finish()
    made = tensors.pop(MADE, None)
    return sources.last_compiled, float(case.error(tensors if made is None else {**tensors, "out": made}))


def record(launch, sets, clock):
    """(graph, launches): enough launches that the gaps around the graph do not count."""
    for tensors in sets:
        launch(tensors)
    once = statistics.median(clock.events(lambda: launch(sets[0]), 5))
    turns = max(1, min(2000, math.ceil(GRAPH_SECONDS / once)) // len(sets))
    calls = [lambda tensors=tensors: launch(tensors) for tensors in sets] * turns
    return clock.record(calls), len(calls)


def try_configurations(case, configurations, sets, clock, keep):
    """Quick times of all; (entry, best launch, its graph, launches in it)."""
    entry, best = {"configurations": {}}, None
    for label, launch in configurations:
        try:
            compiled, error = checked(case, launch, sets[0], clock)
            row = {"error": error, **properties(compiled)}
            if not error <= case.allowed:  # NaN never passes
                row["wrong"] = True
            else:
                graph, launches = record(launch, sets, clock)
                row["seconds"] = min(clock.graph(graph, launches, 3))
                keep(label, compiled)
                if best is None or row["seconds"] < best[0]:
                    best = row["seconds"], label, launch, graph, launches
        except Exception as problem:
            row = {"failed": describe(problem)}
        entry["configurations"][label] = row
    if best is None:
        return entry, None
    entry["best"] = best[1]
    return entry, best[2:]


def measure(case, clock, keep=lambda contestant, label, compiled: None):
    sets = make_sets(case, clock)
    result = {"part": case.part, "name": case.name, "bytes": case.bytes, "allowed": case.allowed, "sets": len(sets),
              **case.details, "contestants": {}}
    running = {}
    for name, configurations in case.contestants.items():
        if isinstance(configurations, Exception):
            result["contestants"][name] = {"failed": describe(configurations)}
            continue
        entry, best = try_configurations(case, configurations, sets, clock,
                                         lambda label, compiled, name=name: keep(name, label, compiled))
        result["contestants"][name] = entry
        if best is not None:
            running[name] = best
    time_in_turn(running, sets, clock, result)
    summarise(result)
    running.clear()
    sets.clear()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return result


def time_in_turn(running, sets, clock, result):
    series = list(running.items())
    if series:
        series.append((series[0][0] + " again", series[0][1]))
    samples = {name: {"graph": [], "event": []} for name, _ in series}
    for _ in range(ROUNDS):
        for name, (launch, graph, launches) in series:
            samples[name]["graph"].append(statistics.median(clock.graph(graph, launches, REPLAYS)))
        for name, (launch, _, _) in series:
            samples[name]["event"].append(statistics.median(clock.events(lambda: launch(sets[0]), EVENTS)))
    for name, kinds in samples.items():
        entry = result["contestants"].setdefault(name, {})
        for kind, seconds in kinds.items():
            entry[kind] = {"median": statistics.median(seconds), "min": min(seconds), "max": max(seconds)}


def summarise(result):
    """Ratios of times: ours over upstream, ours again over ours."""
    entries = result["contestants"]

    def median(name, kind):
        return entries.get(name, {}).get(kind, {}).get("median")

    for kind in ("graph", "event"):
        ours, upstream, again = (median(name, kind) for name in ("ours", "upstream", "ours again"))
        summary = {}
        if ours and upstream:
            summary["ratio"] = ours / upstream
        if ours and again:
            summary["spread"] = again / ours
        if ours and result["bytes"]:
            summary["bytes per second"] = result["bytes"] / ours
        result[kind] = summary
