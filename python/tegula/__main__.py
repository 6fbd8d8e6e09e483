"""``python -m tegula SCRIPT ARGS...``, ``python -m tegula -m MODULE ARGS...`` or ``python -m tegula -c COMMAND ARGS...``: runs a
script, a module or a command in which ``import triton`` means Tegula."""
import builtins
import importlib.machinery
import os
import runpy
import sys
import types
import zipfile

from .alias import install_as_triton


def _begin(folder):
    """Modules are looked for in this folder first, as Python does it."""
    del sys.path[0]
    install_as_triton()
    sys.path.insert(0, folder)


def _run_module():
    if len(sys.argv) < 3:
        print("tegula: error: -m wants the name of a module", file=sys.stderr)
        return 2
    module = sys.argv[2]
    del sys.argv[:2]
    _begin(os.getcwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _run(code, **names):
    """As Python runs what it is given: its module stays `__main__` to the end."""
    module = types.ModuleType("__main__")
    vars(module).update(__builtins__=builtins, **names)
    sys.modules["__main__"] = module
    exec(code, vars(module))


def _run_command():
    if len(sys.argv) < 3:
        print("tegula: error: -c wants a command", file=sys.stderr)
        return 2
    text = sys.argv[2]  # kernels find their source in this frame
    del sys.argv[0], sys.argv[1]
    _begin("")
    _run(compile(text, "<string>", "exec", dont_inherit=True), __loader__=importlib.machinery.BuiltinImporter)
    return 0


def _run_script(path):
    """As Python runs a script: its path is absolute."""
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    _run(code, __file__=path, __cached__=None, __loader__=importlib.machinery.SourceFileLoader("__main__", path))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        print("Examples:\n  python -m tegula softmax_benchmark.py --rows 4096\n  python -m tegula -m pytest test_kernels.py")
        return 0 if len(sys.argv) > 1 else 2
    if sys.argv[1] == "-m":
        return _run_module()
    if sys.argv[1] == "-c":
        return _run_command()
    script = sys.argv[1]
    del sys.argv[0]
    _begin(os.path.dirname(os.path.realpath(script)))
    if not os.path.exists(script):
        print(f"{script}: error: there is no such file", file=sys.stderr)
        return 1
    _run_script(os.path.abspath(script))
    return 0


if __name__ == "__main__":
    sys.exit(main())
