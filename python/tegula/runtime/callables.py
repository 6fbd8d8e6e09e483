"""Says what functions of the language and functions that run at compile time have in common: source, key, parameters."""
import ast
import functools
import hashlib
import importlib.util
import inspect
import linecache
import os
import re
import sys
import threading
import time
import tokenize
import types
import warnings
import weakref

from .. import _tegula as core
from ..language import core as lang
from .rewrite import FEATURES


def get_full_name(fn):
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """(file, line) of a function of the language."""
    while not isinstance(fn, JITCallable):
        fn = fn.fn
    return fn.fn.__code__.co_filename, fn.starting_line_number


def dedented(lines):
    """The text of a definition as it would stand at the beginning of a line. Comments, texts and what brackets hold may be
    indented less than the definition is."""
    indent = lines[0][:len(lines[0]) - len(lines[0].lstrip())]
    return "".join(line[len(os.path.commonprefix((line, indent))):] for line in lines)


def found_again(function):
    """A kernel that came from another process without its Python function, from the file that it was defined in."""
    if function.fn is not None:
        return function
    spec = importlib.util.spec_from_file_location(function.__name__, function._file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, function.__name__)
    while not isinstance(found, JITCallable):
        found = found.fn
    return found


class KernelParam:
    """A parameter of a kernel, as libraries ask for it."""

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = num, param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @property
    def name(self):
        return self._param.name

    @functools.cached_property
    def annotation(self):
        """As a text: "constexpr", "*fp32", ""."""
        return type_name(self._param.annotation)

    @functools.cached_property
    def annotation_type(self):
        """The type that the annotation pins: "i64", "fp32"; "" where it pins none."""
        text = self.annotation.removeprefix("*k").removeprefix("*").removeprefix("const ").strip()
        is_type = text and core.dtype_from_name(text) >= 0
        return ("*" if self.annotation.startswith("*") else "") + _short(text) if is_type else ""

    @functools.cached_property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @functools.cached_property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))

    @property
    def default(self):
        return self._param.default

    @property
    def has_default(self):
        return self._param.default is not inspect.Parameter.empty

    def __repr__(self):
        return f"KernelParam({self.num}, {self._param})"


def _short(name):
    """int32 -> i32, as signatures spell types."""
    return lang.short_name(lang.dtype(name))


def type_name(annotation):
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation.strip().removeprefix("tl.").removeprefix("triton.language.")
    if isinstance(annotation, type):
        return annotation.__name__
    if isinstance(annotation, lang.pointer_type):
        return ("*k" if annotation.const else "*") + type_name(annotation.element_ty)
    if isinstance(annotation, lang.dtype) and annotation._code is not None:
        return _short(annotation.name)
    return str(annotation)


class FileText:
    """The lines of a file as they were once. `is_new`: they were written while this process ran, and may be others than those
    that were compiled: a function may be defined long after its module."""

    def __init__(self, lines, is_new):
        self.lines, self.is_new, self._codes = lines, is_new, None

    def has(self, code):
        """Does the text compile to this code?"""
        if self._codes is None:
            self._codes = {(found.co_name, found.co_firstlineno): found for found in _codes_in("".join(self.lines), code.co_filename)}
        return self._codes.get((code.co_name, code.co_firstlineno)) == code


_files = {}  # path -> ((time of change, size, number), FileText)
_earlier = {}  # path -> the last texts
_MOST_EARLIER = 4
_TICK = 20_000_000  # nanoseconds: two changes of a file that are nearer may have the same time
_started = time.time_ns()


def text_of_file(code, scope):
    """The text of the file that a function is being defined in, as it is now: a file may be written again, or deleted, before
    the function is used. Functions of one file share it. None where there is no file."""
    path = code.co_filename
    if path.startswith("<"):
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        lines = linecache.getlines(path, scope)
        return FileText(lines, False) if lines else None
    state = found.st_mtime_ns, found.st_size, found.st_ino
    known = _files.get(path)
    if known is not None and known[0] == state:
        return known[1]
    now = time.time_ns()
    try:
        with tokenize.open(path) as file:
            lines = file.readlines()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    text = FileText(lines, found.st_mtime_ns > _started)
    if now - found.st_mtime_ns > _TICK:
        _files[path] = state, text
    if text.is_new or path in _earlier:
        _earlier[path] = [text, *_earlier.get(path, ())][:_MOST_EARLIER]
    elif known is None:
        _earlier[path] = [text]
    return text


