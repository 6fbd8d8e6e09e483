"""``triton.runtime.cache``: folders of files, one a compiled kernel, where code looks for them that loads kernels itself."""
import base64
import functools
import hashlib
import json
import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path

from .. import _tegula as core
from .. import knobs


class Cache(ABC):
    """The files of one key."""

    def __init__(self, key, override=False, dump=False):
        self.key = key

    @abstractmethod
    def get_file(self, filename):
        """The path of a file; None where there is none."""

    @abstractmethod
    def put(self, data, filename, binary=True):
        """Writes a file whole, and returns its path."""

    @abstractmethod
    def get_group(self, filename):
        """{name: path} of files that belong together; None where there is no such group."""

    @abstractmethod
    def put_group(self, filename, group):
        """Writes down which files belong together."""


_LONGEST = 200  # bytes of a file's name; a folder takes 255


def file_name(name):
    """The name of the file for this name: the same, if a folder takes it. Kernels may have names of any length, with any
    signs."""
    name = name.replace("/", "_").replace("\0", "_")
    if len(name.encode()) <= _LONGEST:
        return name
    stem, dot, suffix = name.rpartition(".")
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    ending = f"-{digest}{dot}{suffix}" if len(suffix) < 16 else f"-{digest}"
    return (stem or name).encode()[:_LONGEST - len(ending)].decode(errors="ignore") + ending


class FileCache(Cache):
    """Files in a folder named after the key. Each is written beside its place and then moved there, so that readers see
    it whole or not at all."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key)
        folder = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        if not folder:
            raise RuntimeError("there is no folder for compiled kernels: TRITON_CACHE_DIR is empty")
        self.cache_dir = os.path.join(folder, self.key)
        self.lock_path = None
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, file_name(filename))

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        children = _children_in(path)
        return children if children is not None and all(map(os.path.exists, children.values())) else None

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        path = self._make_path(filename)
        beside = os.path.join(self.cache_dir, f"{os.getpid()}.{uuid.uuid4().hex}")
        if isinstance(data, str):
            data = data.encode()
        Path(beside).write_bytes(data)
        os.replace(beside, path)
        return path


class RemoteCacheBackend:
    """Files elsewhere, by name."""

    def __init__(self, key):
        self.key = key

    @abstractmethod
    def get(self, filenames):
        """{name: bytes} of those that are there."""

    @abstractmethod
    def put(self, filename, data):
        """Writes one."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """In a Redis server, for which the package redis is needed."""

    def __init__(self, key):
        super().__init__(key)
        import redis

        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _get_key(self, filename):
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames):
        found = self._redis.mget([self._get_key(name) for name in filenames])
        return {name: data for name, data in zip(filenames, found) if data is not None}

    def put(self, filename, data):
        return self._redis.set(self._get_key(filename), data)


class RemoteCache(Cache):
    """A remote backend with a folder in front of it."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key)
        self._backend = knobs.cache.remote_manager_class(key)
        self._files = FileCache(key, override=override, dump=dump)

    def _materialize(self, filename, data):
        return self._files.put(data, filename, binary=True)

    def get_file(self, filename):
        found = self._backend.get([filename])
        return self._materialize(filename, found[filename]) if filename in found else None

    def put(self, data, filename, binary=True):
        self._backend.put(filename, data.encode() if isinstance(data, str) else data)
        return self._files.put(data, filename, binary)

    def get_group(self, filename):
        path = self.get_file(f"__grp__{filename}")
        names = _children_in(path) if path else None
        found = None if names is None else {name: self.get_file(name) for name in names}
        return None if found is None or None in found.values() else found

    def put_group(self, filename, group):
        text = json.dumps({"child_paths": {os.path.basename(path): path for path in group.values()}})
        return self.put(text, f"__grp__{filename}", binary=False)


def _children_in(path):
    """{name: path} of a group's file; None where it is damaged."""
    try:
        children = json.loads(Path(path).read_text())["child_paths"]
        return children if isinstance(children, dict) and all(isinstance(each, str) for each in children.values()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Upstream's names.
CacheManager, FileCacheManager, RemoteCacheManager = Cache, FileCache, RemoteCache


def _base32(key):
    """A key in hexadecimal digits as a name for a folder."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def _manager(key, **kind):
    return (knobs.cache.manager_class or FileCache)(_base32(key), **kind)


def get_cache_manager(key):
    return _manager(key)


def get_override_manager(key):
    return _manager(key, override=True)


def get_dump_manager(key):
    return _manager(key, dump=True)


@functools.lru_cache(maxsize=None)
def triton_key():
    """A text that is another one for another compiler: its version, its library and its Python files."""
    digest = hashlib.sha256(core.version.encode())
    folder = Path(__file__).parent.parent
    for path in [Path(core.__file__), *sorted(folder.rglob("*.py"))]:
        if not path.is_file():  # a link of an older build
            continue
        status = os.stat(path)
        digest.update(f"{path.name}:{status.st_size}:{status.st_mtime_ns}".encode())
    return f"{core.version}-{digest.hexdigest()}"


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{sorted(env_vars.items())}"


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    """A key for what is built for a launch of one signature."""
    text = f"{version_hash}-{''.join(signature.values())}-{constants}-{ids}"
    for name in sorted(kwargs):
        text += f"-{kwargs[name]}"
    return hashlib.sha256(text.encode()).hexdigest()
