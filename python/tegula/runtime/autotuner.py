"""autotune and heuristics: choosing constants of a kernel by measuring, or by a rule.

A configuration is timed on the caller's own arguments. What a run writes is put back after each, so
that kernels which work in place stay right: the arrays that a compiled kernel stores to are known."""
import time
import warnings

from .. import _tegula as core
from .. import knobs
from ..errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources, PTXASError, retold  # noqa: F401
from ..testing import do_bench_cudagraph, is_device_clock, summary
from .autotune_files import TimingFile
from .jit import JITFunction, KernelInterface, with_tensors  # noqa: F401
from .tuning import REFUSALS, Measured, Tuning, copied, is_array, listed, restore


MOST_MILLISECONDS = 125  # of the clock on the wall, for the runs of one configuration


class Config:
    """Constants of a kernel, and options of its launch."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps, self.num_stages, self.num_ctas = num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override

    def all_kwargs(self):
        options = {name: getattr(self, name) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __str__(self):
        options = {name: getattr(self, name) for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")}
        return ", ".join(f"{name}: {value}" for name, value in {**self.kwargs, **options}.items())

    def __repr__(self):
        return f"Config({self})"

    def _key(self):
        return tuple(sorted((name, repr(value)) for name, value in self.all_kwargs().items()))

    def __eq__(self, other):
        return isinstance(other, Config) and self._key() == other._key() and self.pre_hook is other.pre_hook

    def __hash__(self):
        return hash(self._key())


def _ranking(measured):
    """What configurations are ordered by: a number of milliseconds, or quantiles, the first of which counts first."""
    return tuple(measured) if isinstance(measured, (tuple, list)) else (measured,)


def _kernel(fn, decorator):
    """What is decorated has to be a kernel already."""
    if hasattr(fn, "arg_names"):
        return fn
    raise TypeError(f"@triton.{decorator} decorates a kernel, and `{getattr(fn, '__name__', fn)}` is none yet\n"
                    f"  hint: write @triton.jit directly above `def`, below @triton.{decorator}")


class _Wrapper(KernelInterface):
    """What autotune and heuristics have in common: a kernel inside, and its parameters."""

    def __init__(self, fn, arg_names):
        self.fn, self.arg_names = fn, list(arg_names)
        self.jit_fn = fn
        while hasattr(self.jit_fn, "fn") and not isinstance(self.jit_fn, core.Function):
            self.jit_fn = self.jit_fn.fn
        self.base_fn = self.jit_fn.fn if isinstance(self.jit_fn, core.Function) else self.jit_fn
        self._rest_place = getattr(self.jit_fn, "rest_place", None)
        self._defaults = {p.name: p.default for p in getattr(self.jit_fn, "params", ()) if p.has_default}
        self.__name__, self.__doc__ = self.jit_fn.__name__, self.jit_fn.__doc__

    def named(self, args, kwargs):
        """All arguments by name, with defaults."""
        return {**self._defaults, **self.by_name(args), **kwargs}

    def by_name(self, args):
        """Arguments that are given without a name."""
        return dict(zip(self.arg_names, args)) if self._rest_place is None else self.jit_fn.by_name(args)

    def __call__(self, *args, **kwargs):
        return self.jit_fn(*args, **kwargs)


class Autotuner(_Wrapper):
    """A kernel that is run with the best of several configurations. Libraries subclass it: `run`, `_bench`,
    `prune_configs`, `pre_hook` and `post_hook` are called as upstream calls them."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
        super().__init__(fn, arg_names)
        if key is None:
            raise TypeError("autotune: key is None; it is a list of parameters' names\n  hint: key=[] measures once")
        self.configs = listed(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self.restore_copies, self.nargs = {}, None
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        self.pre_hook, self.post_hook = pre_hook or self._reset_and_save, post_hook or self._restore
        self._set_pruning(prune_configs_by or {})
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench, self.cache_results = do_bench, cache_results
        self.cache, self.configs_timings, self.best_config, self.bench_time = {}, {}, None, None
        self.tuning_remarks = []
        self._check_names()

    def _check_names(self):
        """Upstream 3.9 refuses a key without a parameter, 3.6 says nothing, and people have such keys."""
        for where, names in (("key", self.keys), ("reset_to_zero", self.reset_to_zero), ("restore_value", self.restore_value)):
            for name in names:
                if name in self.arg_names:
                    continue
                text = (f"autotune: {where} names `{name}`, which is no parameter of `{self.__name__}`\n"
                        f"  hint: its parameters: {', '.join(self.arg_names)}")
                if where != "key":
                    raise ValueError(text)
                warnings.warn(text, stacklevel=4)

    def _set_pruning(self, prune):
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model, self.configs_top_k = prune.get("perf_model"), prune.get("top_k", 1.0)

    def _reset_and_save(self, kwargs, reset_only=False):
        """The hook before a run: zeroes, and saves what is to be restored. A call may leave such an argument out, by None."""
        for name in self.reset_to_zero:
            if kwargs[name] is not None:
                restore(kwargs[name], 0) if not hasattr(kwargs[name], "zero_") else kwargs[name].zero_()
        if not reset_only:
            self.restore_copies = {name: self._copied(name, kwargs[name]) for name in self.restore_value
                                   if kwargs[name] is not None}

    def _copied(self, name, value):
        if not hasattr(value, "clone") and not hasattr(value, "copy"):
            raise TypeError(f"autotune: restore_value names `{name}` of `{self.__name__}`, and its argument is {value!r}, no tensor")
        return copied(value)

    def _restore(self, kwargs, exception):
        """The hook after a run."""
        for name, saved in self.restore_copies.items():
            restore(kwargs[name], saved)
        self.restore_copies = {}

    def run(self, *args, grid, warmup=False, **kwargs):
        self.nargs = self.by_name(args)
        try:
            config = self._choose(args, {"grid": grid, **kwargs})
            self.best_config = config
            if config.pre_hook:
                config.pre_hook({**self.named(args, kwargs), **config.all_kwargs()})
            return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs, **config.all_kwargs())
        finally:
            self.nargs = None

    def warmup(self, *args, grid=None, **kwargs):
        self.nargs = self.by_name(args)
        try:
            return [self.fn.warmup(*args, grid=grid, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs)]
        finally:
            self.nargs = None

    def _key(self, given):
        """What a choice holds for. A key that no argument has says nothing."""
        key = [given[name] for name in self.keys if name in given]
        key += [str(value.dtype) for value in given.values() if hasattr(value, "dtype") and is_array(value)]
        return tuple(key)

    def _choose(self, args, options):
        given = self.named(args, {name: value for name, value in options.items() if name != "grid"})
        for config in self.configs:
            if clash := config.kwargs.keys() & options.keys():
                raise ValueError(f"Conflicting meta-parameters: `{', '.join(sorted(clash))}` is chosen by autotune and was "
                                 "passed too. Make sure that you don't re-define auto-tuned symbols.")
        if len(self.configs) == 1:
            return self.configs[0]
        key = self._key(given)
        if key not in self.cache:
            configs = self.prune_configs(options)
            if len(configs) == 1:
                self.cache[key] = configs[0]
                return configs[0]
            # Times of kernels that Python runs say nothing.
            is_clear = getattr(self.jit_fn, "is_interpreted", False)
            best, was_known = (configs[0], False) if is_clear else self._measure(key, configs, args, options)
            self.cache[key] = best
            if not was_known:
                self.pre_hook({**given, **best.all_kwargs()}, reset_only=True)
        return self.cache[key]

    def _measure(self, key, configs, args, options):
        """(best, was it found in a file)"""
        start = time.perf_counter()
        file = TimingFile(self, key, configs) if self.cache_results or knobs.autotuning.cache else None
        timings = file.read() if file else None
        was_known = timings is not None
        if not was_known:
            best, timings = self._tune(key, configs, args, options)
            if file:
                file.write(timings)
        else:
            best = min(timings, key=lambda config: _ranking(timings[config]))
        if _ranking(timings[best])[0] == float("inf"):
            raise self._none_runs()
        self.bench_time, self.configs_timings = time.perf_counter() - start, timings
        if knobs.autotuning.listener:
            knobs.autotuning.listener(fn=self.jit_fn, key=key, best_config=best, configs_timings=timings,
                                      duration=None if was_known else self.bench_time, cache_hit=was_known)
        if knobs.autotuning.print:
            print(f"autotuning {self.__name__} for {key}: {best} in {self.bench_time:.2f} s")
        return best, was_known

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        """For tuners with a `run` of their own: reads the timings of the key from the file that `cache_results` writes, or calls
        `bench_fn`, which sets `cache` and `configs_timings`, and writes them. Were they there?"""
        file = TimingFile(self, tuning_key, configs) if tuning_key else None
        timings = file.read() if file else None
        if timings is None:
            bench_fn()
            if file and all(config in self.configs_timings for config in configs):
                file.write(self.configs_timings)
            return False
        self.cache[tuning_key] = min(timings, key=lambda config: _ranking(timings[config]))
        self.configs_timings = timings
        return True

    def _none_runs(self):
        return OutOfResources(1, 0, "configurations that run", f"no configuration of `{self.__name__}` can run")

    def _tune(self, key, configs, args, options):
        """(best, {config: times}). The library decides what is compiled and measured, and when; compiling and measuring
        are this class's, since hooks, heuristics and subclasses are Python's. Where none can run the error is of the first
        one's kind."""
        tuning = Tuning(self, key, configs, args, options)
        try:
            best, rows, self.tuning_remarks = tuning.run()
        except OutOfResources as none:
            if not tuning.refusals:
                raise self._none_runs() from none
            first = tuning.refusals[min(tuning.refusals)]
            raise retold(first, f"no configuration of `{self.__name__}` can run; of the first one it is said:\n{first}") from first
        return configs[best], {config: tuning.own_times.get(number, list(row[1:4]))
                               for number, (config, row) in enumerate(zip(configs, rows))}

    def prune_configs(self, kwargs):
        """The configurations that are worth measuring for the arguments in `nargs` and `kwargs`."""
        configs = self.configs
        if self.early_config_prune:
            left = self.early_config_prune(configs, self.nargs, **kwargs)
            if left is None:
                raise TypeError(f"early_config_prune of `{self.__name__}` gave None; it has to return the configurations that are left")
            configs = list(left)
            if not configs:
                raise AutotunerError(f"early_config_prune left no configuration of `{self.__name__}`: there is no valid "
                                     "autotuner config")
        if self.perf_model:
            count = self._most(len(configs))
            if len(configs) > count:
                cost = {config: self.perf_model(**{**self.nargs, **kwargs, **config.all_kwargs()}) for config in configs}
                configs = sorted(configs, key=cost.get)[:count]
        return configs

    def _most(self, count):
        """How many of `count` configurations are measured."""
        top_k = self.configs_top_k
        if isinstance(top_k, int):
            return max(1, top_k)
        if not isinstance(top_k, float) or top_k > 1:
            raise TypeError(f"top_k of prune_configs_by is {top_k!r}; it is a number of configurations, or a part of them, "
                            "a float up to 1.0")
        return max(1, int(count * top_k))

    def do_bench(self, kernel_call, quantiles):
        """Measures a call."""
        return self._do_bench(kernel_call, quantiles=quantiles)

    def _bench(self, *args, config, grid, warmup=False, **meta):
        """Milliseconds of a run, or what `do_bench` says of it; infinite when the configuration cannot run. Tuners of others
        call it with all that their `run` was given, and so with `warmup`, which means nothing here."""
        try:
            measured = Measured(self, config, args, grid, meta)
        except REFUSALS:
            return [float("inf")] * 3
        return self._time(measured)

    def _prepare(self, config, full):
        if config.pre_hook:
            config.pre_hook(full)
        self.pre_hook(full)

    def _launch(self, args, grid, options, full):
        try:
            self.fn.run(*args, grid=grid, warmup=False, **options)
        except Exception as error:
            self.post_hook(full, exception=error)
            raise
        self.post_hook(full, exception=None)

    def _measures_itself(self):
        """What measures is not ours: a function of the program, a subclass, a graph of launches."""
        return self._has_own_bench() or self._do_bench is not None or self.use_cuda_graph

    def _has_own_bench(self):
        return type(self)._bench is not Autotuner._bench

    def _time(self, measured):
        """The quantiles 0.5, 0.2 and 0.8 of the runs of one configuration."""
        measured.once()
        milliseconds = self.num_reps or 20
        if self._do_bench:
            return self.do_bench(measured.once, quantiles=(0.5, 0.2, 0.8))
        if self.use_cuda_graph and is_device_clock(measured.clock):
            return do_bench_cudagraph(measured.once, rep=milliseconds, quantiles=(0.5, 0.2, 0.8))
        measured.warm_up(self.num_warmups or 0)
        # Few first, which say how many there is time for: a device is waited for twice, and not behind each launch.
        start = time.perf_counter()
        times = measured.run(3)
        spent = max((time.perf_counter() - start) * 1e3, 1e-4)
        each = max(sorted(times)[1], 1e-4)
        # What putting back and other processes take counts too: the whole stays within what upstream's do_bench takes.
        allowed = max(MOST_MILLISECONDS, 2 * milliseconds, 7 * each)
        more = int(min(97, milliseconds / each - 3, (allowed - spent) / (spent / 3)))
        if more > 0:
            times += measured.run(more)
        return summary(times, (0.5, 0.2, 0.8), "mean")


