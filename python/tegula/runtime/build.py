"""``triton.runtime.build``: compiles modules of C for Python. Nothing of Tegula needs one; scripts that bring C do."""
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from .. import knobs
from .cache import get_cache_manager


def platform_key():
    """A text that is another one on another kind of machine."""
    return f"{sysconfig.get_platform()},{sysconfig.get_config_var('SOABI')}"


def _compiler():
    found = knobs.build.cc or shutil.which("clang") or shutil.which("gcc") or shutil.which("cc")
    if not found:
        raise RuntimeError("there is no C compiler\n  hint: install gcc or clang, or name one in CC")
    return found


def _build(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags=()):
    """The path of the module `name` built from the file `src`."""
    out = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    includes = [srcdir, sysconfig.get_paths()["include"], *include_dirs]
    command = [_compiler(), src, "-O3", "-shared", "-fPIC", "-o", out, *(f"-l{name}" for name in libraries),
               *(f"-L{folder}" for folder in library_dirs), *(f"-I{folder}" for folder in includes), *ccflags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stderr}")
    return out


def _load_module_from_path(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    if not spec or not spec.loader:
        raise RuntimeError(f"{path} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_module_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """The module of a text in C, built once."""
    cache = get_cache_manager(hashlib.sha256((src + platform_key()).encode()).hexdigest())
    file = name + sysconfig.get_config_var("EXT_SUFFIX")
    path = cache.get_file(file)
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, name + ".c")
            source.write_text(src)
            built = _build(name, str(source), folder, library_dirs or [], include_dirs or [], libraries or [], ccflags or [])
            path = cache.put(Path(built).read_bytes(), file)
    return _load_module_from_path(name, path)
