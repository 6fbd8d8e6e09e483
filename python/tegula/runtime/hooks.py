"""Hooks around launches and compiles: ``triton.knobs.runtime``. While there are any, launches of what is not known to be compiled
go through here; the others are the extension's, which calls `_enter` and `_leave` where somebody is told of launches."""
import copy
import weakref
from collections import namedtuple

from .. import _tegula as core
from .. import knobs
from .._utils import find_paths_if, get_iterable_path
from . import descriptors
from .binder import specialize
from .callables import get_full_name
from .driver import driver
from .dumps import overriding_stage

JitFunctionInfo = namedtuple("JitFunctionInfo", "module name jit_function")


def _is_hooked():
    runtime = knobs.runtime
    return bool(runtime.launch_enter_hook or runtime.launch_exit_hook or runtime.jit_cache_hook
                or runtime.jit_post_compile_hook or runtime.kernel_load_start_hook or runtime.kernel_load_end_hook
                or runtime.kernel_unload_hook or knobs.compilation.listener or knobs.compilation.override)


def default_options():
    """The options that the process's switches give to launches and compiles which do not say them, but for the architecture."""
    options = {} if knobs.language.fp_fusion_enabled() else {"enable_fp_fusion": False}
    precision = knobs.language.fp32_default
    return {**options, "default_dot_input_precision": precision} if precision else options


def _rows_of_options():
    """(name, value, whether it goes before the launch's own, targets without it) of the options that launches get of switches."""
    rows = [(name, value, name == "enable_fp_fusion" and knobs.language.force_disable_fp_fusion, ())
            for name, value in default_options().items()]
    if vars(knobs.runtime).get("debug"):
        rows.append(("debug", True, False, ()))
    if knobs.runtime.override_arch:
        rows.append(("arch", knobs.runtime.override_arch, False, ("cpu", "interp")))
    return tuple(rows)


def _switch():
    runtime, is_hooked = knobs.runtime, _is_hooked()
    core.set_options(_rows_of_options())
    core.set_hooked(_launch if is_hooked else None, _launch_bound if is_hooked else None,
                    _enter if runtime.launch_enter_hook else None, _leave if runtime.launch_exit_hook else None,
                    knobs.compilation.override)


class Call:
    """A launch: the arguments by name, and what a compile makes of them."""

    def __init__(self, function, args, kwargs):
        self.function = function
        self.options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
        defaults = {p.name: p.default for p in function.params if p.has_default}
        given = {**function.by_name(args), **{n: v for n, v in kwargs.items() if n in function.arg_names}}
        self.bound = {name: given.get(name, defaults.get(name)) for name in function.arg_names}
        self.specialization = [specialize(parameter, value) for parameter, value in zip(function.params, self.bound.values())]
        self.key = str([(kind, value.cache_key if isinstance(value, core.Function) else value)
                        for kind, value in self.specialization]) + str(sorted(self.options.items()))

    @classmethod
    def of(cls, function, args, kwargs):
        """None where an argument is none that upstream knows: then nobody can be told of the call."""
        try:
            return cls(function, args, kwargs)
        except Exception:
            return None

    def without_arguments(self):
        """The same without what keeps arrays alive."""
        other = copy.copy(self)
        other.bound = None
        other._specialization = [(kind, _weakly(value)) for kind, value in self.specialization]
        del other.specialization
        return other

    def __getattr__(self, name):
        """The specialization of such a one: constants that have ended are None."""
        if name == "specialization" and "_specialization" in vars(self):
            return [(kind, value()) for kind, value in self._specialization]
        raise AttributeError(name)

    def _described(self):
        """(signature, constants, attributes) of the compile: the latter two by paths, which lead into tuples, too."""
        kinds, letters = [list(each) for each in zip(*self.specialization)] or ([], [])
        paths = find_paths_if(kinds, lambda path, kind: isinstance(kind, str))
        constants = {path: get_iterable_path(letters, path) for path in paths if get_iterable_path(kinds, path) == "constexpr"}
        attributes = {path: [["tt.divisibility", 16]] for path in paths
                      if path not in constants and get_iterable_path(letters, path) == "D"}
        return dict(zip(self.function.arg_names, kinds)), constants, attributes

    def info(self, is_warmup):
        """Tells what hooks of a compile learn."""
        from ..compiler.compiler import make_backend

        target = driver.active.get_current_target()
        options = make_backend(target).parse_options(self.options)
        signature, constants, attributes = self._described()
        names = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "launch_cooperative_grid", "extern_libs")
        return {"key": self.key, "signature": signature,
                "device": driver.active.get_current_device(), "constants": constants, "configs": [attributes],
                "specialization_data": None, "is_warmup": is_warmup, **{name: getattr(options, name) for name in names}}

    def text(self, info):
        options = ", ".join(f"{name}={info[name]}" for name in ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion",
                                                               "launch_cooperative_grid"))
        kinds = ", ".join(f"{name}: {kind}" for name, kind in info["signature"].items())
        return f"{self.function.fn.__qualname__}[{options}]({kinds})"

    def source(self):
        """The source of the compile, as triton.compile would be told of it."""
        from ..compiler.source import ASTSource

        return ASTSource(self.function, *self._described())

    def tell(self, hook, is_warmup, already_compiled):
        info = self.info(is_warmup)
        function = self.function
        return hook(key=self.key, repr=self.text(info), fn=JitFunctionInfo(function.module, get_full_name(function.fn), function),
                    compile=info, is_manual_warmup=is_warmup, already_compiled=already_compiled)