class Heuristics(_Wrapper):
    """A kernel some of whose constants are computed from its other arguments."""

    def __init__(self, fn, arg_names, values):
        super().__init__(fn, arg_names)
        if not hasattr(values, "items") or not all(callable(rule) for rule in values.values()):
            raise TypeError(f"heuristics: {values!r} gives no function for each name\n"
                            '  hint: @triton.heuristics({"BLOCK": lambda arguments: ...})')
        self.values = values

    def run(self, *args, grid=None, warmup=False, **kwargs):
        """torch.compile reads this function: what it does not know, `getattr` with a default and such, is elsewhere."""
        kwargs = {**kwargs, **self.computed(args, kwargs)}
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    def computed(self, args, kwargs):
        """The constants that the rules give, by name."""
        given, made = self.named(args, kwargs), {}
        for name, rule in self.values.items():
            made[name] = given[name] = rule(given)
        return made

    def warmup(self, *args, grid=None, **kwargs):
        args, kwargs = with_tensors(self.jit_fn, args, kwargs)
        return self.run(*args, grid=grid, warmup=True, **kwargs)


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """Times each configuration once for each value of `key`, and keeps the best.

    `warmup` and `rep` are milliseconds before and of the measurement. `do_bench(call, quantiles=...)` measures instead,
    where it is given; `use_cuda_graph` measures a graph of launches, where the arguments are on a GPU. With
    `cache_results` (or TRITON_CACHE_AUTOTUNING=1) other processes find what was measured below TRITON_CACHE_DIR."""

    def decorate(fn):
        return Autotuner(_kernel(fn, "autotune"), fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
                         prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results)

    return decorate


def heuristics(values):
    """Computes constants of a kernel from its other arguments: ``{name: function(arguments)}``."""
    return lambda fn: Heuristics(_kernel(fn, "heuristics"), fn.arg_names, values)
