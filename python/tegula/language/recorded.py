"""Functions that Python runs as builtins of the language (``@tl.core.builtin``, ``@tl.core.extern``) and that compute.

Upstream hands such a function its `_semantic`, which builds operations. Here the function runs with a `Recording` in its place,
which writes down as a statement of the language each operation that is asked for; what comes out is a function of the
language that the kernel calls with the run-time values it gave. The function runs for each call that a kernel has, with the constants of
that call and with the types of its run-time values."""
import functools
import hashlib
import linecache
import re
import types

from .. import _tegula as _core
from . import core
from .core import Builtin, constexpr, tensor
from .run_time import OPERATORS, POINTER, REFLECTED, RUN_TIME, TILE, UNARY, operator_method

_BINARY = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "and_": "&", "or_": "|", "xor_": "^",
           "shl": "<<", "ashr": ">>", "greater_than": ">", "greater_equal": ">=", "less_than": "<", "less_equal": "<=",
           "equal": "==", "not_equal": "!="}
_UNARY = {"minus": "-", "plus": "+", "invert": "~"}
# Operations of upstream's `_semantic` that a builtin has under its own name, or under the second one here.
_CALLS = {name: name for name in (
    "program_id", "num_programs", "to_tensor", "fdiv", "minimum", "maximum", "clamp", "arange", "full", "reshape", "expand_dims", "cat",
    "join", "split", "permute", "cast", "load", "store", "atomic_cas", "atomic_max", "atomic_min", "atomic_add", "atomic_and", "atomic_or",
    "atomic_xor", "atomic_xchg", "dot", "where", "gather", "histogram", "multiple_of", "max_contiguous", "max_constancy",
    "debug_barrier", "assume", "advance", "make_block_ptr", "make_tensor_descriptor")}
_CALLS |= {"logical_and": "logical_and", "logical_or": "logical_or", "broadcast_impl_shape": "broadcast_to", "splat": "broadcast_to"}
_METHODS = {"logical_and", "logical_or"}


class RecordedValue(tensor):
    """The result of a recorded operation."""

    def __init__(self, recording, name):
        self._recording, self._name = recording, name

    def __repr__(self):
        return "<a value that the kernel computes>"

    def __getattr__(self, name):
        if name in ("type", "dtype", "shape", "numel"):
            return getattr(self._recording.kind(self), name)
        return method_of(self, name)

    def _refuse(self, *_):
        raise TypeError("what a kernel computes is not known while the kernel is compiled; write the function with @triton.jit")

    def __len__(self):
        kind = self._recording.kind(self)
        return len(kind) if isinstance(kind, tuple) else self._refuse()

    def __getitem__(self, index, _semantic=None):
        if _semantic is not None:
            return _semantic.method(self, "__getitem__", (index, ), {})
        return RecordedValue(self._recording, f"{self._name}[{range(len(self))[index]}]")

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    __bool__ = __int__ = __float__ = __index__ = _refuse
    __hash__ = object.__hash__


for _name in (*OPERATORS, *REFLECTED, *UNARY):
    setattr(RecordedValue, _name, operator_method(_name))


def method_of(value, name):
    """`x.name(..., _semantic=_semantic)`"""
    if not hasattr(tensor, name):
        raise AttributeError(f"{value!r} has no attribute `{name}`")

    def method(*arguments, _semantic=None, **keywords):
        if not isinstance(_semantic, Recording):
            raise ValueError(f"`{name}` of a run-time value needs _semantic=_semantic in a Python function; write the function with "
                             "@triton.jit to do without")
        return _semantic.method(value, name, arguments, keywords)

    return method


class Options:
    """The options that a builtin may ask for: those of the target that launches go to."""

    def __init__(self, target):
        self.backend_name = target.backend
        self.arch = f"sm{target.arch}" if target.backend == "cuda" else str(target.arch)

    def __getattr__(self, name):
        raise AttributeError(f"the option `{name}` is not known where a builtin runs; it may ask for arch and backend_name")


class _Builder:
    @functools.cached_property
    def options(self):
        from ..runtime.driver import driver

        return Options(driver.active.get_current_target())

    def __getattr__(self, name):
        raise AttributeError(f"`_semantic.builder.{name}` builds an operation of upstream's compiler, which is not here; call the "
                             "function of tl, with _semantic=_semantic")


