"""Checks programs of this folder beside float64 references: `python -m tegula examples/programs/check.py [NAME...]`.

Each is written as a user of Triton would write it: it says `import triton`, has kernels and functions that launch them
on PyTorch's tensors, and functions `check_...(device)`. Under upstream Triton: `python check.py --device cuda`.
"""
import argparse
import importlib
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("beside", "check"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all without")
    parser.add_argument("--device", default="cpu", help="PyTorch's device of the tensors: cpu, cuda")
    args = parser.parse_args()
    for name in args.names or NAMES:
        program = importlib.import_module(name)
        for check in [check for check in vars(program) if check.startswith("check_")]:
            getattr(program, check)(args.device)
            print(f"{name}: {check[6:].replace('_', ' ')}: right")


if __name__ == "__main__":
    main()
