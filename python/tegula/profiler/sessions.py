"""Sessions: what is started, recorded and written. Scopes (scopes.py) and launches (launches.py) add to the trees of the
sessions that are active; a launch is looked at only while there is one."""
import atexit
import functools
import os
import sys
import threading
import warnings
from collections import deque
from pathlib import Path

from .. import knobs
from . import clocks
from .tree import Tree, write

DEFAULT_PROFILE_NAME = "proton"
SUFFIX = ".hatchet"
lock = threading.RLock()  # of trees, and of what is below
os.register_at_fork(after_in_child=lock._at_fork_reinit)
_sessions, _active, _started = {}, (), 0
_pending = deque()  # spans that have ended for the host, and the frames that they belong to
_MOST_PENDING = 256
_is_command = False  # a script runs under the command `proton`, which has the one session
_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class Session:
    """One profile. `epoch` counts its pauses: a span over one has no time that is its own."""

    def __init__(self, number, path, context, has_metadata):
        self.number, self.path, self.context, self.has_metadata = number, path, context, has_metadata
        self.tree, self.is_active, self.epoch = Tree(), False, 0

    def place(self, scopes, own):
        """The path of a frame that has the names `own`, below the scopes or the Python functions that are running."""
        return (*(_python_frames() if self.context == "python" else scopes), *own)


def _python_frames():
    """FILE:LINE@FUNCTION of each running function that is neither ours nor the interpreter's, outermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<frozen ")):
            found.append(f"{code.co_filename}:{frame.f_lineno}@{code.co_name}")
        frame = frame.f_back
    return found[::-1]


def active():
    return _active


def are_any():
    return bool(_sessions)


def add(placed, rows):
    """Adds metrics to the frames (session, path)."""
    with lock:
        for session, path in placed:
            session.tree.add(session.tree.frame(path), rows)


def record(span, placed):
    """Keeps the time of a span for frames: (session, path, metrics) of each. No GPU is waited for."""
    with lock:
        rows = []
        for session, path, metrics in placed:
            frame = session.tree.frame(path, span.device)
            session.tree.add(frame, metrics)
            rows.append((session, frame))
        _pending.append((span, rows))
        if len(_pending) >= _MOST_PENDING or isinstance(span, clocks.HostSpan):
            _settle(must_wait=False)


def _settle(must_wait):
    """Adds up the spans that are over."""
    with lock:
        while _pending and (must_wait or _pending[0][0].is_ready()):
            span, rows = _pending[0]
            took = span.nanoseconds()
            _pending.popleft()
            for session, frame in rows:
                session.tree.add_time(frame, span.device, took)
            span.release()


def _chain(name):
    """The hooks of launches; a function that somebody put in their place becomes one of them."""
    found = getattr(knobs.runtime, name)
    if not isinstance(found, knobs.HookChain):
        chain = knobs.HookChain(reversed=name.endswith("exit_hook"))
        if found is not None:
            chain.add(found)
        setattr(knobs.runtime, name, chain)
    return getattr(knobs.runtime, name)


hooks = {}  # of launches while a session is active, by their names in knobs.runtime: launches.py has them


def _switch(session, is_active):
    """Begins or ends to record, and with the last session the hooks of launches."""
    global _active
    with lock:
        if session.is_active and not is_active:
            session.epoch += 1
        session.is_active = is_active
        _active = tuple(each for each in _sessions.values() if each.is_active)
        for name, hook in hooks.items():
            if _active:
                _chain(name).add(hook)
            else:
                _chain(name).remove(hook)


def _path_of(name):
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"profiler: a session is named by the path of its file, not by {name!r}")
    path = os.path.abspath(os.fspath(name)) + SUFFIX
    if not os.path.basename(os.fspath(name)):
        raise ValueError(f"profiler: `{name}` is no name of a file; the profile is written to NAME{SUFFIX}")
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(f"profiler: the folder {os.path.dirname(path)}, where the profile is to be, is not there")
    return path


def _check(context, data, backend, mode, hook):
    """Refuses what is not here, and what is nowhere."""
    if context not in ("shadow", "python"):
        raise ValueError(f"profiler: context is {context!r}; it is `shadow` (scopes) or `python` (running functions)")
    if hook not in (None, "triton", "launch"):
        raise ValueError(f"profiler: hook is {hook!r}; it is None or `triton`, which asks kernels' launch_metadata")
    if data == "trace":
        raise NotImplementedError("profiler: there are no traces here\n  hint: leave `data` out, which makes a tree")
    if data != "tree":
        raise ValueError(f"profiler: data is {data!r}; it is `tree`")
    if backend in ("cupti", "roctracer", "instrumentation"):
        raise NotImplementedError(f"profiler: there is no backend `{backend}` here: launches are timed by events, or by the "
                                  "host's clock on the cores\n  hint: leave `backend` out")
    if backend is not None:
        raise ValueError(f"profiler: backend is {backend!r}; it is None")
    if mode not in (None, ""):
        raise NotImplementedError(f"profiler: there is no mode `{mode}` here\n  hint: leave `mode` out")


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Starts a session, which is written to NAME.hatchet when it is finalized, and returns its number; a session that has
    this name already goes on.

    context="shadow" finds launches under the scopes that are open, "python" under the Python functions that run.
    hook="triton" (or "launch") asks the `launch_metadata` of kernels: its `name` is the frame's, and `flops`, `flops8` to
    `flops64` and `bytes` are its metrics. Under `proton SCRIPT` and with TRITON_PROTON_DISABLE nothing is started, and the
    answer is None."""
    _check(context, data, backend, mode, hook)
    if _is_command or knobs.proton.disable:
        return None
    return _start(_path_of(DEFAULT_PROFILE_NAME if name is None else name), context, hook is not None)


