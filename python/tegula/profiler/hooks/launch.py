"""``triton.profiler.hooks.launch``"""
from ...absent import absent_class

_REASON = ("a session of the profiler watches launches by hooks of its own\n"
           "  hint: triton.knobs.runtime.launch_enter_hook")
LaunchHook = absent_class("triton.profiler.hooks.launch.LaunchHook", _REASON)
