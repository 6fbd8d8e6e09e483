"""Measuring configurations on the arguments of a call, for the library's tuner: how one is compiled, run and put back."""
import os
import sys
from contextlib import contextmanager

from .. import _tegula as core
from ..errors import BudgetError, CompileTimeAssertionFailure, OptionError, OutOfResources, ToolchainError
from ..testing import stopwatch
from .driver import driver
from .tensors import TensorWrapper

REFUSALS = (OutOfResources, BudgetError, CompileTimeAssertionFailure, ToolchainError)  # others may run all the same
_MOST_STAGES = 64  # that a launch takes; to upstream, more are out of shared memory


@contextmanager
def refusing(config):
    """A configuration with more stages than there are is one that cannot run, and no mistake of the call."""
    try:
        yield
    except OptionError as error:
        stages = getattr(config, "num_stages", None)
        if not isinstance(stages, int) or stages <= _MOST_STAGES:
            raise
        raise OutOfResources(stages, _MOST_STAGES, "stages", str(error), error.diagnostics) from error


def listed(configs):
    """The configurations that autotune was given; objects of other classes than Config will do."""
    is_list = hasattr(configs, "__iter__") and not isinstance(configs, str)
    given = list(configs) if is_list else [] if configs is None else [configs]
    for each in given:
        if not is_list or not hasattr(each, "all_kwargs"):
            raise TypeError(f"autotune takes a list of triton.Config; here is {each!r}\n"
                            '  hint: configs=[triton.Config({"BLOCK": 128}, num_warps=4), ...]')
    return given


def copied(array):
    return array.clone() if hasattr(array, "clone") else array.copy()


def restore(array, saved):
    if hasattr(array, "copy_"):
        array.copy_(saved)
    else:
        array[...] = saved


def is_array(value):
    return hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and hasattr(value, "__setitem__"))


def arrays_in(value, name):
    """(name, array) of all arrays in an argument: itself, the elements of a tuple, what a descriptor describes."""
    if is_array(value):
        yield name, value
    elif isinstance(value, (tuple, list)):
        for number, element in enumerate(value):
            yield from arrays_in(element, f"{name}.{number}")
    elif is_array(getattr(value, "base", None)):
        yield None, value.base


def _is_copied(array):
    """Can its elements be saved and put back? An object that has an address and a type alone says no size."""
    return hasattr(array, "clone") and hasattr(array, "copy_") or hasattr(array, "__array_interface__")


def _whole(array):
    """All the memory that a kernel reaches from an array: of a view that of which it is one, if that is not much more."""
    if isinstance(array, TensorWrapper):
        return _whole(array.base)
    if hasattr(array, "untyped_storage"):
        storage = array.untyped_storage()
        if array.numel() and 0 < storage.nbytes() <= max(4 * array.numel() * array.element_size(), 1 << 26):
            import torch

            return torch.empty(0, dtype=torch.uint8, device=array.device).set_(storage)
        return array
    while getattr(array, "base", None) is not None and is_array(array.base):
        array = array.base
    return array


def _size(array):
    array = array.base if isinstance(array, TensorWrapper) else array
    return int(array.numel() if hasattr(array, "numel") else array.size)


def _saved(array):
    """(all of its memory, a copy)"""
    whole = _whole(array)
    return whole, copied(whole)


