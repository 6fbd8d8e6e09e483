"""Kernel files with a fixed contract, verified and timed: ``tegula verify FILE.py``, ``tegula bench FILE.py``.

A file exports ``kernel_fn``, ``reference_fn`` with the same parameters, and ``get_inputs()``, which returns a list of fresh
tensors. In it ``import triton`` means Tegula. One JSON object goes to stdout; all that the file prints goes to stderr. Exit
status: 0 right, 1 wrong (or it raised), 2 the command line is not understood. Nothing is timed that has not been verified.
"""
import argparse
import contextlib
import importlib.util
import json
import math
import os
import signal
import statistics
import sys
import traceback
from pathlib import Path

from .alias import install_as_triton

NAMES = ("kernel_fn", "reference_fn", "get_inputs")
# (rtol, atol) by the type of what the kernel returns; of types that are not here every element is equal.
TOLERANCES = {"float16": (1e-3, 1e-3), "bfloat16": (1e-2, 1e-2), "float32": (1e-5, 1e-5), "float64": (1e-9, 1e-9)}


class WrongFile(Exception):
    """The file does not keep the contract."""


class NoTorch(WrongFile):
    """This Python has no PyTorch."""


def _need_torch():
    if importlib.util.find_spec("torch") is None:
        raise NoTorch(f"tensors are PyTorch's, and {sys.executable} has none; hint: pip install torch")


class _OnCores:
    """While it lives, what the file wants on a GPU is made on the cores."""

    def __enter__(self):
        from torch.overrides import TorchFunctionMode

        def moved(value):
            return "cpu" if "cuda" in str(value) else value

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                kwargs = dict(kwargs or {})
                if "device" in kwargs:
                    kwargs["device"] = moved(kwargs["device"])
                name = getattr(function, "__name__", "")
                if name == "cuda":
                    return args[0]
                if name == "to":
                    args = (args[0], *(moved(value) if isinstance(value, str) else value for value in args[1:]))
                return function(*args, **kwargs)

        self.mode = Mode()
        return self.mode.__enter__()

    def __exit__(self, *exception):
        return self.mode.__exit__(*exception)


