"""A sample of mutated PTX: the machine takes what the assembler takes, and refuses what it refuses."""
import shutil

import pytest
from ptx_mutations import compare, summary

# Of 2,000: what `ptx_mutations.json` records. Each difference is an idiom that no compiler writes.
MOST_DIFFERENCES = 0.02


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
def test_the_machine_and_the_assembler_agree_on_mutants():
    rows = compare(range(200))
    counts = summary(rows)
    assert counts["both accept"] >= 10 and counts["both refuse"] >= 100
    different = [f"{row['file']}: {row['line']} | {row['said']}" for row in rows if row["ptxas"] != row["machine"]]
    assert len(different) <= MOST_DIFFERENCES * len(rows), "\n".join(different)