class Measured:
    """One configuration, compiled; its runs leave the arrays as they were."""

    def __init__(self, tuner, config, args, grid, meta):
        self.tuner, self.config, self.args, self.grid = tuner, config, args, grid
        self.options = {**meta, **config.all_kwargs()}
        given = tuner.named(args, meta)
        self.full = {**given, **self.options}
        self.is_prepared = False
        before = self._call_hooks(given)
        self.kernel = self._compiled()
        pairs = [before.get(id(array)) or _saved(array) for array in self._written(given)]
        self.arrays, self.saved = [array for array, _ in pairs], [saved for _, saved in pairs]
        self.clock = stopwatch([array for value in given.values() for _, array in arrays_in(value, "")],
                               getattr(self.kernel, "target", None) == "cuda")

    def _call_hooks(self, given):
        """A hook may change what is compiled, the block of a descriptor; and arrays, which are saved before: {id: _saved}"""
        if not self.config.pre_hook and not self.tuner.user_defined_pre_hook:
            return {}
        try:
            before = {id(array): _saved(array) for value in given.values() for _, array in arrays_in(value, "")
                      if _is_copied(array)}
        except (RuntimeError, MemoryError):  # there is no room for all; those that are written are saved later
            before = {}
        self.tuner._prepare(self.config, self.full)
        self.is_prepared = True  # the first run is the one that these calls belong to
        return before

    def _compiled(self):
        try:
            with refusing(self.config):
                kernel = self.tuner.fn.warmup(*self.args, grid=self.grid, **self.options)
                if getattr(kernel, "target", None) == "cuda" and hasattr(kernel.function, "prepare"):
                    kernel.function.prepare(self._extents())  # beside the other configurations, as the compile
                return kernel
        except Exception as error:
            if self.is_prepared:
                self.tuner.post_hook(self.full, exception=error)
            raise

    def _extents(self):
        """Of the grid, as a launch asks for it."""
        if not callable(self.grid):
            return core.grid_of(self.grid)
        defaults = {p.name: p.default for p in getattr(self.tuner.jit_fn, "params", ()) if p.has_default}
        return core.grid_of(self.grid({**defaults, **self.full}))

    def _written(self, given):
        """The arrays that the kernel may store to; all of them, where their names do not say which."""
        arguments = getattr(self.kernel, "arguments", None)  # None of a kernel that a wrapper keeps to itself
        written = {argument.name for argument in arguments or () if argument.is_written}
        known = [(path, array) for name, value in given.items() for path, array in arrays_in(value, name) if _is_copied(array)]
        chosen = [array for name, array in known if name in written]
        names = {path for name, value in given.items() for path, _ in arrays_in(value, name)}
        return chosen if arguments is not None and written <= names else [array for _, array in known]

    def put_back(self):
        for array, saved in zip(self.arrays, self.saved):
            restore(array, saved)

    def _prepare(self):
        if self.is_prepared:
            self.is_prepared = False
            return
        self.put_back()
        self.tuner._prepare(self.config, self.full)

    def _launch(self):
        self.tuner._launch(self.args, self.grid, self.options, self.full)

    def run(self, count):
        """The milliseconds of each of some runs."""
        times = self.clock.each(self._launch, count, self._prepare)
        self.put_back()
        return times

    def once(self):
        self._prepare()
        self._launch()
        self.put_back()

    def warm_up(self, milliseconds):
        spent = 0.0
        while spent < milliseconds:
            spent += sum(self.run(1))


def _text(config):
    override = getattr(config, "ir_override", None)
    return f"{config}, ir_override: {override}" if override else str(config)