def _fitting(text, code):
    """The text, or an earlier one of its file, that the code is of."""
    if not text.is_new:
        return text
    for each in (text, *_earlier.get(code.co_filename, ())):
        if each.has(code):
            return each
    block = inspect.getblock(text.lines[code.co_firstlineno - 1:])
    found = next(filter(None, (re.match(r"\s*(?:async\s+)?def\s+(\w+)", line) for line in block)), None)
    if found is None or found[1] != code.co_name:
        raise ValueError(f"{code.co_filename} was changed before `{code.co_name}` was defined: the source of the function is gone\n"
                         "  hint: run the program again")
    warnings.warn(f"{code.co_filename} was changed before `{code.co_name}` was defined: what is compiled is the new text",
                  stacklevel=2)
    return text


def _lines_in_callers(code):
    """(lines, first line) of a function that `exec` made, where a caller still has the text as a variable: a text is that
    of the function if it compiles to the same code. None where there is no such text."""
    frame = sys._getframe(1)
    while frame is not None:
        for text in list(frame.f_locals.values()):
            if type(text) is str and f"def {code.co_name}" in text and _compiles_to(text, code):
                lines = text.splitlines(keepends=True)
                first = code.co_firstlineno
                return inspect.getblock(lines[first - 1:]), first
        frame = frame.f_back
    return None


def _compiles_to(text, code):
    return any(found == code for found in _codes_in(text, code.co_filename, code.co_flags & FEATURES))


