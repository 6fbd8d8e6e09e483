"""The decorator `jit`, and the environment that tells the compiler what a kernel's free names mean."""
import builtins
import functools
import inspect
import os
import textwrap
import weakref

from .. import _tegula as core
from ..encode import encode, object_of
from ..language import core as lang
from .dependencies import watch_call


def _target():
    """`TEGULA_TARGET`, the machine for TEGULA_DEVICE=sim, or the interpreter when TRITON_INTERPRET is set; read when a
    kernel is defined."""
    if os.environ.get("TEGULA_DEVICE") == "sim":
        return "ptxvm"
    if os.environ.get("TEGULA_TARGET"):
        return os.environ["TEGULA_TARGET"]
    return "interp" if os.environ.get("TRITON_INTERPRET", "0").lower() not in ("", "0", "false", "off") else "cpu"


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


class KernelInterface:
    """What can be launched as ``kernel[grid](...)``."""

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)


class _Environment:
    """A function's globals and closure, asked by the compiler."""

    def __init__(self, fn):
        self.fn = fn

    def source(self):
        """(path, text, first line, first column) of the function's definition."""
        try:
            lines, first = inspect.getsourcelines(self.fn)
        except (OSError, TypeError) as error:
            raise ValueError(f"@jit functions should be defined in a Python file: the source of `{self.fn.__name__}` "
                             f"cannot be read ({error})") from None
        text = "".join(lines)
        indent = len(lines[0]) - len(lines[0].lstrip())
        path = inspect.getsourcefile(self.fn) or self.fn.__code__.co_filename
        return path, textwrap.dedent(text), max(1, first), indent

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
        pinned = self._is_pinned(scope, name)
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

    def attribute(self, obj, name):
        try:
            value = getattr(obj, name)
        except AttributeError:
            core.watch(core.WATCH_ATTRIBUTE, obj, name)
            return None
        core.watch(core.WATCH_ATTRIBUTE, obj, name, value)
        return encode(value)

    def call(self, callee, arguments, keywords):
        if not isinstance(callee, ConstexprFunction):
            return None
        result = callee(*arguments, **keywords)
        watch_call(callee, arguments, keywords, result)
        return encode(lang.constexpr(result))

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
        if isinstance(annotation, lang.dtype):
            return annotation.name
        if isinstance(annotation, lang.pointer_type) and isinstance(annotation.element_ty, lang.dtype):
            return ("*k" if annotation.const else "*") + annotation.element_ty.name
        return None

    def _named(self, dotted):
        """What an annotation that is a text names, "tl.constexpr"; None where it is no such name."""
        first, *rest = dotted.split(".")
        scope = {**self.fn.__globals__, **_cells_of(self.fn)} if first.isidentifier() else {}
        found = scope.get(first)
        for name in rest:
            found = getattr(found, name, None)
        return None if isinstance(found, str) else found

    def object(self, handle):
        return object_of(handle)

    def dtype(self, code):
        return lang.dtype(core.dtype_name(code))

    def named(self, name):
        return lang.resolve(name)


class JITFunction(core.Function, KernelInterface):
    """A function of the language. ``kernel[grid](...)`` compiles it for the arguments and runs it."""

    __getitem__ = core.Function.__getitem__

    def __init__(self, fn, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None,
                 repr=None, launch_metadata=None, version=None):
        self.fn = fn
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)
        self.noinline, self.debug, self._repr = noinline, debug, repr
        self.__name__, self.__qualname__ = fn.__name__, fn.__qualname__
        self.__doc__, self.__module__, self.__wrapped__ = fn.__doc__, fn.__module__, fn
        defaults = {p.name: p.default for p in self.signature.parameters.values() if p.default is not p.empty}
        super().__init__(_Environment(fn), tuple(self.arg_names), defaults, _target())
        _functions.add(self)
        self._marks = [(name, False) for name in do_not_specialize or ()]
        self._marks += [(name, True) for name in do_not_specialize_on_alignment or ()]
        for name, _ in self._marks:
            if name not in self.arg_names and not (isinstance(name, int) and name < len(self.arg_names)):
                raise ValueError(f"do_not_specialize names `{name}`, which is no parameter of `{fn.__name__}`")
        if self._marks:
            self._do_not_specialize_marks()

    def _do_not_specialize_marks(self):
        for name, only_alignment in self._marks:
            index = name if isinstance(name, int) else self.arg_names.index(name)
            self._do_not_specialize(index, only_alignment)

    @property
    def src(self):
        return _Environment(self.fn).source()[1]

    @property
    def params(self):
        return list(self.signature.parameters.values())

    def run(self, *args, grid, warmup=False, **kwargs):
        """``kernel[grid](*args, **kwargs)``; with `warmup` only compiles."""
        return core.launcher(self, None if warmup else grid)(*args, **kwargs)

    def warmup(self, *args, grid=None, **kwargs):
        """Compiles for these arguments and runs nothing."""
        return core.launcher(self, None)(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"`{self.__name__}` is a kernel: call it as {self.__name__}[grid](...), or from another "
                           "@triton.jit function")

    def __repr__(self):
        return f"JITFunction({self.__module__}:{self.__qualname__})"


class CheckedFunction(JITFunction):
    """A kernel whose launches check `tl.device_assert`, unless a launch says `debug=False`."""

    def __getitem__(self, grid):
        return functools.partial(super().__getitem__(grid), debug=True)

    def run(self, *args, debug=True, **kwargs):
        return super().run(*args, debug=debug, **kwargs)

    def warmup(self, *args, debug=True, **kwargs):
        return super().warmup(*args, debug=debug, **kwargs)


def _is_checked(debug):
    """`debug` of the decorator, or TEGULA_DEBUG or TRITON_DEBUG; read when a kernel is defined."""
    if debug is not None:
        return debug
    texts = (os.environ.get("TEGULA_DEBUG", "0"), os.environ.get("TRITON_DEBUG", "0"))
    return any(text.lower() not in ("", "0", "false", "off") for text in texts)


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None,
        do_not_specialize_on_alignment=None, debug=None, noinline=None):
    """Makes a Python function a kernel, or a function that kernels call. With or without arguments."""

    def decorate(fn):
        if isinstance(fn, JITFunction):
            return fn
        if not inspect.isfunction(fn):
            raise TypeError(f"@jit decorates a Python function, not {builtins.repr(fn)}")
        kind = CheckedFunction if _is_checked(debug) else JITFunction
        return kind(fn, do_not_specialize=do_not_specialize,
                    do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug,
                    noinline=noinline, repr=repr, launch_metadata=launch_metadata, version=version)

    return decorate if fn is None else decorate(fn)


class ConstexprFunction:
    """A Python function that kernels call with constants while they are compiled."""

    def __init__(self, fn):
        self.fn = fn
        self.__name__, self.__doc__, self.__wrapped__ = fn.__name__, fn.__doc__, fn

    def describes(self):
        return f"constexpr_function `{self.__name__}`"

    def __call__(self, *args, **kwargs):
        args = [lang._unwrap(a) for a in args]
        return self.fn(*args, **{name: lang._unwrap(a) for name, a in kwargs.items()})


def constexpr_function(fn):
    return ConstexprFunction(fn)
