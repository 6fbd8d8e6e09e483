"""Results as lines of text: one a case, short enough to be read in the tail of a log."""


def micro(entry, kind):
    value = entry.get(kind, {}).get("median")
    return f"{value * 1e6:9.2f}" if value is not None else f"{'-':>9}"


def ratio(value):
    return f"{value:6.3f}" if value is not None else f"{'-':>6}"


HEADER = (f"{'case, microseconds':46}{'ours':>9}{'upstrm':>9}{'ratio':>7}{'A/A':>7}{'%copy':>6}{'torch':>9} |"
          f"{'ours':>9}{'upstrm':>9}{'ratio':>7}   (device time in a graph | events, L2 flushed)")


def timed(result, copy):
    entries = result["contestants"]
    ours, upstream, library = (entries.get(name, {}) for name in ("ours", "upstream", "torch"))
    graph, event = result["graph"], result["event"]
    share = f"{100 * graph['bytes per second'] / copy:6.1f}" if copy and "bytes per second" in graph else f"{'-':>6}"
    return (f"{result['name']:46}{micro(ours, 'graph')}{micro(upstream, 'graph')} {ratio(graph.get('ratio'))} "
            f"{ratio(graph.get('spread'))}{share}{micro(library, 'graph')} |{micro(ours, 'event')}"
            f"{micro(upstream, 'event')} {ratio(event.get('ratio'))}   {ours.get('best', '')} / {upstream.get('best', '')}")


def launched(result):
    entries = result["contestants"]
    times = "  ".join(f"{name} {micro(entry, 'host').strip()} us" for name, entry in entries.items() if "host" in entry)
    return f"{result['name']:46}{times}  ratio {ratio(result['host'].get('ratio'))}"


def compiled(result):
    def text(name):
        entry = result["contestants"].get(name, {})
        if "milliseconds" not in entry:
            return f"{name} -"
        return f"{name} {entry['milliseconds']:.1f} ({entry['without assembler']:.1f})"
    ratios = "  ".join(ratio(value) for value in result["compile"].values())
    return f"{result['name']:46}{text('ours')}  {text('upstream')} ms (without assembler)  ratio {ratios}"


def problems(result):
    """What failed or was wrong, a line each."""
    for name, entry in result["contestants"].items():
        if "failed" in entry:
            yield f"    {name}: {entry['failed']}"
        bad = {label: row for label, row in entry.get("configurations", {}).items() if "failed" in row or row.get("wrong")}
        if bad and len(bad) == len(entry["configurations"]):
            label, row = next(iter(bad.items()))
            yield f"    {name}: no configuration is right; {label}: {row.get('failed') or 'off by %.3g' % row['error']}"
        else:
            for label, row in bad.items():
                yield f"    {name}, {label}: {(row.get('failed') or 'WRONG, off by %.3g' % row['error']).splitlines()[0]}"


def line(result, copy=None):
    if result.get("fate"):
        return f"{result['name']:46}{result['fate']}"
    kind = {"launch": launched, "compile": compiled}.get(result["part"])
    return kind(result) if kind else timed(result, copy)
