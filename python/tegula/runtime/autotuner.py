"""autotune and heuristics: choosing constants of a kernel by measuring, or by a rule.

A configuration is timed on the caller's own arguments. What a run writes is put back after each, so
that kernels which work in place stay right: the arrays that a compiled kernel stores to are known."""
import os
import time
import warnings

from ..errors import CompileTimeAssertionFailure, OutOfResources, ToolchainError
from ..testing import do_bench_cudagraph, is_device_clock, stopwatch
from .jit import KernelInterface


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
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

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


def _copy(array):
    return array.clone() if hasattr(array, "clone") else array.copy()


def _restore(array, saved):
    if hasattr(array, "copy_"):
        array.copy_(saved)
    else:
        array[...] = saved


def _is_array(value):
    return hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and hasattr(value, "__setitem__"))


class _Wrapper(KernelInterface):
    """What autotune and heuristics have in common: a kernel inside, and its parameters."""

    def __init__(self, fn):
        self.fn = fn
        self.arg_names = list(fn.arg_names)
        base = fn
        while hasattr(base, "fn") and isinstance(base, _Wrapper):
            base = base.fn
        self.base_fn = base
        self.__name__, self.__doc__ = base.__name__, base.__doc__

    def named(self, args, kwargs):
        """All arguments by name, with defaults."""
        defaults = {p.name: p.default for p in self.base_fn.params if p.default is not p.empty}
        return {**defaults, **dict(zip(self.arg_names, args)), **kwargs}

    def __call__(self, *args, **kwargs):
        return self.base_fn(*args, **kwargs)


