"""Tables of docs/performance/gpu.md from a file of results: `python3 bench/gpu/page.py [FILE] > tables.md`."""
import json
import sys
from pathlib import Path


def microseconds(result, name, kind):
    value = result["contestants"].get(name, {}).get(kind, {}).get("median")
    return f"{value * 1e6:.1f}" if value else "—"


def number(value):
    return f"{value:.3f}" if value else "—"


def timed_rows(results, copy):
    yield "| case | ours, µs | upstream, µs | ratio | A/A | % of copy | PyTorch, µs | events: ours, µs | upstream, µs | ratio |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for result in results:
        graph, event = result.get("graph", {}), result.get("event", {})
        share = f"{100 * graph['bytes per second'] / copy:.0f}" if "bytes per second" in graph else "—"
        cells = [result["name"], microseconds(result, "ours", "graph"), microseconds(result, "upstream", "graph"),
                 number(graph.get("ratio")), number(graph.get("spread")), share, microseconds(result, "torch", "graph"),
                 microseconds(result, "ours", "event"), microseconds(result, "upstream", "event"), number(event.get("ratio"))]
        yield f"| {' | '.join(cells)} |"


def host_rows(results):
    yield "| host time of a launch, µs | ours | upstream | torch.add | ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for result in results:
        names = [microseconds(result, name, "host") for name in ("ours", "upstream", "torch.add")]
        yield f"| {result['name']} | {' | '.join(names)} | {number(result.get('host', {}).get('ratio'))} |"


def compile_rows(results):
    yield "| cold compile, ms (without the assembler) | ours | upstream | ratio | ratio without |"
    yield "| --- | --- | --- | --- | --- |"
    for result in results:
        texts = []
        for name in ("ours", "upstream"):
            entry = result["contestants"].get(name, {})
            texts.append(f"{entry['milliseconds']:.0f} ({entry['without assembler']:.0f})" if "milliseconds" in entry else "—")
        ratios = [number(result.get("compile", {}).get(f"ratio, {key}")) for key in ("milliseconds", "without assembler")]
        yield f"| {result['name'].removeprefix('compile ')} | {' | '.join(texts + ratios)} |"


def problems(results):
    for result in results:
        if result.get("fate"):
            yield f"- {result['name']}: {result['fate']}"
        for name, entry in result["contestants"].items():
            if "failed" in entry:
                yield f"- {result['name']}, {name}: {entry['failed'].splitlines()[0]}"


def lines(data):
    versions = ", ".join(f"{name} {version}" for name, version in data.get("versions", {}).items())
    yield f"{data.get('card', {}).get('name', 'unknown card')}; {versions}; commit {data.get('commit')}, {data.get('date')}."
    yield f"A copy on the device moves {data['copy bandwidth'] / 1e9:.0f} GB/s, read and written."
    yield ""
    results = data["results"]
    by_part = {part: [r for r in results if r["part"] == part] for part in ("launch", "compile")}
    yield from timed_rows([r for r in results if r["part"] not in by_part], data["copy bandwidth"])
    for part, rows in (("launch", host_rows), ("compile", compile_rows)):
        if by_part[part]:
            yield ""
            yield from rows(by_part[part])
    said = list(problems(results))
    if said:
        yield ""
        yield from said


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "results" / "gpu.json"
    print("\n".join(lines(json.loads(path.read_text()))))
