"""The decorator `jit`, and the environment that tells the compiler what a kernel's free names mean."""
import builtins
import functools
import importlib
import inspect
import itertools
import os
import sys
import weakref
from typing import Generic, TypeVar

from .. import _tegula as core
from .. import knobs
from ..absent import Absent, absent_class
from ..encode import Method, call_builtin, encode, encode_attribute, object_of, takes_values
from ..knob_types import getenv_bool
from ..language import core as lang
from . import binder, hooks
from ._async_compile import active_mode
from .._utils import find_paths_if, get_iterable_path, is_namedtuple, type_canonicalisation_dict
from .binder import compute_cache_key, create_function_from_signature
from .cache import get_cache_key  # libraries ask for it here
from .callables import JITCallable, KernelParam, dedented, get_full_name, get_jit_fn_file_line
from .driver import driver
from .dependencies import is_pure, watch_call
from .specialize import DeviceCaches, Specialization, call_key, mangle_type, native_specialize_impl
from ..errors import Diagnostic
from ..language.aggregate import aggregate_of
from ..language.recorded import Recording
from ..language.run_time import run_time
from . import descriptors
from .tensors import MockTensor, TensorWrapper, elements_reachable, reinterpret

T = TypeVar("T")
DependenciesFinder = absent_class("triton.runtime.jit.DependenciesFinder", "keys of sources are the compiler's\n  hint: kernel.cache_key")
serialize_specialization_data = Absent("triton.runtime.jit.serialize_specialization_data",
                                       "specializations are not written as texts\n  hint: kernel.warmup(...)")
TRITON_MODULE, GLUON_MODULE = "triton.language", "triton.experimental.gluon.language"
JitFunctionInfo = hooks.JitFunctionInfo


def _target():
    """`TEGULA_TARGET`, or the machine for TEGULA_DEVICE=sim; read when a kernel is defined."""
    if device := os.environ.get("TEGULA_DEVICE"):
        if device != "sim":
            raise ValueError(f"TEGULA_DEVICE is {device!r}; it must be sim\n  hint: TEGULA_TARGET names a target: cpu, interp, ptxvm, cuda")
        return "ptxvm"
    return os.environ.get("TEGULA_TARGET") or "cpu"


def _is_on(*variables):
    return any(getenv_bool(name, False) for name in variables)


_functions = weakref.WeakSet()


def set_target(name):
    """Launches of all kernels, defined already or later, go to the target `name` ("cpu", "interp")."""
    os.environ["TEGULA_TARGET"] = name
    for function in _functions:
        function.target = name


def _cells_of(fn):
    """The names of a closure that have a value."""
    cells = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            pass
    return cells


@functools.lru_cache(maxsize=1024)
def _pure_result(callee, arguments, keywords):
    """The same object for the same call, so that a kernel which asked for it is found again."""
    return callee(*arguments, **dict(keywords))


class KernelInterface(Generic[T]):
    """What can be launched as ``kernel[grid](...)``; a base for classes that wrap kernels, and give it a `run`."""

    run: T

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no `run`")

    def warmup(self, *args, grid, **kwargs):
        """Compiles for these arguments and runs nothing."""
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


def _is_written(cls, name):
    """Does a class have a method of this name that somebody wrote? What each object, or each class, has means nothing in
    a kernel."""
    return any(name in vars(base) for base in cls.__mro__ if base.__module__ != "builtins")


def _answer_of(builtin, arguments, keywords):
    """What a function that Python runs as a builtin answers: a constant or one of its arguments; where it computes, a function of
    the language that the kernel calls with the run-time values it gave (VisitCall.cpp tells it by its being no tl.constexpr)."""
    recording = Recording()
    result = call_builtin(builtin, recording, arguments, keywords)
    if recording.lines:
        return encode(recording.function(builtin, result))
    return encode(lang.constexpr(result) if isinstance(result, core.Function) else result)


