"""Watches what the result of a constexpr_function depends on, so that a kernel that has it is not run stale.

The code of the function says which names it reads. Where all of them are constants, functions of the same kind and
modules, each is watched. Where it reads more (a dict, an object, a clock), the function is called again before
each launch, and its result is watched."""
import builtins
import dis
import math
import operator
import types

from .. import _tegula as core
from ..language import core as lang
from ..language.run_time import RUN_TIME

_PLAIN = (int, float, str, bytes, bool, complex, type(None), range, lang.dtype, lang.pointer_type, *RUN_TIME)
_PURE_MODULES = (builtins, math, operator)
_IMPURE = {"input", "open", "eval", "exec", "globals", "locals", "vars", "__import__", "id", "compile", "getattr"}
_UNSEEN = object()


# Types whose objects depend on nothing but the arguments; named, since those packages are never imported here.
_PURE_TYPES = {("torch", "finfo"), ("torch", "iinfo"), ("numpy", "finfo"), ("numpy", "iinfo"),
               *(("numpy", f"{kind}{bits}") for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64))}


def is_pure(callee):
    """Is this a type whose objects depend on nothing but the arguments?"""
    return isinstance(callee, type) and (callee.__module__, callee.__name__) in _PURE_TYPES


class _Reader:
    """Watches what functions read. `is_settled` is false where that is more than can be watched."""

    def __init__(self):
        self.is_settled = True
        self.seen = set()

    def value(self, value):
        """A value that is read as a whole."""
        if isinstance(value, (tuple, frozenset)):
            for element in value:
                self.value(element)
        elif isinstance(value, lang.constexpr):
            core.watch(core.WATCH_ATTRIBUTE, value, "value", value.value)
            self.value(value.value)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(getattr(value, "fn", None), types.FunctionType):  # a constexpr_function
            core.watch(core.WATCH_ATTRIBUTE, value, "fn", value.fn)
            self.function(value.fn)
        elif isinstance(value, types.BuiltinFunctionType):
            self.is_settled &= value.__self__ in _PURE_MODULES and value.__name__ not in _IMPURE
        elif isinstance(value, type):
            self.is_settled &= value.__module__ == "builtins"
        else:
            self.is_settled &= isinstance(value, _PLAIN)

    def function(self, fn):
        if fn in self.seen:
            return
        self.seen.add(fn)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            core.watch(core.WATCH_ATTRIBUTE, fn, name, getattr(fn, name))
        self.value(fn.__defaults__)
        self.is_settled &= not fn.__kwdefaults__
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        self.code(fn.__code__, fn.__globals__, cells)

    def code(self, code, scope, cells):
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self.code(inner, scope, cells)
        chain = _UNSEEN  # the value that the last instruction pushed, when it was read from outside
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain is not _UNSEEN:
                chain = self.attribute(chain, step.argval)
                continue
            if chain is not _UNSEEN:
                self.value(chain)
            chain = _UNSEEN
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                chain = self.name(scope, step.argval)
            elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in cells:
                chain = self.cell(cells[step.argval])
            elif step.opname.startswith(("IMPORT_", "STORE_GLOBAL", "DELETE_GLOBAL")):
                self.is_settled = False

    def name(self, scope, name):
        if name in scope:
            core.watch(core.WATCH_ITEM, scope, name, scope[name])
            return scope[name]
        core.watch(core.WATCH_ITEM, scope, name)
        return getattr(builtins, name, None)

    def cell(self, cell):
        try:
            value = cell.cell_contents
        except ValueError:
            self.is_settled = False
            return _UNSEEN
        core.watch(core.WATCH_CELL, cell, None, value)
        return value

    def attribute(self, obj, name):
        is_plain = isinstance(obj, (types.ModuleType, type)) or not hasattr(type(obj), name)
        if not is_plain:  # a method or a property: code of its own
            self.value(obj)
            return _UNSEEN
        value = getattr(obj, name, _UNSEEN)
        if value is not _UNSEEN:
            core.watch(core.WATCH_ATTRIBUTE, obj, name, value)
        self.is_settled &= value is not _UNSEEN
        return value


def watch_call(callee, arguments, keywords, result):
    """Watches what `callee(*arguments, **keywords)`, which gave `result`, depends on."""
    reader = _Reader()
    reader.value(callee)
    for argument in (*arguments, *keywords.values()):
        reader.value(argument)
    if not reader.is_settled:
        core.watch(core.WATCH_CALL, callee, (arguments, tuple(keywords.items())), result)
