"""``triton.profiler.language``: marks inside of kernels. They record nothing but under the backend `instrumentation`,
which is not here and which `start` refuses; so `enter_scope` and `exit_scope` in a kernel compile to nothing, as they do
upstream without that backend."""
from ..language.core import builtin


def _check(name):
    name = getattr(name, "value", name)
    if not isinstance(name, str):
        raise TypeError(f"profiler: a scope in a kernel is named by text, not by {name!r}")


@builtin
def enter_scope(name, _semantic=None):
    _check(name)


@builtin
def exit_scope(name, _semantic=None):
    _check(name)


class scope:
    """Upstream's `with pl.scope(name):` in kernels; the language has no `with` here."""

    def __init__(self, name, _semantic=None):
        raise NotImplementedError("profiler: kernels have no `with` here\n  hint: enter_scope and exit_scope; on the host "
                                  "triton.profiler.scope")


def enable_semantic(semantic_name):
    raise NotImplementedError("profiler: kernels are not instrumented here\n  hint: triton.profiler.scope times what the host "
                              "launches")


def disable_semantic(semantic_name):
    """Nothing is enabled."""
    raise NotImplementedError("profiler: kernels are not instrumented here")
