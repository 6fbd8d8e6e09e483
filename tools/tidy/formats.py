"""Sources are written as clang-format writes them."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILES_A_PROCESS = 40  # starting a process takes longer than a file


def sources_are_formatted(tree):
    paths = list(tree.files(".h", ".hpp", ".c", ".cpp"))
    batches = [paths[first:first + FILES_A_PROCESS] for first in range(0, len(paths), FILES_A_PROCESS)]
    first_lines = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(what_clang_format_says, batches):
            for path, line in re.findall(r"^(.+?):(\d+):\d+: error:", said, re.MULTILINE):
                first_lines.setdefault(Path(path), int(line))
    for path, line in first_lines.items():
        yield path, line, "format", "not formatted: `./x format` does it"


def what_clang_format_says(paths):
    done = subprocess.run(["clang-format-22", "--dry-run", "-Werror", *paths], capture_output=True, text=True)
    if done.returncode and ": error:" not in done.stderr:
        sys.exit(f"tidy: clang-format-22 ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stderr