class Tuning:
    """The configurations of one tuning, as the library asks for them."""

    def __init__(self, tuner, key, configs, args, options):
        self.tuner, self.key, self.configs, self.args, self.options = tuner, key, configs, args, options
        self.measured, self.own_times, self.refusals = {}, {}, {}
        self.meta = {name: value for name, value in options.items() if name != "grid"}

    def run(self):
        """(number of the best, rows, remarks)"""
        tuner = self.tuner
        is_ours = not tuner._measures_itself()
        # A hook may change what the arguments are; a subclass's own way may compile something else.
        late = tuple(self._is_late(config) for config in self.configs)
        keeps = is_ours and not any(late) and not tuner.user_defined_pre_hook and not tuner.user_defined_post_hook
        threads = len(os.sched_getaffinity(0))
        target = getattr(tuner.jit_fn, "target", "cpu")
        beside = target not in ("cpu", "interp", "ptxvm")
        milliseconds = float(tuner.num_reps or 20)
        return core.tune(tuple(map(_text, self.configs)), late, self.compile, self.measure if is_ours else self.measure_itself,
                         not is_ours, beside, threads, milliseconds, True, self._subject() if keeps else None, repr(self._call()),
                         self._sizes())

    def _is_late(self, config):
        return bool(config.pre_hook) or self.tuner.user_defined_pre_hook or self.tuner._has_own_bench()

    def _subject(self):
        return f"{self.tuner.__name__} for {driver.active.get_current_target()} {self._device()} {len(os.sched_getaffinity(0))}"

    def _device(self):
        arrays = [array for value in self.tuner.named(self.args, self.meta).values() for _, array in arrays_in(value, "")]
        torch = sys.modules.get("torch")
        for array in arrays:
            if getattr(array, "is_cuda", False) is True:
                return torch.cuda.get_device_name(array.device)
        if not arrays and torch is not None and torch.cuda.is_initialized():  # numbers alone go where PyTorch works
            return torch.cuda.get_device_name()
        return "cores"

    def _call(self):
        """The key of the choice without its numbers."""
        return tuple("int" if type(value) is int else value for value in self.key)

    def _sizes(self):
        numbers = [value for value in self.key if type(value) is int and -2**63 <= value < 2**63]
        given = self.tuner.named(self.args, self.meta).values()
        sizes = [_size(array) for value in given for _, array in arrays_in(value, "") if _is_copied(array)]
        return tuple(numbers + sizes)

    def compile(self, number):
        """(runs, digest or reason); of any thread."""
        config = self.configs[number]
        if self.tuner._has_own_bench():
            return True, ""
        if self._is_late(config):
            return True, f"late {number}"
        try:
            with refusing(config):
                kernel = self.tuner.fn.warmup(*self.args, grid=self.options["grid"], **{**self.meta, **config.all_kwargs()})
        except REFUSALS as refusal:
            return self._refused(number, refusal)
        raw = getattr(kernel, "_raw", None)
        return True, "" if raw is None else f"{core.digest_of(raw)} {self._grid(config, number)} {config.ir_override}"

    def _grid(self, config, number):
        """Equal code on another grid is another launch. A kernel that is wrapped may be launched with more arguments than are
        known here; what its grid is, is known when it runs."""
        grid = self.options["grid"]
        if callable(grid):
            given = {**self.tuner.named(self.args, self.meta), **config.all_kwargs()}
            function = self.tuner.fn
            while function is not self.tuner.jit_fn:
                if hasattr(function, "computed"):
                    given.update(function.computed((), given))
                function = function.fn
            try:
                grid = grid(given)
            except Exception:
                if self.tuner.fn is self.tuner.jit_fn:
                    raise
                return f"unknown {number}"
        return tuple(grid)

    def measure(self, number, runs):
        """(runs, milliseconds or reason)"""
        measured = self.measured.get(number)
        try:
            if measured is None:
                measured = self.measured[number] = Measured(self.tuner, self.configs[number], self.args, self.options["grid"],
                                                            self.meta)
                measured.once()
                measured.warm_up(self.tuner.num_warmups or 0)
            return True, measured.run(runs)
        except REFUSALS as refusal:
            return self._refused(number, refusal)

    def _refused(self, number, refusal):
        self.refusals[number] = refusal
        return False, str(refusal)

    def measure_itself(self, number, _):
        """The same where something else than this module measures: what it says counts as it is."""
        times = self.tuner._bench(*self.args, config=self.configs[number], **self.options)
        self.own_times[number] = times
        three = list(times)[:3] if isinstance(times, (list, tuple)) else [times]
        three = [float(value) for value in three + [three[-1]] * (3 - len(three))]
        return (False, "it cannot run") if three[0] == float("inf") else (True, three)
