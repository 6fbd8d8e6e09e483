"""Draws what a tuning measured: ``python -m tegula.tuning_plot OUT.png < tuning.json`` (`tegula tune --plot`)."""
import json
import sys


def draw(tuning, path):
    """One bar a configuration, the fastest above, with the range of its runs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [(row, index) for index, row in enumerate(tuning["configurations"]) if row["milliseconds"] is not None]
    rows.sort(key=lambda pair: (pair[0]["milliseconds"], pair[1] != tuning["best"]))
    times = [row["milliseconds"] for row, _ in rows]
    spread = [[row["milliseconds"] - row["low"] for row, _ in rows], [row["high"] - row["milliseconds"] for row, _ in rows]]
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.3 * len(rows)))
    colors = ["tab:green" if index == tuning["best"] else "tab:blue" for _, index in rows]
    axes.barh(range(len(rows)), times, xerr=spread, color=colors)
    axes.set_yticks(range(len(rows)), [row["name"] for row, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title(f"{tuning['kernel']} on {tuning['target']}")
    figure.tight_layout()
    figure.savefig(path)


def main(arguments):
    path, = arguments
    try:
        draw(json.load(sys.stdin), path)
    except ImportError as error:
        print(f"{path}: error: cannot be drawn: {error}\n  hint: install matplotlib for {sys.executable}, or name "
              "another Python in TEGULA_PYTHON", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"{path}: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
