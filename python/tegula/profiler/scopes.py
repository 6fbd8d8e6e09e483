"""Scopes and states: the names under which the launches of a thread are found in the tree.

Each thread has a stack of scopes. One that has opened none works under those of the main thread, as the threads do that
run PyTorch's backward passes. Scopes are kept while no session runs, too: a session that is started inside of one knows it."""
import functools
import inspect
import itertools
import threading
import time

from . import clocks, sessions
from .tree import EXCLUSIVE, INCLUSIVE, checked

WHOLE = "<whole scope>"
_WORK = ("flops", "bytes")  # metrics that begin so say that a scope has work in it
_numbers = itertools.count()
_main_stack = []


class _Thread(threading.local):

    def __init__(self):
        is_main = threading.current_thread() is threading.main_thread()
        self.stack, self.base, self.states = _main_stack if is_main else [], (), []
        self.is_main = is_main


_thread = _Thread()


class _Entry:
    """An open scope. `owner` is the `scope` object of a with block, None of `enter_scope`."""

    __slots__ = ("name", "owner", "number", "known", "has_times", "span", "began")

    def __init__(self, name, owner, known):
        """`known` has (session, its epoch, the path of the scope) of the sessions that are active."""
        self.name, self.owner, self.number, self.known = name, owner, next(_numbers), known
        self.has_times, self.span, self.began = False, None, None


def entries():
    """The open scopes of this thread, outermost first."""
    if _thread.is_main:
        return tuple(_main_stack)
    return (*_thread.base, *_thread.stack) if _thread.stack else tuple(_main_stack)


def names_of(stack):
    return tuple(entry.name for entry in stack)


def current_state():
    """The innermost state of this thread, as a tuple: it may have none."""
    return tuple(_thread.states[-1:])


def mark_timed(stack):
    """Says of open scopes that something inside of them is timed."""
    for entry in reversed(stack):
        if entry.has_times:
            break
        entry.has_times = True


def _open(name, metrics, owner=None, is_timed=False):
    if not isinstance(name, str) or not name:
        raise TypeError(f"profiler: a scope is named by text, not by {name!r}")
    active = sessions.active()
    rows = checked(metrics, f"the scope `{name}`") if metrics and active else []
    if not _thread.is_main and not _thread.stack:
        _thread.base = tuple(_main_stack)
    own, outer = (name, *current_state()), names_of((*_thread.base, *_thread.stack))
    entry = _Entry(name, owner, [(session, session.epoch, session.place(outer, own)) for session in active])
    _thread.stack.append(entry)
    sessions.add(((session, place) for session, _, place in entry.known), rows)
    if is_timed:
        entry.began = time.perf_counter_ns()
    if any(kind == INCLUSIVE and row.startswith(_WORK) for row, kind, _ in rows):
        try:
            entry.span = clocks.begin_scope()
        except BaseException:  # of a GPU that has failed
            _drop(entry)
            raise
    return entry


def _close(entry, metrics=None):
    """Ends a scope, and those that `enter_scope` opened inside of it and nobody closed."""
    took = None if entry.began is None else time.perf_counter_ns() - entry.began
    recording = [(session, place) for session, epoch, place in entry.known if session.is_active and session.epoch == epoch]
    rows = checked(metrics, f"the scope `{entry.name}`") if metrics and recording else []
    try:
        if entry.span and recording and not entry.has_times and clocks.can_end(entry.span):
            entry.span.end()
            mark_timed((*_thread.base, *_thread.stack))
            sessions.record(entry.span, [(session, (*place, WHOLE), []) for session, place in recording])
        if took is not None:
            rows = [*rows, ("cpu_time (ns)", EXCLUSIVE, took)]
        sessions.add(recording, rows)
    finally:
        _drop(entry)


def _drop(entry):
    own = _thread.stack
    if entry in own:
        first = own.index(entry)
        own[first:] = [other for other in own[first + 1:] if other.owner is not None]


class scope:
    """``with scope(name, metrics):`` and ``@scope(name, metrics)``: launches inside are found under the name, and the
    metrics, numbers by name, are added to its frame each time. Metrics are read while a session is active."""

    _is_timed = False

    def __init__(self, name, metrics=None):
        self.name, self.metrics, self.id = name, metrics, None

    def __enter__(self):
        self.id = _open(self.name, self.metrics, self, self._is_timed).number
        return self

    def __exit__(self, kind, value, traceback):
        entry = next((each for each in reversed(_thread.stack) if each.owner is self), None)
        if entry is not None:
            _close(entry)

    def __call__(self, function):
        return _around(function, lambda: type(self)(self.name, self.metrics))


class cpu_timed_scope(scope):
    """A scope with the host's time from its beginning to its end, the metric `cpu_time`."""

    _is_timed = True

    def __init__(self, name, metrics=None):
        if metrics and "cpu_time" in metrics:
            raise ValueError("profiler: the scope measures `cpu_time` itself; give that metric another name")
        super().__init__(name, metrics)


def _around(function, make):
    """`function` inside of a new context a call."""
    if not callable(function):
        raise TypeError(f"profiler: a scope or state decorates functions, not {function!r}")
    if any(test(function) for test in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise TypeError(f"profiler: the call of `{function.__name__}` returns before its body runs\n  hint: write "
                        "`with` inside of it")

    @functools.wraps(function)
    def inside(*args, **kwargs):
        with make():
            return function(*args, **kwargs)

    return inside


def enter_scope(name, *, metrics=None):
    """Opens a scope, which `exit_scope` closes. Returns its number, or None where no session runs."""
    entry = _open(name, metrics)
    return entry.number if sessions.are_any() else None


def exit_scope(name=None, *, metrics=None):
    """Closes the scope that `enter_scope` opened last in this thread; a name must be its own."""
    entry = _thread.stack[-1] if _thread.stack else None
    if entry is None or entry.owner is not None:
        if not sessions.are_any():
            return None
        reason = f"`{entry.name}` is a with block's" if entry else "none is open in this thread"
        raise RuntimeError(f"profiler: exit_scope closes what enter_scope opened, and {reason}")
    if name is not None and name != entry.name:
        raise ValueError(f"profiler: exit_scope is to close `{name}`, and the innermost scope is `{entry.name}`")
    _close(entry, metrics)
    return entry.number if sessions.are_any() else None


class state:
    """``with state(name):`` and ``@state(name)``: a name behind all scopes, those too that are opened inside. The innermost
    state holds."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        enter_state(self.name)
        return self

    def __exit__(self, kind, value, traceback):
        exit_state()

    def __call__(self, function):
        return _around(function, lambda: state(self.name))


METADATA_SCOPE = "__proton_launch_metadata"  # upstream's name; viewers leave such frames out


class metadata_state(state):
    """The state of what is launched to find out the metrics of a launch: it is no part of what is profiled."""

    def __init__(self, kernel_name=None):
        super().__init__(f"{METADATA_SCOPE}:{kernel_name}" if kernel_name else METADATA_SCOPE)


def enter_state(name):
    if not isinstance(name, str) or not name:
        raise TypeError(f"profiler: a state is named by text, not by {name!r}")
    _thread.states.append(name)


def exit_state():
    if not _thread.states:
        raise RuntimeError("profiler: exit_state without enter_state in this thread")
    _thread.states.pop()
