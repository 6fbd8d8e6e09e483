"""Results of spelling_run.py as text: a line a case, then worst and best of each purpose. `python3 bench/gpu/spelling_table.py FILE`."""
import json
import sys

HEADER = (f"{'TFLOP/s':62}{'ours':>8}{'upstrm':>8}{'library':>8} |{'/upstrm':>8}{'/library':>9}{'A/A':>7}  configurations")


def rate(entry):
    return entry.get("tflops")


def text(value, width=8, digits=1):
    return f"{value:{width}.{digits}f}" if value is not None else f"{'-':>{width}}"


def fastest_library(entries):
    """(name, entry) of the fastest that is no compiler's."""
    found = [(name, entry) for name, entry in entries.items() if name not in ("ours", "upstream") and rate(entry)]
    return max(found, key=lambda item: rate(item[1]), default=("", {}))


def over(a, b):
    return a / b if a and b else None


def line(result):
    name = f"{result['purpose']}: {result['spelling'].partition(', ')[2]}"
    if "fate" in result:
        return f"{name:62}{result['fate']}"
    entries = result["contestants"]
    if result["purpose"] == "cold compile":
        return compiled(result)
    ours, upstream = (entries.get(who, {}) for who in ("ours", "upstream"))
    library, entry = fastest_library(entries)
    best = " / ".join(found.get("best", "-") for found in (ours, upstream))
    return (f"{name:62}{text(rate(ours))}{text(rate(upstream))}{text(rate(entry))} |{text(over(rate(ours), rate(upstream)), 8, 2)}"
            f"{text(over(rate(ours), rate(entry)), 9, 2)}{text(result.get('spread'), 7, 3)}  {best} {library}")


def compiled(result):
    entries = result["contestants"]
    ours, upstream = (entries.get(who, {}).get("milliseconds") for who in ("ours", "upstream"))
    first = " / ".join(text(entries.get(who, {}).get("first in process"), 0, 0) for who in ("ours", "upstream"))
    name = f"cold compile, ms: {result['spelling']}"
    return f"{name:62}{text(ours, 8, 0)}{text(upstream, 8, 0)}{'':8} |{text(over(ours, upstream), 8, 2)}   first in a process {first}"


def problems(result):
    """Lists what failed, was wrong or spills, a line each; a failure that all configurations share once."""
    for name, entry in result.get("contestants", {}).items():
        if "failed" in entry:
            yield f"    {name}: {short(entry['failed'])}"
        rows = entry.get("configs", {})
        said = {}
        for label, row in rows.items():
            if "failed" in row:
                said.setdefault(short(row["failed"]), []).append(label)
            elif row.get("wrong"):
                said.setdefault("WRONG", []).append(f"{label} off by {row['error']:.2g}")
        for what, labels in said.items():
            yield f"    {name}, {'all' if len(labels) == len(rows) and what != 'WRONG' else ', '.join(labels)}: {what}"
        best = rows.get(entry.get("best"), {})
        if name == "ours" and best.get("n_spills"):
            yield f"    ours, {entry['best']}: {best['n_spills']} bytes spilled, {best.get('n_regs')} registers"


def short(text):
    return " ".join(text.split())[:170]


def summary(results):
    """For each purpose with several spellings the worst and the best; then the worst of all against upstream and the library."""
    purposes = {}
    for result in results:
        if "contestants" in result and result["purpose"] != "cold compile":
            purposes.setdefault(result["purpose"], []).append(result)
    yield f"\n{'purpose (spellings)':40}{'ours: worst':>12}{'best':>8}{'worst/best':>11} |{'upstream: worst':>16}{'best':>8}{'worst/best':>11}"
    for purpose, found in purposes.items():
        columns = []
        for who in ("ours", "upstream"):
            rates = [rate(result["contestants"].get(who, {})) or 0.0 for result in found]
            columns.append((min(rates), max(rates), over(min(rates), max(rates))))
        (a, b, c), (d, e, f) = columns
        yield f"{f'{purpose} ({len(found)})':40}{text(a, 12)}{text(b)}{text(c, 11, 2)} |{text(d, 16)}{text(e)}{text(f, 11, 2)}"
    for title, other in (("upstream", lambda entries: entries.get("upstream", {})), ("the library", lambda entries: fastest_library(entries)[1])):
        ratios = sorted((over(rate(r["contestants"].get("ours", {})) or 1e-9, rate(other(r["contestants"]))), r["spelling"], r["purpose"])
                        for found in purposes.values() for r in found if rate(other(r["contestants"])))
        if ratios:
            (low, *low_name), (high, *high_name) = ratios[0], ratios[-1]
            middle = ratios[len(ratios) // 2][0]
            yield f"ours over {title}, {len(ratios)} cases: worst {low:.3f} ({', '.join(low_name)}), median {middle:.3f}, best {high:.3f} ({', '.join(high_name)})"


def print_all(results):
    print(HEADER)
    for result in results:
        print(line(result))
        for problem in problems(result):
            print(problem)
    for row in summary(results):
        print(row)


if __name__ == "__main__":
    print_all(json.loads(open(sys.argv[1]).read())["results"])