def load(path):
    """The module of a kernel file. WrongFile: it lacks a name of the contract."""
    install_as_triton()
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or not Path(path).is_file():
        raise WrongFile(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    missing = [name for name in NAMES if not callable(getattr(module, name, None))]
    if missing:
        raise WrongFile(f"{path} has no function {', '.join(missing)}; it exports {', '.join(NAMES)}")
    return module


def _tensors(value, place="result"):
    """(place, tensor) of each tensor in what a function returned."""
    if hasattr(value, "detach"):
        yield place, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{place}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            yield from _tensors(item, f"{place}[{number}]")
    elif value is not None:
        import torch
        yield place, torch.as_tensor(value)


class _Difference:
    """The distance of results from their references."""

    def __init__(self, rtol, atol):
        self.rtol, self.atol = rtol, atol
        self.absolute = self.relative = 0.0
        self.wrong, self.notes = False, []

    def fail(self, note):
        self.wrong = True
        self.notes.append(note)

    def add(self, place, ours, theirs):
        import torch

        if tuple(ours.shape) != tuple(theirs.shape):
            return self.fail(f"{place} has shape {tuple(ours.shape)}, the reference {tuple(theirs.shape)}")
        if ours.dtype != theirs.dtype:
            return self.fail(f"{place} is {ours.dtype}, the reference {theirs.dtype}")
        rtol, atol = TOLERANCES.get(str(ours.dtype).removeprefix("torch."), (0.0, 0.0))
        rtol, atol = (rtol if self.rtol is None else self.rtol), (atol if self.atol is None else self.atol)
        wide = torch.complex128 if ours.is_complex() else torch.float64
        ours, theirs = ours.detach().cpu().to(wide).reshape(-1), theirs.detach().cpu().to(wide).reshape(-1)
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        distance = torch.where(same, 0.0, (ours - theirs).abs())
        distance = torch.where(distance.isnan(), math.inf, distance)
        if not distance.numel():
            return None
        limit = torch.where(theirs.isfinite(), atol + rtol * theirs.abs(), 0.0)
        relative = torch.where(same, 0.0, distance / theirs.abs().clamp_min(torch.finfo(torch.float64).tiny))
        self.absolute = max(self.absolute, float(distance.max()))
        self.relative = max(self.relative, float(relative.nan_to_num(nan=math.inf, posinf=math.inf).max()))
        bad = ~(distance <= limit)
        if bad.any():
            first = int(bad.nonzero()[0])
            self.fail(f"{place}: {int(bad.sum())} of {len(bad)} elements differ by more than {atol} + {rtol} * |reference|; "
                      f"element {first} is {ours[first].item()}, the reference {theirs[first].item()}")
        else:
            self.notes.append(f"{place}: {len(bad)} elements within {atol} + {rtol} * |reference|")
        return None


def _number(value):
    return value if math.isfinite(value) else None  # JSON has no infinity


def compare(module, rtol=None, atol=None):
    """Runs the kernel and the reference on the same tensors, each on their first values. A dict as `verify` prints it."""
    inputs = list(module.get_inputs())
    first = [value.detach().clone() if hasattr(value, "detach") else value for value in inputs]
    returned = list(_tensors(module.kernel_fn(*inputs)))
    ours = [(place, tensor.detach().clone()) for place, tensor in returned]
    inside = [(f"input {number}", value.detach().clone()) for number, value in enumerate(inputs) if hasattr(value, "detach")]
    for value, before in zip(inputs, first):
        if hasattr(value, "detach"):
            value.detach().copy_(before)
    theirs = list(_tensors(module.reference_fn(*inputs)))
    difference = _Difference(rtol, atol)
    if not ours:  # the kernel wrote into its inputs
        ours, theirs = inside, [(place, inputs[int(place.split()[1])]) for place, _ in inside]
    if len(ours) != len(theirs):
        difference.fail(f"the kernel returned {len(ours)} tensors, the reference {len(theirs)}")
    elif not ours:
        difference.fail("there is no tensor to compare")
    for (place, tensor), (_, reference) in zip(ours, theirs):
        difference.add(place, tensor, reference)
    return {"correct": not difference.wrong, "max_abs_diff": _number(difference.absolute),
            "max_rel_diff": _number(difference.relative), "details": "; ".join(difference.notes)}


def measure(module, warmup, iterations):
    """Milliseconds of the kernel and of the reference: medians; both take turns. A dict as `bench` prints it."""
    from . import testing

    inputs = list(module.get_inputs())
    clock = testing.stopwatch(inputs)
    functions = {"kernel": lambda: module.kernel_fn(*inputs), "reference": lambda: module.reference_fn(*inputs)}
    times = {name: [] for name in functions}
    for _ in range(warmup):
        for function in functions.values():
            function()
    for _ in range(iterations):
        for name, function in functions.items():
            times[name] += clock.each(function, 1, lambda: None)
    kernel, reference = (statistics.median(times[name]) for name in ("kernel", "reference"))
    return {"kernel_time_ms": kernel, "reference_time_ms": reference, "speedup": reference / max(kernel, 1e-9),
            "warmup_iters": warmup, "benchmark_iters": iterations}


@contextlib.contextmanager
def _stdout_kept():
    """Gives stdout's descriptor for the one object; whatever else is written to stdout, by kernels too, goes to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield kept
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _count_from(least):
    def count(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return int(text)
    return count


def _tolerance(text):
    if not 0 <= float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no tolerance: that is a number from 0 on")
    return float(text)


def _parser():
    parser = argparse.ArgumentParser(prog="tegula", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, text in [("verify", "run a kernel file against its reference"),
                       ("bench", "time a kernel file beside its reference, once it is right")]:
        verb = verbs.add_parser(name, help=text, description=text)
        verb.add_argument("file", help="FILE.py with kernel_fn, reference_fn and get_inputs")
        verb.add_argument("--rtol", type=_tolerance, help="relative tolerance (default: by the type of the results)")
        verb.add_argument("--atol", type=_tolerance, help="absolute tolerance")
        verb.add_argument("--cpu", action="store_true", help="make on the cores what the file wants on a GPU")
        if name == "bench":
            verb.add_argument("--warmup", type=_count_from(0), default=10, help="calls that are not measured (10)")
            verb.add_argument("--iters", type=_count_from(1), default=40, help="calls that are (40)")
    return parser


def run(options):
    """The object that the verb prints."""
    _need_torch()
    with _OnCores() if options.cpu else contextlib.nullcontext():
        module = load(options.file)
        found = compare(module, options.rtol, options.atol)
        if options.verb == "verify" or not found["correct"]:
            return found
        return measure(module, options.warmup, options.iters)


def _answer(options):
    try:
        return run(options)
    except (Exception, SystemExit) as error:  # whatever the file does
        if not isinstance(error, WrongFile):
            traceback.print_exc()
        return {"correct": False, "max_abs_diff": None, "max_rel_diff": None, "details": f"{type(error).__name__}: {error}"}


def main(arguments=None):
    options = _parser().parse_args(arguments)
    try:
        with _stdout_kept() as out:
            answer = _answer(options)
            rest = json.dumps(answer).encode() + b"\n"
            while rest:
                rest = rest[os.write(out, rest):]
    except OSError as error:  # those of the file are in the answer
        print(f"tegula: error: the standard output cannot be written to: {error.strerror}\n"
              "  hint: check where it goes, and the space left there", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # ends as other programs do, so that a shell's loop ends, too
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 0 if answer.get("correct", True) else 1


if __name__ == "__main__":
    sys.exit(main())
