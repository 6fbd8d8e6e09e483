"""``triton.testing.perf_report``: a function is measured at points, and the numbers are shown as a table and a plot."""
import os


class Benchmark:
    """Says what is measured: `x_names` take each of `x_vals`, `line_arg` each of `line_vals`, and `args` stay."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="",
                 x_log=False, y_log=False, styles=None):
        self.x_names, self.x_vals = x_names, x_vals
        self.line_arg, self.line_vals, self.line_names, self.styles = line_arg, line_vals, line_names, styles
        self.plot_name, self.args = plot_name, args
        self.xlabel, self.ylabel, self.x_log, self.y_log = xlabel, ylabel, x_log, y_log

    def points(self):
        """({name: value} of a point) for each of x_vals. A value that is no tuple is that of all x_names."""
        for values in self.x_vals:
            if not isinstance(values, (list, tuple)):
                values = [values] * len(self.x_names)
            if len(values) != len(self.x_names):
                raise ValueError(f"Expected {len(self.x_names)} values, got {values}")
            yield dict(zip(self.x_names, values))


def _numbers(measured):
    """(value, least, most); the last two are None where only one number was measured."""
    return tuple(measured) if isinstance(measured, (tuple, list)) else (measured, None, None)


class _Table:
    """Columns by name, for machines without pandas; to_csv, like a DataFrame's."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def __getitem__(self, name):
        return [row[self.columns.index(name)] for row in self.rows]

    def __str__(self):
        cells = [[""] + list(self.columns)] + [[str(i)] + [_text(v) for v in row] for i, row in enumerate(self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        return "\n".join("  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in cells)

    def to_csv(self, path, float_format="%.6f", index=False):
        with open(path, "w") as out:
            for row in [self.columns, *self.rows]:
                out.write(",".join(float_format % v if isinstance(v, float) else str(v) for v in row) + "\n")


def _text(value):
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _frame(columns, rows):
    try:
        import pandas

        return pandas.DataFrame(rows, columns=columns)
    except ImportError:
        return _Table(columns, rows)


class Mark:
    """A function with its benchmarks."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _measure(self, bench, **kwargs):
        """(columns, rows, spans): a row for each point; spans are the least and the most of each line there."""
        labels = list(bench.x_names) + [f"{name} ({bench.ylabel})" if bench.ylabel else name for name in bench.line_names]
        rows, spans = [], []
        for point in bench.points():
            found = [_numbers(self.fn(**point, **{bench.line_arg: value}, **bench.args, **kwargs)) for value in bench.line_vals]
            rows.append([*point.values(), *(numbers[0] for numbers in found)])
            spans.append([numbers[1:] for numbers in found])
        return labels, rows, spans

    def _plot(self, bench, rows, spans, path, shows):
        import matplotlib.pyplot as plt

        plt.figure()
        axes = plt.subplot()
        x = [row[0] for row in rows]
        for line, name in enumerate(bench.line_names):
            color, style = bench.styles[line] if bench.styles else (None, None)
            axes.plot(x, [row[len(bench.x_names) + line] for row in rows], label=name, color=color, ls=style)
            least, most = ([span[line][side] for span in spans] for side in (0, 1))
            if all(value is not None for value in least + most):
                axes.fill_between(x, least, most, alpha=0.15, color=color)
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if shows:
            plt.show()
        if path:
            plt.savefig(os.path.join(path, f"{bench.plot_name}.png"))
        plt.close()

    def _run(self, bench, save_path, show_plots, print_data, diff_col=False, save_precision=6, **kwargs):
        columns, rows, spans = self._measure(bench, **kwargs)
        if bench.plot_name and (show_plots or save_path):
            try:
                self._plot(bench, rows, spans, save_path, show_plots)
            except ImportError:
                print("no plots: matplotlib is not installed")
        if diff_col and len(bench.line_names) == 2:
            columns, rows = [*columns, "Diff"], [[*row, row[-1] - row[-2]] for row in rows]
        frame = _frame(columns, rows)
        if print_data:
            print(bench.plot_name + ":")
            print(frame)
        if save_path:
            frame.to_csv(os.path.join(save_path, f"{bench.plot_name}.csv"), float_format=f"%.{save_precision}f", index=False)
        return frame

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        """Measures all; `save_path` is a folder for tables, plots and a page that shows the plots."""
        single = isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if single else list(self.benchmarks)
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        frames = [self._run(bench, save_path, show_plots, print_data, **kwargs) for bench in benchmarks]
        if save_path:
            with open(os.path.join(save_path, "results.html"), "w") as page:
                images = "".join(f"<image src=\"{bench.plot_name}.png\"/>\n" for bench in benchmarks)
                page.write(f"<html><body>\n{images}</body></html>\n")
        if return_df:
            return frames[0] if single else frames
        return None


def perf_report(benchmarks):
    """Decorates a function that measures one point: it returns a number, or (number, least, most)."""
    return lambda fn: Mark(fn, benchmarks)