def _codes_in(text, path, flags=0):
    """The code of a text, and of all functions in it."""
    try:
        waiting = [compile(text, path, "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    for found in waiting:
        waiting.extend(constant for constant in found.co_consts if isinstance(constant, types.CodeType))
    return waiting


_UNFINISHED = "recursion:"  # a key that is being made
_functions = weakref.WeakSet()


def _in_child():
    """A thread that the forked child does not have may have been at work on any function."""
    for function in list(_functions):
        function._start_again()


os.register_at_fork(after_in_child=_in_child)


class JITCallable:
    """A function with its source, its parameters and a key that another text would change."""

    def _make_lock(self):
        self._hash_lock = threading.RLock()
        _functions.add(self)

    def _start_again(self):
        self._hash_lock = threading.RLock()
        if self.hash and self.hash.startswith(_UNFINISHED):
            self.hash = None

    def _set_up(self, fn):
        self.fn = fn
        self.signature = inspect.signature(fn)
        self._fn_name, self._file = get_full_name(fn), fn.__code__.co_filename
        self.__name__, self.__qualname__, self.__doc__ = fn.__name__, fn.__qualname__, fn.__doc__
        self.__module__, self.__globals__, self.__wrapped__ = fn.__module__, fn.__globals__, fn
        self.used_global_vals, self.hash = {}, None
        self._make_lock()
        written = inspect.unwrap(fn)  # whose text the source is
        written = written if inspect.isfunction(written) else fn
        code = written.__code__
        self._file_text, self._code = text_of_file(code, written.__globals__), code
        if code.co_filename.startswith("<"):
            self._found_lines = _lines_in_callers(code)

    _file_text = None  # of the file, as it was when the function was defined
    _found_lines = None  # of a function that `exec` made

    @functools.cached_property
    def _lines(self):
        if self._file_text is not None:
            first = self._code.co_firstlineno
            if lines := _fitting(self._file_text, self._code).lines[first - 1:]:
                return inspect.getblock(lines), first
        try:
            return inspect.getsourcelines(self.fn)
        except (OSError, TypeError) as error:
            if self._found_lines is not None:
                return self._found_lines
            raise ValueError(f"@jit functions should be defined in a Python file: the source of `{self.fn.__name__}` "
                             f"cannot be read ({error})") from None

    # The place of the function as it is told. A program that makes functions of texts may assign another one.
    file_name = functools.cached_property(lambda self: self.fn.__code__.co_filename)
    raw_src = functools.cached_property(lambda self: list(self._lines[0]))
    starting_line_number = functools.cached_property(lambda self: self._lines[1])

    @functools.cached_property
    def _def(self):
        """(number of the line within the source, column from 1) of `def`."""
        rows = [(number, re.match(r"\s*(?:async\s+)?def\b", line)) for number, line in enumerate(self._lines[0])]
        return next(((number, found.end() - len(found[0].lstrip()) + 1) for number, found in rows if found), (0, 1))

    def_file_line_number = functools.cached_property(lambda self: self.starting_line_number + self._def[0])
    def_file_col_number = functools.cached_property(lambda self: self._def[1])

    @functools.cached_property
    def _src(self):
        text = dedented(self._lines[0])
        start = re.search(r"^def\s+\w+\s*\(", text, re.MULTILINE)
        return text[start.start():] if start else text

    @property
    def src(self):
        """The text from `def` on."""
        return self._src

    @src.setter
    def src(self, text):
        raise AttributeError("the source of a kernel is not assigned to: its key would stay that of the old one\n"
                             "  hint: call kernel._unsafe_update_src(text) before the first launch")

    def _unsafe_update_src(self, new_src):
        """Another text for the function, before it is compiled."""
        if getattr(self, "_was_read", False):
            raise RuntimeError(f"`{self.__name__}` was compiled already, and keeps its source\n"
                               "  hint: make another kernel of it, triton.jit(kernel.fn), and update that one")
        self._src, self.hash, self._is_updated = new_src, None, True

    def parse(self):
        """The tree of the source, as the module `ast` has it."""
        return ast.parse(self._src)

    def get_capture_scope(self):
        """The names that the function sees: globals, and those of the functions around it."""
        cells = zip(self.fn.__code__.co_freevars, self.fn.__closure__ or ())
        return self.__globals__ | {name: cell.cell_contents for name, cell in cells}

    @functools.cached_property
    def rest_place(self):
        """The place of `*args` among the parameters; None: there is none."""
        kinds = [parameter.kind for parameter in self.signature.parameters.values()]
        star = inspect.Parameter.VAR_POSITIONAL
        return kinds.index(star) if star in kinds else None

    def by_name(self, args):
        """Arguments of a call that have no name, by the names of their parameters; what `*args` takes is a tuple."""
        names, place = self.arg_names, self.rest_place
        if place is None:
            return dict(zip(names, args))
        return {**dict(zip(names[:place], args)), names[place]: tuple(args[place:])}

    @property
    def type(self):
        return lang.constexpr_type(self)

    @property
    def cache_key(self):
        """A text that is another one where the source is another one, of the function or of one that it calls, or a
        constant that they read."""
        with self._hash_lock:
            if self.hash is None:
                self.hash = _UNFINISHED + self._fn_name
                digest = hashlib.sha256(self._src.encode())
                for text in self._dependencies():
                    digest.update(text.encode())
                self.hash = digest.hexdigest()
            return self.hash

    def _dependencies(self):
        code = self.fn.__code__
        scope = self.get_capture_scope() if self.fn.__closure__ else self.__globals__
        yield f"{code.co_filename}:{self.starting_line_number}"
        for name in sorted({*code.co_names, *code.co_freevars}):
            value = scope.get(name)
            if value is None or isinstance(value, types.ModuleType):
                yield from _of_module(value, code.co_names)
                continue
            key = getattr(value, "cache_key", None)
            if isinstance(key, str):
                self.used_global_vals.update(getattr(value, "used_global_vals", {}))
                yield f"{name}:{key}"
            elif isinstance(value, (lang.constexpr, int, float, str, bool, tuple, lang.dtype)):
                if name in self.__globals__:
                    self.used_global_vals[(name, id(self.__globals__))] = value, self.__globals__
                yield f"{name}={value!r}"


def _of_module(module, names):
    """The keys of the functions of a module that is no part of the language."""
    if module is None or module.__name__.split(".")[0] in ("tegula", "math"):
        return
    for name in names:
        key = getattr(vars(module).get(name), "cache_key", None)
        if isinstance(key, str):
            yield f"{module.__name__}.{name}:{key}"
