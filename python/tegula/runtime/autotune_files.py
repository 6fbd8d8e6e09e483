"""Keeps what autotune measured in files: another process finds the choice for the same kernel, machine, key and configurations."""
import hashlib
import json

from .cache import get_cache_manager, triton_key
from .driver import driver


def _described(config):
    return {**config.kwargs, **{name: getattr(config, name) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}}


class TimingFile:
    """The timings of one key; none where a hook of a configuration could change what was measured."""

    def __init__(self, tuner, key, configs):
        self._name = f"{tuner.__name__[:150]}.autotune.json"
        self._configs = configs
        self._folder = None
        if any(config.pre_hook for config in configs):
            return
        target = driver.active.get_current_target()
        parts = [triton_key(), str(target), tuner.jit_fn.cache_key, str(key), *(str(_described(config)) for config in configs)]
        self._folder = get_cache_manager(hashlib.sha256("-".join(parts).encode()).hexdigest())

    def read(self):
        """{config: milliseconds}; None where nothing was written, or what was written is damaged."""
        path = self._folder and self._folder.get_file(self._name)
        if not path:
            return None
        try:
            with open(path) as file:
                timings = json.load(file)["timings"]
        except (OSError, ValueError, KeyError):
            return None
        return dict(zip(self._configs, timings)) if len(timings) == len(self._configs) else None

    def write(self, timings):
        if self._folder:
            rows = [timings[config] for config in self._configs]
            text = json.dumps({"configs": [_described(config) for config in self._configs], "timings": rows}, default=str)
            self._folder.put(text, self._name, binary=False)
