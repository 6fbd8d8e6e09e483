"""``triton.profiler.hooks.instrumentation``"""
from ...absent import absent_class

_REASON = ("a session of the profiler watches launches by hooks of its own\n"
           "  hint: triton.knobs.runtime.launch_enter_hook")
InstrumentationHook = absent_class("triton.profiler.hooks.instrumentation.InstrumentationHook", _REASON)