def _start(path, context, has_metadata):
    global _started
    with lock:
        session = next((each for each in _sessions.values() if each.path == path), None)
        if session is None:
            session = _sessions[_started] = Session(_started, path, context, has_metadata)
            _started += 1
        elif (session.context, session.has_metadata) != (context, has_metadata):
            raise ValueError(f"profiler: the session {session.number}, which writes {path}, runs with another context or hook")
        _switch(session, True)
        return session.number


def chosen(session):
    """The session of a number, or all."""
    if session is None:
        return list(_sessions.values())
    if isinstance(session, bool) or not isinstance(session, int):
        raise TypeError(f"profiler: a session is named by the number that `start` returned, not by {session!r}")
    if session not in _sessions:
        if knobs.proton.disable:
            return []
        raise RuntimeError(f"profiler: there is no session {session}: it was not started, or is finalized")
    return [_sessions[session]]


def activate(session=None):
    """Goes on to record: one session, or all."""
    with lock:
        for each in chosen(session):
            _switch(each, True)


def deactivate(session=None, flushing=False):
    """Records no more until `activate`: one session, or all. What was recorded stays; with `flushing` the GPU is waited for."""
    with lock:
        for each in chosen(session):
            _switch(each, False)
        if flushing:
            settle()


def settle():
    """Waits for the GPU, and adds up all that is recorded."""
    _settle(must_wait=True)


def finalize(session=None, output_format="hatchet"):
    """Ends a session, or all, waits for the GPU and writes the files. A session whose file cannot be written stays, for
    another try. Without sessions this does nothing; under `proton SCRIPT` it is left to the command."""
    if output_format == "chrome_trace":
        raise NotImplementedError("profiler: there are no traces here\n  hint: the format is `hatchet`")
    if output_format not in ("hatchet", "", None):
        raise ValueError(f"profiler: output_format is {output_format!r}; it is `hatchet`")
    if not _is_command:
        _finalize(session)


def _finalize(session=None):
    failed = None
    with lock:
        ended = chosen(session)
        for each in ended:
            _switch(each, False)
        _settle(must_wait=True)
        for each in ended:
            try:
                write(each.path, each.tree.literal(clocks.describe))
                del _sessions[each.number]
            except Exception as error:  # the others are written
                failed = failed or error
    if failed:
        raise failed


def begin_command(name, **options):
    """The session of the command `proton`; what the script itself starts and finalizes is left out."""
    global _is_command
    start(name, **options)
    _is_command = True


def end_command():
    global _is_command
    _is_command = False
    _finalize()


def profile(func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """``@profile`` and ``@profile(name=...)``: a session that is active while the function runs. `finalize` writes it."""
    if func is None:
        return functools.partial(profile, name=name, context=context, data=data, backend=backend, mode=mode, hook=hook)
    if not callable(func):
        raise TypeError(f"profiler: `profile` decorates functions, not {func!r}")

    @functools.wraps(func)
    def inside(*args, **kwargs):
        before = _active
        session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook)
        try:
            return func(*args, **kwargs)
        finally:
            if session in _sessions and not any(each.number == session for each in before):
                deactivate(session)

    return inside


@atexit.register
def _say_what_is_lost():
    for session in _sessions.values():
        warnings.warn(f"profiler: the session {session.number} was not finalized, and {session.path} not written", stacklevel=1)