class Recording:
    """Stands for upstream's `_semantic` while a builtin runs."""

    def __init__(self):
        self.builder = _Builder()
        self.lines = []
        self.names = {}  # of objects that the text names
        self.given = {}  # the run-time values that the text names, by their numbers
        self.kinds = {}  # of computed values, by their names: run-time values of the same types

    def __getattr__(self, name):
        if name in _BINARY:
            return lambda left, right, *_: self.write(f"{self.text(left)} {_BINARY[name]} {self.text(right)}")
        if name in _UNARY:
            return lambda value: self.write(_UNARY[name] + self.text(value))
        if name in _METHODS:
            return lambda value, *arguments: self.method(value, name, arguments, {})
        if name in _CALLS:
            return lambda *arguments, **keywords: self.named(core.PREFIX + _CALLS[name], arguments, keywords)
        raise AttributeError(f"`_semantic.{name}` is not there; call the function of tl, with _semantic=_semantic")

    def bitcast(self, value, to):
        return self.named(core.PREFIX + "cast", (value, to), {"bitcast": True})

    def scalar_constant(self, value, to):
        return self.named(core.PREFIX + "full", ((), value, to), {})

    def text(self, value):
        """The value as an expression of the recorded function."""
        if isinstance(value, RUN_TIME):
            self.given[value.number] = value
            return f"given[{value.number}]"
        if isinstance(value, RecordedValue) and value._recording is self:
            return value._name
        value = core._unwrap(value)
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return "(" + "".join(self.text(element) + ", " for element in value) + ")"
        if value is None or isinstance(value, (bool, int, str)):
            return f"({value!r})"
        if isinstance(value, float):
            return f"({value!r})" if abs(value) < float("inf") else f"float({str(value)!r})"
        if isinstance(value, tensor):
            raise TypeError(f"{value!r} is of another call")
        if not isinstance(value, (Builtin, types.ModuleType)) and not hasattr(value, "fn"):
            value = constexpr(value)
        name = next((name for name, known in self.names.items() if known is value or _same(known, value)), f"known{len(self.names)}")
        self.names[name] = value
        return name

    def write(self, expression):
        name = f"x{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return RecordedValue(self, name)

    def call_JitFunction(self, function, arguments, kwargs):
        """As upstream's `_generator`."""
        return self.call(function, arguments, kwargs)

    def kind(self, value):
        """A run-time value of the type of `value`: the compiler is asked, by a kernel of what was recorded so far."""
        if value._name not in self.kinds:
            told = []

            def tell(kind, _semantic=None):
                told.append(kind)

            stands = ", ".join(_of_type(self.given[number].text) if number in self.given else "None"
                               for number in range(max(self.given, default=-1) + 1))
            lines = ["def types():", f"    given = ({stands}{',' if stands else ''})", *("    " + line for line in self.lines),
                     f"    tell({value._name})"]
            function = function_of_text.__wrapped__("\n".join(lines) + "\n", "types", __name__,
                                                    (*self.names.items(), ("tell", core.builtin(tell))))
            _core.prepare(function, "interp", -1, ())
            self.kinds[value._name] = told[-1]
        return self.kinds[value._name]

    def _arguments(self, arguments, keywords):
        return ", ".join([*map(self.text, arguments), *(f"{name}={self.text(value)}" for name, value in keywords.items())])

    def call(self, function, arguments, keywords=None):
        return self.write(f"{self.text(function)}({self._arguments(arguments, keywords or {})})")

    def named(self, name, arguments, keywords):
        """Calls a function of the language by its name."""
        return self.call(_builtin(name), arguments, keywords)

    def method(self, value, name, arguments, keywords):
        if name in OPERATORS:
            return self.write(f"{self.text(value)} {OPERATORS[name]} {self.text(arguments[0])}")
        if name in REFLECTED:
            return self.write(f"{self.text(arguments[0])} {REFLECTED[name]} {self.text(value)}")
        if name in UNARY:
            return self.write(UNARY[name] + self.text(value))
        if name == "__getitem__":
            return self.write(f"{self.text(value)}[{self._index(arguments[0])}]")
        return self.write(f"{self.text(value)}.{name}({self._arguments(arguments, keywords)})")

    def _index(self, index):
        index = core._unwrap(index)
        if isinstance(index, tuple):
            return ", ".join(map(self._index, index))
        return ":" if hasattr(index, "step") else self.text(index)  # a slice: of Python, or of the language

    def function(self, of, result):
        """The function of the language that does what was recorded and gives `result`."""
        lines = [f"def {of.__name__}(*given):", *("    " + line for line in self.lines), f"    return {self.text(result)}"]
        known = "\n".join(lines) + "\n", of.__name__, f"{of.__module__}.{of.__qualname__}", tuple(self.names.items())
        try:
            return function_of_text(*known)
        except TypeError:  # a constant that has no hash
            return function_of_text.__wrapped__(*known)


@functools.cache
def _builtin(name):
    return Builtin(name)


def _same(known, value):
    return isinstance(known, constexpr) and isinstance(value, constexpr) and known.value is value.value


def _of_type(text):
    """An expression of the type that the compiler spells so."""
    if tile := TILE.fullmatch(text):
        extents = "".join(f"{extent}, " for extent in re.findall(r"\d+", tile[1]))
        return f"tl.broadcast_to({_of_type(tile[2])}, ({extents}))"
    if pointer := POINTER.fullmatch(text):
        return f"tl.full((), 0, tl.int64).to(tl.pointer_type(tl.dtype({pointer[2]!r}), 1, {bool(pointer[1])}))"
    if _core.dtype_from_name(text) >= 0:
        return f"tl.full((), 0, tl.dtype({text!r}))"
    return "None"


@functools.lru_cache(maxsize=1024)
def function_of_text(text, name, origin, names=()):
    """A function of the language; the same one for the same text. Its file's name tells the text, so that kernels are found again
    by other processes."""
    from .. import language
    from ..runtime.jit import jit

    path = f"<recorded {origin} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope = {"tl": language, "libdevice": language.extra.libdevice, "__name__": origin.rsplit(".", 1)[0], **dict(names)}
    exec(compile(text, path, "exec"), scope)
    return jit(scope[name])
