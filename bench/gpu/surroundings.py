"""The card, the commit and the versions of a run, for its file of results. The card is only read. Standard library only."""
import functools
import subprocess
import sys
import time
from pathlib import Path

VERSIONS = "import torch, triton; print(torch.__version__, torch.version.cuda, triton.__version__, torch.backends.cudnn.version())"
CARD = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,power.draw,temperature.gpu", "--format=csv,noheader"]


@functools.cache
def surroundings():
    return {"commit": said("git", "describe", "--always", "--dirty"), "card": said(*CARD),
            "torch, cuda, triton, cudnn": said(sys.executable, "-c", VERSIONS),
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
