"""Results of random_run.py as text: ratios of times, of all and of each kind, and the cases to look at.

    python3 bench/gpu/random_table.py FILE
"""
import json
import statistics
import sys

DIFFERS = 0.01              # results beyond this are listed
SLOW, SLOWER = 1.05, 1.1    # ratios of times that are counted
MOST_LINES = 40             # of a list
BOTH = ("ours", "upstream")


def lines(results):
    yield from ratios(results)
    timed = sorted((row for row in results if "ratio" in row), key=lambda row: -row["ratio"])
    yield from listed("slowest beside upstream", timed, slow)
    yield from listed("results that differ", [row for row in results if not row.get("error", 0) <= DIFFERS], different)
    yield from listed("only upstream takes", [row for row in results if failures(row) == ["ours"]], failed)
    yield from listed("only ours takes", [row for row in results if failures(row) == ["upstream"]], failed)
    yield from listed("neither takes", [row for row in results if len(failures(row)) == 2], failed)
    yield from listed("not ended", [row for row in results if "fate" in row], lambda row: f"{name(row)}: {row['fate']}")
    yield from first_launches(results)


def entry(row, contestant):
    return row.get("contestants", {}).get(contestant, {})


def failures(row):
    return [contestant for contestant in BOTH if "failed" in entry(row, contestant)]


# --- numbers of many ------------------------------------------------------------------------------


def ratios(results):
    """A line for all, and one a kind."""
    yield f"{'times, ours over upstream':28}{'cases':>8}{'timed':>8}{'median':>8}{'90 %':>8}{f'> {SLOW}':>8}{f'> {SLOWER}':>8}"
    yield ratios_of("all", results)
    for kind in sorted({row["kind"] for row in results}):
        yield ratios_of(kind, [row for row in results if row["kind"] == kind])


def ratios_of(title, rows):
    found = sorted(row["ratio"] for row in rows if "ratio" in row)
    head = f"{title:28}{len(rows):8}{len(found):8}"
    if not found:
        return head
    high = found[min(len(found) - 1, int(len(found) * 0.9))]
    counts = [sum(ratio > most for ratio in found) for most in (SLOW, SLOWER)]
    return f"{head}{statistics.median(found):8.3f}{high:8.3f}{counts[0]:8}{counts[1]:8}"


def first_launches(results):
    """With their compiles, while others compile beside them."""
    seconds = [[entry(row, contestant).get("compile seconds") for contestant in BOTH] for row in results]
    found = [ours / upstream for ours, upstream in seconds if ours and upstream]
    if found:
        yield f"\nfirst launches, ours over upstream: median {statistics.median(found):.2f}, worst {max(found):.2f}"


# --- lists of cases -------------------------------------------------------------------------------


def listed(title, rows, line):
    if rows:
        yield f"\n{title} ({len(rows)}):"
        yield from (f"    {line(row)}" for row in rows[:MOST_LINES])


def name(row):
    options = row["options"]
    return f"{row['seed']} {row['kind']}: {row['description']}, {options['num_warps']} warps, {options['num_stages']} stages"


def slow(row):
    def both(what):
        return "/".join(str(entry(row, contestant).get(what, "-")) for contestant in BOTH)

    microseconds = row["seconds"]["ours"] * 1e6
    return f"{row['ratio']:6.3f}{microseconds:9.1f} us  {name(row)}; registers {both('n_regs')}, spills {both('n_spills')}"


def different(row):
    return f"{name(row)}: {', '.join(f'{output} {value:.3g}' for output, value in row['differences'].items())}"


def failed(row):
    said = entry(row, failures(row)[0])["failed"]
    return f"{name(row)}: {' '.join(said.split())[:250]}"


if __name__ == "__main__":
    print("\n".join(lines(json.loads(open(sys.argv[1]).read())["results"])))
