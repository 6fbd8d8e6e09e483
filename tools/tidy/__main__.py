"""`./x tidy`: the rules of the house that a machine can check, in a few seconds.

In: the files that git knows (or would add). Out: one line a fault, `path:line: [rule] text`, and a count.
Rules live in the modules beside this file; each is a generator of faults over the tree.
"""
import sys
import time
from pathlib import Path

import coverage
import floors
import formats
import names
from tree import Tree

ROOT = Path(__file__).resolve().parents[2]

RULES = [
    floors.includes_go_down,
    floors.edges_are_declared,
    floors.modules_free_of_mlir,
    floors.public_headers_stand_alone,
    floors.vendors_stay_in_their_rooms,
    names.words_that_say_nothing,
    names.lengths,
    names.readmes,
    names.bare_todos,
    names.comments_are_sentences,
    coverage.diagnostics_are_tested,
    coverage.ops_have_rows,
    coverage.pages_are_current,
    coverage.links_lead_somewhere,
    formats.sources_are_formatted,
]


def main():
    started = time.monotonic()
    tree = Tree(ROOT)
    faults = [fault for rule in RULES for fault in rule(tree)]
    for path, line, rule, text in faults:
        print(f"{path.relative_to(ROOT)}:{line}: [{rule}] {text}")
    print(f"tidy: {len(RULES)} rules, {len(tree.paths)} files, {len(faults)} faults, "
          f"{time.monotonic() - started:.1f} s")
    sys.exit(1 if faults else 0)


main()
