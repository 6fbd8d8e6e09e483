"""``triton.profiler.hooks``: what upstream's profiler is made of. Sessions here are hooks of launches (launches.py)."""
from .hook import Hook, HookManager
from .instrumentation import InstrumentationHook
from .launch import LaunchHook

__all__ = ["Hook", "HookManager", "InstrumentationHook", "LaunchHook"]