def _weakly(value):
    """A function that returns the value as long as it lives."""
    if not isinstance(value, (int, float, str, bytes, tuple, type(None))):
        try:
            return weakref.ref(value)
        except TypeError:
            pass
    return lambda: value


def tell_listener(listener, source, kernel):
    """Tells `knobs.compilation.listener` of a kernel that is new to the process."""
    stages = [(name, int(milliseconds * 1e3)) for name, milliseconds in kernel.times.items()]
    listener(src=source, metadata=kernel.metadata._asdict(), metadata_group=kernel.metadata_group,
             times=knobs.CompileTimes(0, stages, 0), cache_hit="disk cache" in kernel.times)


def load(kernel):
    """Has the code of a kernel loaded, between the hooks that are told of that, once."""
    if not vars(kernel).pop("is_unloaded", False):
        return
    told = kernel.module, kernel.function, kernel.name, kernel.metadata_group, kernel.hash
    if knobs.runtime.kernel_load_start_hook:
        knobs.runtime.kernel_load_start_hook(*told)
    kernel.n_max_threads  # asks the device
    if knobs.runtime.kernel_load_end_hook:
        knobs.runtime.kernel_load_end_hook(*told)


def _compile(call, taken):
    """The kernel of a call whose arguments are those of `taken`; None where a hook wants no compile."""
    is_warmup = taken.grid is None
    seen = call.function.__dict__.setdefault("_told", set())
    is_new = call.key not in seen
    if is_new and knobs.runtime.jit_cache_hook and call.tell(knobs.runtime.jit_cache_hook, is_warmup, False):
        return None
    listener = knobs.compilation.listener
    known = core.kernels_of(taken.function) if listener else ()
    kernel = taken.run(None)
    kernel.tell(call)
    if listener and not any(kernel is each for each in known):
        tell_listener(listener, call.source(), kernel)
    if is_new and knobs.runtime.jit_post_compile_hook:
        call.tell(knobs.runtime.jit_post_compile_hook, is_warmup, False)
    seen.add(call.key)
    return kernel


def _with_override(kernel, options):
    """The options of a launch of the kernel, with the file that the user has in the place of one of its stages."""
    known = vars(kernel)
    if "override" not in known:
        known["override"] = overriding_stage(kernel)
    return {**options, "ir_override": known["override"]} if known["override"] else options


def _launch(function, grid, args, kwargs):
    """A launch whose kernel may have to be compiled. The hooks before its run were called."""
    taken = descriptors.Taken(function, grid, args, kwargs)
    if knobs.compilation.override and kwargs.get("ir_override") is None:
        kwargs = _with_override(taken.run(None), kwargs)
        taken = descriptors.Taken(function, grid, args, kwargs)
    call = Call.of(function, args, kwargs)
    if call is None:
        return taken.run(grid)
    kernel = _compile(call, taken)
    if kernel is None or grid is None:
        return kernel
    if callable(grid):
        grid = grid({**call.bound, **call.options})
    core.grid_of(grid)  # refuses what is none
    _between_hooks(function, tuple(grid), args, kwargs, kernel, lambda: taken.run(grid))
    return kernel


def _launch_bound(function, grid, args, kwargs, kernel, bound):
    """A launch of `bound`; without one a call is being bound, and the kernel is compiled, or None where a hook wants none."""
    if kernel is None:
        return _compile(Call(function, args, kwargs), descriptors.Taken(function, grid, args, kwargs))
    _between_hooks(function, grid, args, kwargs, kernel, bound._run)
    return kernel


def _in_order(function, args, kwargs):
    """The values of all parameters of a call."""
    names = function.arg_names
    if function.rest_place is None and names[len(args):] == [*kwargs]:
        return *args, *kwargs.values()
    given = {**function.by_name(args), **kwargs}
    if len(given) < len(names) or any(name not in given for name in names):
        given = {**{p.name: p.default for p in function.params if p.has_default}, **given}
    return tuple([given.get(name) for name in names])


def _enter(function, grid, args, kwargs, kernel):
    """Tells those who listen that a kernel is launched; what they are told."""
    device = driver.active
    stream = device.get_current_stream(device.get_current_device())
    told = kernel.launch_metadata(grid, stream, *_in_order(function, args, kwargs))
    knobs.runtime.launch_enter_hook(told)
    return told


def _leave(told):
    knobs.runtime.launch_exit_hook(told)


def _between_hooks(function, grid, args, kwargs, kernel, launch):
    load(kernel)
    told = _enter(function, grid, args, kwargs, kernel) if knobs.runtime.launch_enter_hook else None
    launch()
    if knobs.runtime.launch_exit_hook:
        _leave(told)


knobs.when_hooks_change(_switch)
_switch()  # the environment may say something