class _Environment:
    """A function's globals and closure, asked by the compiler."""

    def __init__(self, fn, owner):
        self.fn, self._owner = fn, weakref.ref(owner)

    def source(self):
        self._owner()._mark()
        return self._owner().source_text()

    def lookup(self, name):
        names = self.fn.__code__.co_freevars
        if name in names:
            return self._from_cell(self.fn.__closure__[names.index(name)])
        scope = self.fn.__globals__
        if name not in scope:
            core.watch(core.WATCH_ITEM, scope, name)
            return None
        value = scope[name]
        core.watch(core.WATCH_ITEM, scope, name, value)
        pinned = self._is_pinned(scope, name) or knobs.compilation.allow_non_constexpr_globals
        return encode(lang.constexpr(value) if pinned else value)

    def _from_cell(self, cell):
        try:
            value = cell.cell_contents
        except ValueError:  # assigned later than the function is called
            core.watch(core.WATCH_CELL, cell, None)
            return None
        core.watch(core.WATCH_CELL, cell, None, value)
        return encode(value)

    def _is_pinned(self, scope, name):
        """NAME: tl.constexpr = value"""
        annotations = scope.get("__annotations__")
        if not isinstance(annotations, dict) or name not in annotations:
            return False
        annotation = annotations[name]
        core.watch(core.WATCH_ITEM, annotations, name, annotation)
        return annotation is lang.constexpr or str(annotation).split(".")[-1] == "constexpr"

    def default(self, name):
        """The default of a parameter, as Python evaluated it."""
        for attribute in ("__defaults__", "__kwdefaults__"):
            core.watch(core.WATCH_ATTRIBUTE, self.fn, attribute, getattr(self.fn, attribute))
        value = inspect.signature(self.fn).parameters[name].default
        return None if value is inspect.Parameter.empty else encode(value)

    def attribute(self, obj, name):
        if isinstance(obj, (int, float, str)):  # what it has does not change
            return encode_attribute(obj, name)
        if name == "__init__" and hasattr(obj, "__tegula_constructor__"):
            name = "__tegula_constructor__"
        try:
            value = getattr(obj, name)
        except AttributeError:
            core.watch(core.WATCH_ATTRIBUTE, obj, name)
            return None
        core.watch(core.WATCH_ATTRIBUTE, obj, name, value)
        if name.startswith("__") and isinstance(obj, type) and not _is_written(obj, name):
            return None
        value = getattr(value, "__tegula_method__", value)
        if name == "_field_defaults" and isinstance(value, dict):
            value = tuple(value.items())
        return encode(value, callable_too=True)

    def call(self, callee, arguments, keywords):
        if list(keywords) == ["[]"]:  # an entry of a dictionary
            return self._entry(callee, keywords["[]"])
        if list(keywords) == ["in"]:  # a key of one
            return self._has_entry(callee, keywords["in"])
        if list(keywords) == ["len()"]:
            return self._length(callee)
        if takes_values(callee):
            return _answer_of(callee, arguments, keywords)
        if not callable(callee) or isinstance(callee, (JITFunction, KernelInterface)):
            return None
        if isinstance(callee, Method):
            return encode(lang.constexpr(callee(*arguments, **keywords)))
        if is_pure(callee):
            return encode(lang.constexpr(_pure_result(callee, arguments, tuple(keywords.items()))))
        result = callee(*arguments, **keywords)
        watch_call(callee, arguments, keywords, result)
        return encode(lang.constexpr(result))

    def _length(self, obj):
        if not hasattr(type(obj), "__len__"):
            return None
        if not isinstance(obj, (range, frozenset)):  # what can grow is asked again
            core.watch(core.WATCH_CALL, len, ((obj, ), ()), len(obj))
        return encode(lang.constexpr(len(obj)))

    def _entry(self, mapping, key):
        if isinstance(mapping, range):
            return encode(lang.constexpr(mapping[key]))
        if not isinstance(mapping, dict):
            return None
        if key not in mapping:
            raise KeyError(f"{key!r}, and its keys are {', '.join(map(repr, mapping))}")
        core.watch(core.WATCH_ITEM, mapping, key, mapping[key])
        return encode(lang.constexpr(mapping[key]))

    def _has_entry(self, mapping, key):
        if isinstance(mapping, (range, frozenset)):
            return encode(key in mapping)
        if not isinstance(mapping, dict):
            return None
        core.watch(core.WATCH_ITEM, mapping, key, *([mapping[key]] if key in mapping else []))
        return encode(key in mapping)

    def annotations(self):
        """[(index, text)] of the parameters whose annotation, as it is now, says something to the compiler."""
        texts = []
        for index, parameter in enumerate(inspect.signature(self.fn).parameters.values()):
            text = self._text_of(parameter.annotation)
            if text:
                texts.append((index, text))
        return texts

    def _text_of(self, annotation):
        if isinstance(annotation, str):
            found = self._named(annotation.strip())
            return annotation if found is None else self._text_of(found)
        if annotation is lang.constexpr or annotation is lang.const:
            return annotation.__name__
        if isinstance(annotation, lang.pointer_type) and isinstance(annotation.element_ty, lang.dtype):
            return ("*k" if annotation.const else "*") + annotation.element_ty.name
        if isinstance(annotation, lang.dtype) and annotation._code is not None:
            return annotation.name
        return None

    def _named(self, dotted):
        """What an annotation that is a text names, "tl.constexpr"; None where it is no such name."""
        first, *rest = dotted.split(".")
        scope = {**self.fn.__globals__, **_cells_of(self.fn)} if first.isidentifier() else {}
        found = scope.get(first)
        for name in rest:
            found = getattr(found, name, None)
        return None if isinstance(found, str) else found

    @property
    def is_naming(self):
        """Whether kernels have other names than the function."""
        return self._owner().is_named

    def name_of(self, rows):
        """The name for a specialization of the rows (parameter, type, constant)."""
        name = self._owner().repr(Specialization.of(rows))
        return encode(name) if isinstance(name, str) else None

    def object(self, handle):
        return object_of(handle)

    def named_tuple(self, cls, values):
        return aggregate_of(cls, values) if hasattr(cls, "__tegula_aggregate__") else cls(*values)

    def run_time(self, number, text):
        return run_time(number, text)

    def dtype(self, code):
        return lang.dtype(core.dtype_name(code))

    def named(self, name):
        return lang.resolve(name)


