"""What a compile or a launch raises. ``str(error)`` is the rendered diagnostic: place, line, caret,
reason and hint; ``error.diagnostics`` is the list behind it."""
import ast
import functools
import linecache
import re
from collections import namedtuple

Diagnostic = namedtuple("Diagnostic", "severity kind file line column message hint")


def placed(file, line, column, message):
    """The message with its place in front, if it has one."""
    return f"{file}:{line}:{column}: {message}" if file else message


# tg_status
(OK, PARSE, TYPE, UNSUPPORTED, RESOURCE, TOOLCHAIN, DRIVER, LAUNCH, DATA, INTERNAL, ASSERTION) = range(11)


class TritonError(Exception):
    """The base of all errors."""

    def __init__(self, text="", diagnostics=()):
        super().__init__(text)
        self.text = text.rstrip("\n")
        self.diagnostics = list(diagnostics)

    def __str__(self):
        return self.text

    @property
    def kind(self):
        """The name of the first diagnostic, e.g. ``UndefinedName``."""
        return self.diagnostics[0].kind if self.diagnostics else ""


class CompilationError(TritonError):
    """The kernel means nothing, or cannot be compiled for this target. Code may raise one itself, of a text, a node of its tree
    (or None) and what is wrong there."""

    _given = None  # (src, node, what is wrong)

    def __init__(self, src="", node=(), error_message=None):
        if isinstance(node, (tuple, list)):  # ours: a text and diagnostics
            super().__init__(src, node)
            return
        self._given = src, node, error_message
        super().__init__(_pointed_out(src, node, error_message))
        self.args = self._given

    def _error(self):
        return next((d for d in self.diagnostics if d.severity == 0), None)

    @property
    def error_message(self):
        """What is wrong, without its place."""
        if self._given:
            return self._given[2]
        return self._error().message if self._error() else self.text

    @property
    def message(self):
        return self.text

    @property
    def src(self):
        """The text in which `node` has its line; None where it is not known."""
        if self._given:
            return self._given[0]
        return self._error() and "".join(linecache.getlines(self._error().file)) or None

    @property
    def node(self):
        """The place of what is wrong, as a node of a tree has it."""
        if self._given:
            return self._given[1]
        error = self._error()
        return error and ast.Pass(lineno=error.line, col_offset=error.column - 1)


def _pointed_out(src, node, message):
    lines = [f"at {node.lineno}:{node.col_offset}:"] if hasattr(node, "lineno") else []
    if src is None:
        lines.append("<the source is not known>")
    elif lines:
        lines += [*src.split("\n")[:node.lineno][-12:], " " * node.col_offset + "^"]
    else:
        lines.append(src)
    return "\n".join([*lines, *([message] if message else [])])


class UnsupportedLanguageConstruct(CompilationError):
    """A construct of Python that kernels cannot have."""


class CompileTimeAssertionFailure(CompilationError):
    """A ``tl.static_assert`` failed."""


class BudgetError(CompilationError):
    """Compiling the kernel would cost more than a compile may: operations, steps, elements of a tile, nesting."""


class OutOfResources(TritonError):
    """A kernel needs more of something than a device has: threads, shared memory, memory. `required` and `limit` are None where
    nobody says how much it is, as of the device's whole memory."""

    def __init__(self, required, limit, name, text=None, diagnostics=()):
        self.required, self.limit, self.name = required, limit, name
        super().__init__(text or f"out of resource: {name}, Required: {required}, Hardware limit: {limit}. "
                         "Reducing block sizes or `num_stages` may help.", diagnostics)
        self.args = required, limit, name

    @classmethod
    def told(cls, text, diagnostics):
        """Of what the library says: the limits of devices are in one sentence (base/OverLimit.h)."""
        message = next((d.message for d in diagnostics if d.severity == 0), text)
        found = _OVER_LIMIT.search(message)
        if found is None:
            return cls(None, None, message.split("\n")[0], text, diagnostics)
        return cls(int(found[2]), int(found[3]), found[1], text, diagnostics)


