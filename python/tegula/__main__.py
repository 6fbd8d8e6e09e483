"""``python -m tegula SCRIPT ARGS...``: runs a script in which ``import triton`` means Tegula."""
import os
import runpy
import sys

from .alias import install_as_triton


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        print("Example:\n  python -m tegula softmax_benchmark.py --rows 4096")
        return 0 if len(sys.argv) > 1 else 2
    install_as_triton()
    script = sys.argv[1]
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    if not os.path.exists(script):
        print(f"{script}: error: there is no such file", file=sys.stderr)
        return 1
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
