"""``python -m tegula SCRIPT ARGS...`` or ``python -m tegula -m MODULE ARGS...``: runs a script or a module in which
``import triton`` means Tegula."""
import os
import runpy
import sys

from .alias import install_as_triton


def _begin(folder):
    """Modules are looked for in this folder, as Python does it; `triton` in front of it."""
    sys.path[0] = folder
    install_as_triton()


def _run_module():
    if len(sys.argv) < 3:
        print("tegula: error: -m wants the name of a module", file=sys.stderr)
        return 2
    module = sys.argv[2]
    del sys.argv[:2]
    _begin(os.getcwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        print("Examples:\n  python -m tegula softmax_benchmark.py --rows 4096\n  python -m tegula -m pytest test_kernels.py")
        return 0 if len(sys.argv) > 1 else 2
    if sys.argv[1] == "-m":
        return _run_module()
    script = sys.argv[1]
    del sys.argv[0]
    _begin(os.path.dirname(os.path.abspath(script)))
    if not os.path.exists(script):
        print(f"{script}: error: there is no such file", file=sys.stderr)
        return 1
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
