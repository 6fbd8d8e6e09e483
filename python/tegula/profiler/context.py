"""``triton.profiler.context``: questions about the path under which launches are found."""
from . import scopes, sessions


def depth(session=0):
    """The names above a launch that would come now, scopes and a state, or running functions; None where no session runs."""
    if not sessions.are_any():
        return None
    found, *_ = sessions.chosen(session)
    return len(found.place(scopes.names_of(scopes.entries()), scopes.current_state()))
