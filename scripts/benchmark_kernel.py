"""python scripts/benchmark_kernel.py KERNEL.py [OPTIONS]: as `tegula bench KERNEL.py`, with the package of this checkout's build."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "python"))

from tegula.kernel_file import main  # noqa: E402

sys.exit(main(["bench", *sys.argv[1:]]))
