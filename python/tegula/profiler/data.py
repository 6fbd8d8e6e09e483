"""``triton.profiler.data``: what sessions have recorded so far, in memory. A session here has one phase, 0."""
from . import clocks, sessions
from .tree import Tree


def _chosen(session):
    found, = sessions.chosen(session)
    return found


def _refuse_phase(phase):
    if phase != 0:
        raise ValueError(f"profiler: the phase is {phase!r}; a session here has one, 0")


def get(session=0, phase=0):
    """The content that the session's file would have now; waits for the GPU. None of the session None."""
    if session is None:
        return None
    _refuse_phase(phase)
    with sessions.lock:
        found = _chosen(session)
        sessions.settle()
        return found.tree.literal(clocks.describe)


def get_msgpack(session=0, phase=0):
    raise NotImplementedError("profiler: there is no MessagePack here\n  hint: profiler.data.get(session) has the content")


def advance_phase(session=0):
    raise NotImplementedError("profiler: a session has one phase here\n  hint: profiler.data.clear(session) begins anew")


def is_phase_complete(session=0, phase=0):
    """Is it over? A session that is paused has recorded all that it will."""
    if session is None:
        return False
    _refuse_phase(phase)
    return not _chosen(session).is_active


def clear(session=0, phase=0, clear_up_to_phase=False):
    """Forgets what the session has recorded."""
    if session is None:
        return
    _refuse_phase(phase)
    with sessions.lock:
        found = _chosen(session)
        sessions.settle()
        found.tree = Tree()