class Autotuner(_Wrapper):

    def __init__(self, fn, configs, key, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, do_bench=None, use_cuda_graph=False, cache_results=False):
        super().__init__(fn)
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self.pre_hook, self.post_hook, self.do_bench = pre_hook, post_hook, do_bench
        self.use_cuda_graph = use_cuda_graph
        if cache_results:
            warnings.warn("autotune(cache_results=True): results are kept for this process; there is no cache on disk yet",
                          stacklevel=3)
        prune = prune_configs_by or {}
        unknown = prune.keys() - {"early_config_prune", "perf_model", "top_k"}
        if unknown:
            raise ValueError(f"prune_configs_by has no `{min(unknown)}`; it has early_config_prune, perf_model and top_k")
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model, self.top_k = prune.get("perf_model"), prune.get("top_k", len(self.configs))
        self.warmup_milliseconds, self.milliseconds = warmup or 0, rep or 20
        self.cache, self.configs_timings, self.best_config, self.bench_time = {}, {}, None, None
        for name in (*self.keys, *self.reset_to_zero, *self.restore_value):
            if name not in self.arg_names:
                raise ValueError(f"autotune names `{name}`, which is no parameter of `{self.__name__}`")

    def run(self, *args, grid, warmup=False, **kwargs):
        given = self.named(args, kwargs)
        config = self._choose(given, args, kwargs, grid)
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**given, **config.all_kwargs()})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs, **config.all_kwargs())

    def warmup(self, *args, grid=None, **kwargs):
        return [self.fn.warmup(*args, grid=grid, **kwargs, **config.all_kwargs())
                for config in self._pruned(self.named(args, kwargs), kwargs)]

    def _choose(self, given, args, kwargs, grid):
        for config in self.configs:
            clash = config.kwargs.keys() & kwargs.keys()
            if clash:
                raise ValueError(f"`{', '.join(sorted(clash))}` is chosen by autotune and was passed too")
        if len(self.configs) == 1:
            return self.configs[0]
        key = tuple(given.get(name) for name in self.keys)
        key += tuple(str(value.dtype) for value in given.values() if hasattr(value, "dtype") and _is_array(value))
        if key not in self.cache:
            configs = self._pruned(given, kwargs)
            if len(configs) == 1:
                self.cache[key] = configs[0]
            else:
                start = time.perf_counter()
                timings = {config: self._time(config, given, args, kwargs, grid) for config in configs}
                best = min(timings, key=lambda config: _ranking(timings[config]))
                if _ranking(timings[best])[0] == float("inf"):
                    raise OutOfResources(f"no configuration of `{self.__name__}` can run")
                self.bench_time = time.perf_counter() - start
                self.configs_timings, self.cache[key] = timings, best
                if os.environ.get("TRITON_PRINT_AUTOTUNING") == "1":
                    print(f"autotuning {self.__name__} for {key}: {best} in {self.bench_time:.2f} s")
        return self.cache[key]

    def _pruned(self, given, kwargs):
        configs = self.configs
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, given, **kwargs))
            if not configs:
                raise ValueError(f"early_config_prune left no configuration of `{self.__name__}`")
        if self.perf_model:
            count = self.top_k if isinstance(self.top_k, int) else max(1, int(len(self.configs) * self.top_k))
            if len(configs) > count:
                cost = {config: self.perf_model(**{**given, **config.all_kwargs()}) for config in configs}
                configs = sorted(configs, key=cost.get)[:count]
        return configs

    def _time(self, config, given, args, kwargs, grid):
        """Milliseconds of a run, or what `do_bench` says of it; infinite when the configuration cannot run."""
        options = {**kwargs, **config.all_kwargs()}
        try:
            kernel = self.fn.run(*args, grid=grid, warmup=True, **options)
        except (OutOfResources, CompileTimeAssertionFailure, ToolchainError):
            return float("inf")
        written = {argument.name for argument in kernel.arguments if argument.is_written}
        names = written | set(self.restore_value) | set(self.reset_to_zero)
        arrays = {name: given[name] for name in names if _is_array(given.get(name))}
        saved = {name: _copy(array) for name, array in arrays.items()}
        clock = stopwatch(given.values())

        def once(run):
            for name in self.reset_to_zero:
                _restore(given[name], 0) if not hasattr(given[name], "zero_") else given[name].zero_()
            if config.pre_hook:
                config.pre_hook({**given, **config.all_kwargs()})
            if self.pre_hook:
                self.pre_hook({**given, **config.all_kwargs()})
            elapsed = run(lambda: self.fn.run(*args, grid=grid, **options))
            if self.post_hook:
                self.post_hook({**given, **config.all_kwargs()}, exception=None)
            for name, array in arrays.items():
                _restore(array, saved[name])
            return elapsed

        once(lambda launch: launch())
        if self.do_bench:
            return self.do_bench(lambda: once(lambda launch: launch()), quantiles=(0.5, 0.2, 0.8))
        if self.use_cuda_graph and is_device_clock(clock):
            return do_bench_cudagraph(lambda: once(lambda launch: launch()), rep=self.milliseconds, quantiles=(0.5, 0.2, 0.8))
        spent = 0.0
        while spent < self.warmup_milliseconds:
            spent += once(clock.milliseconds)
        times, spent = [], 0.0
        while len(times) < 3 or (spent < self.milliseconds and len(times) < 100):
            times.append(once(clock.milliseconds))
            spent += times[-1]
        return sorted(times)[len(times) // 2]


class Heuristics(_Wrapper):

    def __init__(self, fn, values):
        super().__init__(fn)
        self.values = values

    def run(self, *args, grid, warmup=False, **kwargs):
        given = self.named(args, kwargs)
        for name, rule in self.values.items():
            kwargs[name] = given[name] = rule(given)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    def warmup(self, *args, grid=None, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """Times each configuration once for each value of `key`, and keeps the best.

    `warmup` and `rep` are milliseconds before and of the measurement. `do_bench(call, quantiles=...)` measures instead,
    where it is given; `use_cuda_graph` measures a graph of launches, where the arguments are on a GPU. Results are kept
    for the process: `cache_results` has no disk to write to, and says so."""

    def decorate(fn):
        return Autotuner(fn, configs, key, reset_to_zero, restore_value, pre_hook, post_hook, prune_configs_by, warmup,
                         rep, do_bench, use_cuda_graph, cache_results)

    return decorate


def heuristics(values):
    """Computes constants of a kernel from its other arguments: ``{name: function(arguments)}``."""
    return lambda fn: Heuristics(fn, values)
