"""The hooks around launches while a session is active. `begin` is the last thing before a launch, `end` the first one
behind it; a launch that fails has no end, and is forgotten."""
import threading

from . import clocks, scopes, sessions
from .tree import checked

_METRICS = ("flops", "flops8", "flops16", "flops32", "flops64", "bytes")


class _Begun(threading.local):

    def __init__(self):
        self.rows = []


_begun = _Begun()


def _described(told):
    """The name and the metrics that a kernel's `launch_metadata` gives. What that function launches has a state of its own."""
    with scopes.metadata_state():
        found = told.get()
    name = found["name"]
    if not isinstance(name, str):
        raise TypeError(f"profiler: launch_metadata names a launch by text, not by {name!r}")
    metrics = {key: found[key] for key in _METRICS if key in found}
    return name, checked(metrics, f"the launch `{name}`")


def begin(told):
    active = sessions.active()
    if not active or told is None:
        return
    plain = (told.kernel.name if told.kernel else str(told.data.get("name"))), []
    described = _described(told) if any(session.has_metadata for session in active) else plain
    stack = scopes.entries()
    names, state = scopes.names_of(stack), scopes.current_state()
    placed = []
    for session in active:
        name, metrics = described if session.has_metadata else plain
        placed.append((session, session.place(names, (*state, name)), metrics))
    span = clocks.begin_launch(told.kernel, told.arguments, told.data.get("stream"))
    if span:
        _begun.rows.append((told, span, stack, placed))


def end(told):
    rows = _begun.rows
    index = next((index for index in reversed(range(len(rows))) if rows[index][0] is told), None)
    if index is None:
        return
    _, span, stack, placed = rows[index]
    span.end()
    del rows[index:]
    scopes.mark_timed(stack)
    sessions.record(span, placed)


sessions.hooks.update(launch_enter_hook=begin, launch_exit_hook=end)
