"""python scripts/verify_kernel.py KERNEL.py [OPTIONS]: as `tegula verify KERNEL.py`, with the package of this checkout's build."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "python"
if any(PACKAGE.glob("tegula/_tegula.*")):  # a bundle's is on the path already; its python/ has no extension
    sys.path.insert(0, str(PACKAGE))

from tegula.kernel_file import main  # noqa: E402

sys.exit(main(["verify", *sys.argv[1:]]))