_OVER_LIMIT = re.compile(r"out of resource: ([^,]+), Required: (\d+), Hardware limit: (\d+)")


class LaunchError(TritonError, TypeError, ValueError):
    """Arguments or grid do not fit the kernel."""


class RangeError(LaunchError, OverflowError):
    """An integer that its parameter's type cannot hold."""


class OptionError(LaunchError, AssertionError):
    """An option of a launch has a value that it does not take."""


class KeywordError(LaunchError, KeyError):
    """A keyword that is neither a parameter nor an option."""


class DeviceAssertionError(TritonError, RuntimeError, AssertionError):
    """A ``tl.device_assert`` was false while the kernel ran."""


class ToolchainError(TritonError, RuntimeError):
    """The assembler refused a kernel, or failed; the text names the file that it was given."""


PTXASError = ToolchainError  # the name that upstream's code catches


class AutotunerError(TritonError):
    """What autotune was told cannot be done."""


class InterpreterError(TritonError):
    """The interpreter cannot run a kernel."""

    def __init__(self, error_message="", diagnostics=()):
        super().__init__(error_message or "", diagnostics)

    @property
    def error_message(self):
        return self.text


class DriverError(TritonError, RuntimeError):
    """The driver of a device refused, or a kernel faulted on it."""


class InternalError(TritonError, RuntimeError):
    """A bug of Tegula."""


_BY_KIND = {
    "UnsupportedConstruct": UnsupportedLanguageConstruct,
    "ParameterKindUnsupported": UnsupportedLanguageConstruct,
    "AssertFailed": CompileTimeAssertionFailure,
    "StaticAssertFailed": CompileTimeAssertionFailure,
    "KeywordUnknown": KeywordError,
    "ArgumentRange": RangeError,
    "OptionValue": OptionError,
}
_BY_STATUS = {LAUNCH: LaunchError, RESOURCE: OutOfResources, INTERNAL: InternalError,
              TOOLCHAIN: ToolchainError, DRIVER: DriverError,
              ASSERTION: DeviceAssertionError}


@functools.cache
def _of_interpreter(cls):
    """The error of an operation that Python runs is an InterpreterError, too."""
    if issubclass(cls, InterpreterError):
        return cls
    return type(cls.__name__, (cls, InterpreterError), {"__doc__": cls.__doc__, "__module__": cls.__module__})


_LONGEST = 1200  # of a line: values of the program may be of any length


def _cut(line):
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST - 300]} ... {line[-200:]}"


def retold(error, text):
    """The same error with another text."""
    other = type(error).__new__(type(error))
    vars(other).update(vars(error), text=text.rstrip("\n"))
    other.args = error.args if isinstance(error, OutOfResources) else (text,)
    return other


def make_error(status, text, rows):
    """Called by the extension: (tg_status, rendered text, rows of a Diagnostic) -> exception."""
    text = "\n".join(map(_cut, text.split("\n")))
    diagnostics = [Diagnostic(*(_cut(part) if isinstance(part, str) else part for part in row)) for row in rows]
    for diagnostic in diagnostics:
        if diagnostic.kind == "StaticPrint":  # it ran before the error
            print(diagnostic.message)
    kind = next((d.kind for d in diagnostics if d.severity == 0), "")
    cls = _BY_KIND.get(kind) or _BY_STATUS.get(status, CompilationError)
    if cls is OutOfResources and kind not in ("", "TargetTooSmall"):
        cls = BudgetError
    from .language.core import running

    if running.session is not None:
        cls = _of_interpreter(cls)
    error = cls.told(text, diagnostics) if issubclass(cls, OutOfResources) else cls(text, diagnostics)
    if issubclass(cls, CompilationError) and not issubclass(cls, CompileTimeAssertionFailure):
        error.__cause__ = ValueError(error.error_message)  # as upstream's errors have what an operation raised
    return error