class _LaunchableType(type):
    """The class of JITFunction: programs that watch or change launches put a function of theirs in the place of its `run`."""

    def __setattr__(cls, name, value):
        super().__setattr__(name, value)
        if name == "run" and cls.__getitem__ in (core.Function.__getitem__, KernelInterface.__getitem__):
            cls.__getitem__ = core.Function.__getitem__ if value is _own_run else KernelInterface.__getitem__


@functools.cache
def _with_own_run(kind):
    """The same class for a kernel that has a `run` of its own."""
    return type(kind)(kind.__name__, (kind,), {"__getitem__": KernelInterface.__getitem__, "_plain": kind,
                                               "__module__": kind.__module__, "__qualname__": kind.__qualname__})


class JITFunction(core.Function, JITCallable, KernelInterface[T], metaclass=_LaunchableType):
    """A function of the language. ``kernel[grid](...)`` compiles it for the arguments and runs it; it goes to the extension
    straight, and to `run` where that was replaced: by a subclass, on the class, or on a kernel."""

    __getitem__ = core.Function.__getitem__
    is_interpreted = False  # as those of runtime/interpreter.py are
    _plain = None  # of a kernel with a `run` of its own: its class without that

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "run" in vars(cls) and "__getitem__" not in vars(cls):
            cls.__getitem__ = KernelInterface.__getitem__

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "run" and self._plain is None:
            self.__class__ = _with_own_run(type(self))
        elif name == "debug":
            self._set_checked(_is_checked(value))

    def _set_checked(self, is_checked):
        """Launches check `tl.device_assert` by the class of the kernel; `debug` may be assigned at any time."""
        now = self._plain or type(self)
        if now in (JITFunction, CheckedFunction):
            kind = CheckedFunction if is_checked else JITFunction
            self.__class__ = kind if self._plain is None else _with_own_run(kind)

    def __delattr__(self, name):
        super().__delattr__(name)
        if name == "run":
            self.__class__ = self._plain

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None,
                 noinline=None, repr=None, launch_metadata=None):
        self._set_up(fn)
        self.module, self.version = fn.__module__, version
        self.do_not_specialize = list(do_not_specialize or ())
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or ())
        self.noinline, self.debug, self._repr, self.launch_metadata = noinline, debug, repr, launch_metadata
        self.arg_names = list(self.signature.parameters)
        self.params = [KernelParam(number, parameter, self._is_named(number, self.do_not_specialize),
                                   self._is_named(number, self.do_not_specialize_on_alignment))
                       for number, parameter in enumerate(self.signature.parameters.values())]
        self.constexprs = [parameter.num for parameter in self.params if parameter.is_constexpr]
        self.pre_run_hooks, self.kernel, self._body = [], None, None
        self._start(_target())

    def _start(self, target):
        defaults = {parameter.name: parameter.default for parameter in self.params if parameter.has_default}
        self._is_marked = False
        core.Function.__init__(self, _Environment(self.fn, self), tuple(self.arg_names), defaults, target,
                               -1 if self.rest_place is None else self.rest_place)
        _functions.add(self)

    def _is_named(self, number, names):
        return number in names or self.arg_names[number] in names

    def _start_again(self):
        super()._start_again()
        self._is_marked = False  # a second time does no harm

    def _mark(self):
        """Passes on, with the source, which parameters are not specialized. Names that are no parameters are skipped, as
        upstream skips them: one list often serves several kernels."""
        with self._hash_lock:
            if self._is_marked:
                return
            self._is_marked = True  # the first mark asks for the source, too
            try:
                for names, only_alignment in ((self.do_not_specialize, False), (self.do_not_specialize_on_alignment, True)):
                    for index in filter(lambda number: self._is_named(number, names), range(len(self.arg_names))):
                        self._do_not_specialize(index, only_alignment)
            except BaseException:
                self._is_marked = False
                raise

    def __getstate__(self):
        """Everything but the compiled kernels; the source without the rest of its file."""
        if self._file_text is not None:
            self._lines  # of the file as it was
        return {name: value for name, value in self.__dict__.items()
                if name not in ("_hash_lock", "signature", "__wrapped__", "__globals__", "_of_descriptors", "_of_forms",
                                "_body", "_file_text", "_code", "_told")} | {"_target": self.target, "_hooks": self.pre_run_hooks}

    def __setstate__(self, state):
        target, self.pre_run_hooks = state.pop("_target"), state.pop("_hooks")
        self.__dict__.update(state)
        self._make_lock()
        self._body = None
        self.__globals__ = self.fn and self.fn.__globals__
        if self.fn is not None:
            self.signature, self.__wrapped__ = inspect.signature(self.fn), self.fn
        self._start(target)

    def __reduce__(self):
        """By its name where that finds it, else by its parts."""
        if self.fn is not None and _named(self.__module__, self.__qualname__) is self:
            return _named, (self.__module__, self.__qualname__)
        return _unpickled, (self._plain or type(self),), self.__getstate__()

    def source_text(self):
        """(path, text, first line, first column) of the function's definition."""
        self._was_read = True
        if getattr(self, "_is_updated", False):
            return self.file_name, self.src, max(1, self.def_file_line_number), 0
        lines, first = self._lines
        indent = len(lines[0]) - len(lines[0].lstrip())
        path = inspect.getsourcefile(self.fn) or self.fn.__code__.co_filename
        return path, dedented(lines), max(1, first), indent

    def is_gluon(self):
        return False

    @property
    def is_named(self):
        """Have kernels a name that the decorator's `repr`, or one that was assigned, makes?"""
        return self._repr is not None or "repr" in vars(self)

    def repr(self, _):
        """The name for a specialization."""
        return self._fn_name if self._repr is None else self._repr(_)

    def add_pre_run_hook(self, hook):
        """Calls `hook` with the arguments of each launch, before it."""
        if not callable(hook):
            raise TypeError("a hook is a function")
        self.pre_run_hooks.append(hook)

    @property
    def device_caches(self):
        """By device: the kernels that launches have compiled, and for what."""
        return DeviceCaches(self)

    def create_binder(self):
        """What `device_caches` has of a device for which nothing is compiled; gives the kernel `compile` and `ASTSource`."""
        from ..compiler.compiler import ASTSource, CompiledKernel, compile, make_backend

        self.CompiledKernel, self.compile, self.ASTSource = CompiledKernel, compile, ASTSource
        target = driver.active.get_current_target()
        backend = make_backend(target)
        return {}, {}, target, backend, create_function_from_signature(self.signature, self.params, backend)

    def _pack_args(self, backend, kwargs, bound_args, specialization, options):
        return binder.pack_args(self, backend, kwargs, bound_args, specialization)

    def _compile_as_told(self, *args, **kwargs):
        """Compiles for the target of the driver that the program has set: there need be no such device here."""
        if self.rest_place is not None:
            raise NotImplementedError(f"`{self.__name__}` takes `*{self.arg_names[self.rest_place]}`, and is not compiled for the target "
                                      "of another driver\n  hint: driver.reset_active(), or parameters with names of their own")
        _, _, _, backend, bind = self.device_caches[0]
        bound, kinds, options = bind(*args, **kwargs)
        options, signature, constants, attributes = self._pack_args(backend, options, bound, kinds, options)
        return self._do_compile(None, signature, 0, constants, options, attributes, True)

    def _do_compile(self, key, signature, device, constexprs, options, attrs, warmup):
        """The kernel that `_pack_args` described, for the active driver's target."""
        _, _, target, _, _ = self.device_caches[device]
        return self.compile(self.ASTSource(self, signature, constexprs, attrs), target=target, options=vars(options))

    def preload(self, specialization_data):
        raise NotImplementedError("specializations are not read from texts\n"
                                  "  hint: what another process compiled is found on disk; or kernel.warmup(...)")

    def run(self, *args, grid, warmup=False, **kwargs):
        """``kernel[grid](*args, **kwargs)``; with `warmup` only compiles."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return core.Function.__getitem__(self, grid)(*args, **kwargs)

    def warmup(self, *args, grid=None, **kwargs):
        """Compiles for these arguments and runs nothing. A dtype stands for a tensor of it."""
        args, kwargs = with_tensors(self, args, kwargs)
        told = driver.told_target()
        compile_it = functools.partial(self._compile_as_told if told else core.launcher(self, None), *args, **kwargs)
        mode = active_mode.get()
        if mode is None:
            return compile_it()
        return mode.submit((*call_key(self, args, kwargs), str(told)), compile_it, lambda kernel: None)

    def check(self, *args, grid=None, **kwargs):
        """The classic mistakes that the kernel has for these arguments, as diagnostics; empty: none were found. Runs nothing."""
        if descriptors.are_among(args, kwargs):
            made, *taken = descriptors.take_apart(self, grid, args, kwargs)
            with descriptors.told_as_written(self, made):
                return made.check(*taken[1], grid=taken[0], **taken[2])
        values = [*args, *kwargs.values()]
        if callable(grid):
            defaults = {p.name: p.default for p in self.params if p.has_default}
            grid = grid({**defaults, **self.by_name(args), **kwargs})
        counts = tuple(elements_reachable(value) for value in values)
        rows = core.check(self, args, kwargs, counts, None if grid is None else core.grid_of(grid))
        return [Diagnostic(*row) for row in rows]

    def __call__(self, *args, **kwargs):
        if lang.running.session is not None:
            from .eager import body_of

            return body_of(self)(*args, **kwargs)
        raise RuntimeError(f"`{self.__name__}` is a kernel: call it as {self.__name__}[grid](...), or from another "
                           "@triton.jit function")

    def __repr__(self):
        return f"JITFunction({self.__module__}:{self.__qualname__})"


def with_tensors(function, args, kwargs):
    """(args, kwargs) in which a tensor stands for each dtype that is given for a parameter which is no constant."""
    params = {parameter.name: parameter for parameter in getattr(function, "params", ())}
    runs = [not parameter.is_constexpr for parameter in params.values()]
    if (place := getattr(function, "rest_place", None)) is not None:
        runs[place:] = [True] * (len(args) - place)
    args = [MockTensor.wrap_dtype(value) if is_run_time else value
            for value, is_run_time in itertools.zip_longest(args, runs[:len(args)], fillvalue=False)]
    return args, {name: MockTensor.wrap_dtype(value) if name in params and not params[name].is_constexpr else value
                  for name, value in kwargs.items()}


_own_run = JITFunction.run


class _Checked:
    """``kernel[grid]`` of such a kernel."""

    __slots__ = ("_launcher",)

    def __init__(self, launcher):
        self._launcher = launcher

    def __call__(self, /, *args, debug=True, **kwargs):
        return self._launcher(*args, debug=debug, **kwargs)

    def bind(self, /, *args, debug=True, **kwargs):
        return self._launcher.bind(*args, debug=debug, **kwargs)


class CheckedFunction(JITFunction):
    """A kernel whose launches check `tl.device_assert`, unless a launch says `debug=False`."""

    def __getitem__(self, grid):
        return _Checked(super().__getitem__(grid))

    def run(self, *args, debug=True, **kwargs):
        return super().run(*args, debug=debug, **kwargs)

    def warmup(self, *args, debug=True, **kwargs):
        return super().warmup(*args, debug=debug, **kwargs)


def _is_checked(debug):
    """`debug` of the decorator, or TEGULA_DEBUG or TRITON_DEBUG; read when a kernel is defined."""
    if debug is not None:
        return debug
    return _is_on("TEGULA_DEBUG", "TRITON_DEBUG")


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None,
        do_not_specialize_on_alignment=None, debug=None, noinline=None):
    """Makes a Python function a kernel, or a function that kernels call. With or without arguments."""

    def decorate(fn):
        if isinstance(fn, JITFunction):
            return fn
        if not inspect.isfunction(fn):
            raise TypeError(f"@jit decorates a Python function, not {builtins.repr(fn)}")
        if fn.__name__ == "<lambda>":
            raise TypeError("@jit decorates a function that `def` defines, not a lambda: write `def` with a name")
        if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
            raise TypeError(f"@jit decorates a function that `def` defines, not `async def {fn.__name__}`: a kernel waits "
                            "for nothing of Python's")
        kind = JITFunction
        if _is_on("TEGULA_INTERPRET", "TRITON_INTERPRET"):
            from .interpreter import InterpretedFunction as kind
        return kind(fn, version=version, do_not_specialize=do_not_specialize,
                    do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline,
                    repr=repr, launch_metadata=launch_metadata)

    return decorate if fn is None else decorate(fn)


class ConstexprFunction(JITCallable):
    """A Python function that kernels call with constants while they are compiled."""

    def __init__(self, fn):
        self._set_up(fn)

    def describes(self):
        return f"constexpr_function `{self.__name__}`"

    def __get__(self, obj, objclass):
        return self if obj is None else BoundConstexprFunction(obj, self.fn)

    def __call__(self, *args, _semantic=None, **kwargs):
        args = [lang._unwrap(a) for a in args]
        return self.fn(*args, **{name: lang._unwrap(a) for name, a in kwargs.items()})


class BoundConstexprFunction(ConstexprFunction):
    """A method that kernels call with constants."""

    def __init__(self, instance, fn):
        super().__init__(fn)
        self.__self__ = instance

    def __call__(self, *args, _semantic=None, **kwargs):
        return super().__call__(self.__self__, *args, **kwargs)


def constexpr_function(fn):
    """Makes a Python function one that kernels call with constants while they are compiled."""
    return ConstexprFunction(fn)


def _named(module, name):
    found = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _unpickled(kind):
    return kind.__new__(kind)
