"""``triton.profiler.hooks.hook``"""
from ...absent import absent_class

_REASON = ("a session of the profiler watches launches by hooks of its own\n"
           "  hint: triton.knobs.runtime.launch_enter_hook")
Hook = absent_class("triton.profiler.hooks.hook.Hook", _REASON)
HookManager = absent_class("triton.profiler.hooks.hook.HookManager", _REASON)
HookManager.active_hooks = []  # torch.compile's code asks whether there are any
