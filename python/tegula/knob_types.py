"""Says what the switches of ``triton.knobs`` are made of: attributes that the environment answers until they are set."""
import functools
import importlib
import os
import re
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from typing import Protocol

_TRUE = ("1", "true", "on", "yes", "y")


def getenv(key):
    value = os.environ.get(key)
    return None if value is None else value.strip()


def getenv_bool(key, default):
    value = getenv(key)
    return default if value is None else value.lower() in _TRUE


def setenv(key, value):
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def toenv(value):
    """(text,) of a value for the environment; None where it has none."""
    if value is None:
        return (None,)
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (str(value),) if isinstance(value, (str, int)) else None


class Env:
    """In the place of a value: what was set is forgotten, and the environment answers again."""


env = Env()


class env_base:
    """A switch: what was set, else the environment's variable `key`, else the default. A value that is set is written
    into the environment too, where the compiler and child processes read it. `ours` is a second name, which goes before
    upstream's."""

    def __init__(self, key, default=None, obeyed=True, ours=None):
        self.key, self.default, self.obeyed, self.ours = key, default, obeyed, ours

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, group, owner=None):
        if group is None:
            return self
        return vars(group).get(self.name, self.get())

    def __set__(self, group, value):
        if value is env:
            self.__delete__(group)
            return
        if not self.obeyed and value not in (None, self.get()):
            warnings.warn(f"knobs: nothing here obeys `{self.name}` ({self.key})", stacklevel=2)
        vars(group)[self.name] = value
        from . import knobs

        if knobs.propagate_env and (text := toenv(value)) is not None:
            setenv(self.key, text[0])
        knobs._notice()

    def __delete__(self, group):
        from . import knobs

        vars(group).pop(self.name, None)
        knobs._notice()

    def _text(self):
        text = getenv(self.ours) if self.ours else None
        return getenv(self.key) if text is None else text

    def get(self):
        text = self._text()
        return self.default if text is None else self.parse(text)

    def parse(self, text):
        return text


class env_str(env_base):
    pass


class env_opt_str(env_base):
    pass


class env_bool(env_base):

    def __init__(self, key, default=False, obeyed=True, ours=None):
        super().__init__(key, default, obeyed, ours)

    def parse(self, text):
        return text.lower() in _TRUE


class env_opt_bool(env_bool):

    def __init__(self, key, default=None, obeyed=True):
        super().__init__(key, default, obeyed)


class env_strs(env_base):
    """A set of texts with commas between them."""

    def __init__(self, key, default=frozenset(), obeyed=True):
        super().__init__(key, default, obeyed)

    def parse(self, text):
        return {part.strip() for part in text.split(",") if part.strip()}


class env_int(env_base):

    def parse(self, text):
        try:
            return int(text)
        except ValueError:
            raise RuntimeError(f"{self.key} is `{text}`; it is an int") from None


class env_str_callable_default(env_base):

    def __init__(self, key, default, ours=None):
        super().__init__(key, default, True, ours)

    def get(self):
        text = self._text()
        return self.default() if text is None else text


@dataclass(frozen=True)
class NvidiaTool:
    """A program of the vendor's, and the version that it tells of itself."""
    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path):
        """None where there is no such program."""
        try:
            told = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT, timeout=60).decode()
        except (OSError, subprocess.SubprocessError):
            return None
        version = re.search(r"release (\d+\.\d+)", told)
        return version and NvidiaTool(path, version[1])


class env_nvidia_tool(env_base):
    """A program that the compiler runs: the one that is named here or by its variables, else the first that is found."""

    def __init__(self, binary, key=None, obeyed=True):
        super().__init__(key or f"TRITON_{binary.upper()}_PATH", None, obeyed, f"TEGULA_{binary.upper()}")
        self.binary = binary

    def __get__(self, group, owner=None):
        return self if group is None else self._found(vars(group).get(self.name))

    def _found(self, named):
        if isinstance(named, NvidiaTool):
            return named
        named = named or self._text()
        folders = [*(getenv("TEGULA_TOOLS") or "").split(":"), *os.environ.get("PATH", "").split(":"), "/usr/local/cuda/bin"]
        path = named or shutil.which(self.binary, path=":".join(folder for folder in folders if folder))
        tool = NvidiaTool.from_path(path) if path else None
        if tool is None:
            raise RuntimeError(f"{named} is no {self.binary}" if named else
                               f"Cannot find {self.binary}\n  hint: name it in {self.key}, or install Triton's or the CUDA "
                               "toolkit's beside this package")
        return tool

    def __set__(self, group, value):
        super().__set__(group, value.path if isinstance(value, NvidiaTool) else value)

    def get(self):
        """None where there is none: for those who list all switches."""
        try:
            return self._found(None)
        except RuntimeError:
            return None


class env_class(env_base):
    """A class by "module:name"."""

    def __init__(self, key, kind):
        super().__init__(key)
        self.kind = kind

    def parse(self, text):
        module, _, name = text.partition(":")
        if not name:
            raise RuntimeError(f"{self.key} is `{text}`; it is MODULE:CLASS, a {self.kind}")
        return getattr(importlib.import_module(module), name)


class LaunchHook(Protocol):
    """Called before or after a launch."""

    def __call__(self, metadata):
        ...


class InitHandleHook(Protocol):
    """Called when the code of a kernel is loaded."""

    def __call__(self, module, function, name, metadata_group, hash):
        ...


class JITHook(Protocol):
    """Called before or after a compile; one before it that returns True prevents it."""

    def __call__(self, *, key, repr, fn, compile, is_manual_warmup, already_compiled):
        ...


class AutotuneListener(Protocol):
    """Told of each choice among configurations that was measured, or found in a file."""

    def __call__(self, *, fn, key, best_config, configs_timings, duration, cache_hit):
        ...


class CompilationListener(Protocol):
    """Told of each kernel that is new to the process."""

    def __call__(self, *, src, metadata, metadata_group, times, cache_hit):
        ...


class HookChain:
    """Functions that are called one after another with the same arguments."""

    watchers = ()

    def __init__(self, reversed=False):
        self.calls, self.reversed = [], reversed

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)
        self._changed()

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)
        self._changed()

    def copy(self):
        other = HookChain(self.reversed)
        other.calls = list(self.calls)
        return other

    def _changed(self):
        for watcher in HookChain.watchers:
            watcher()

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for call in self.calls[::-1] if self.reversed else list(self.calls):
            call(*args, **kwargs)


@dataclass(frozen=True)
class CompileTimes:
    """Microseconds of a compile: before the stages, each stage, what comes after."""
    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results
