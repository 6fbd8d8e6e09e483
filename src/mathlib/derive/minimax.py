"""Minimax polynomials with machine-representable coefficients.

In: a function, a weight, the powers of the polynomial, an interval, the format of the coefficients.
Out: coefficients, each already rounded to the format, lowest power first, and the weighted error.

The method is the second algorithm of Remez (E. Ya. Remez, 1934; Muller, "Elementary Functions",
3rd ed., chapter 3) on a fine Chebyshev grid. Coefficients are rounded one at a time from the lowest
power up and the rest is settled again around what the rounding left over.
"""
import numpy as np
from mpmath import mp, mpf, matrix, lu_solve, cos, pi

mp.prec = 200


def roundTo(value, fmt):
    """The nearest binary32 or binary64 number, as an exact mpf."""
    digits = {"f32": 24, "f64": 53}[fmt]
    with mp.workprec(digits):
        return +mpf(value)


def remez(target, weight, powers, grid):
    """Minimises max |weight * (target - sum c_i x^p_i)| over the grid; all lists run over the grid."""
    count = len(powers)
    last = len(grid) - 1
    picks = [round(last * (1 - float(cos(pi * k / count))) / 2) for k in range(count + 1)]
    table = [[x ** p for p in powers] for x in grid]
    best = None
    for _ in range(40):
        system = matrix(count + 1, count + 1)
        right = matrix(count + 1, 1)
        for row, k in enumerate(picks):
            for col in range(count):
                system[row, col] = table[k][col]
            system[row, count] = (-1) ** row / weight[k]
            right[row] = target[k]
        solution = lu_solve(system, right)
        coefficients = [solution[i] for i in range(count)]
        error = [w * (t - sum(c * b for c, b in zip(coefficients, row)))
                 for t, w, row in zip(target, weight, table)]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[1]:
            best = (coefficients, worst)
        if worst <= abs(solution[count]) * mpf("1.001"):
            break
        picks = exchange(error, picks)
    return best


def exchange(error, old):
    """One extremum of each run of equal sign; drops the smaller end while there are too many."""
    runs = []
    for k, e in enumerate(error):
        if runs and (e > 0) == (error[runs[-1]] > 0):
            if abs(e) > abs(error[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > len(old):
        runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
    return runs if len(runs) == len(old) else old


def fit(function, weight, powers, interval, fmt, fixed=None, points=0):
    """Coefficients for `powers`; `fixed` maps further powers to coefficients that are given."""
    low, high = mpf(interval[0]), mpf(interval[1])
    points = points or 30 * (len(powers) + 2)
    grid = [(low + high) / 2 + (high - low) / 2 * cos(pi * k / points) for k in range(points, -1, -1)]
    grid = [x for x in grid if abs(x) > mpf(2) ** -60]
    target = [function(x) - sum(mpf(c) * x ** p for p, c in (fixed or {}).items()) for x in grid]
    weights = [abs(weight(x)) for x in grid]
    powers = list(powers)
    coefficients, _ = remez(target, weights, powers, grid)
    for k in range(len(powers)):
        rounded = roundTo(coefficients[k], fmt)
        coefficients[k] = rounded
        if k + 1 < len(powers):
            settle(coefficients, k + 1, powers, grid, target, weights)
    return coefficients, max(abs(e) for e in weightedError(coefficients, powers, grid, target, weights))


def weightedError(coefficients, powers, grid, target, weights):
    return [w * (t - sum(c * x ** p for c, p in zip(coefficients, powers)))
            for x, t, w in zip(grid, target, weights)]


def settle(coefficients, first, powers, grid, target, weights):
    """Moves the coefficients from `first` on so that the worst error is small again.

    Once the lowest ones are fixed the rest vanish at zero, and Remez' alternation no longer holds on an
    interval with zero inside; Lawson's reweighted least squares (1961) does not need it. The correction is
    tiny, so binary64 is enough for it.
    """
    error = weightedError(coefficients, powers, grid, target, weights)
    scale = max(abs(e) for e in error)
    residual = np.array([float(e / scale) for e in error])
    basis = np.array([[float(w * x ** p) for p in powers[first:]] for x, w in zip(grid, weights)])
    size = np.abs(basis).max(axis=0)
    basis /= size
    lawson = np.ones(len(grid)) / len(grid)
    best, bestWorst = None, 1.0
    for _ in range(200):
        root = np.sqrt(lawson)
        step = np.linalg.lstsq(basis * root[:, None], residual * root, rcond=1e-13)[0]
        left = np.abs(residual - basis @ step)
        if left.max() < bestWorst:
            best, bestWorst = step, left.max()
        lawson = np.maximum(lawson * left, 1e-12)
        lawson /= lawson.sum()
    if best is not None:
        for k, value in enumerate(best / size):
            coefficients[first + k] += scale * mpf(float(value))


def literal(value, fmt):
    """A C hexadecimal literal that is exactly the value."""
    return float(value).hex() + ("f" if fmt == "f32" else "")
