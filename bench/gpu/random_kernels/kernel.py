"""A random kernel, and the draft that a kind writes it into.

In: choices of a random generator. Out: `Kernel`, plain data. A draft collects tensors, in the order of the parameters, and the
lines of the body; `kernel` makes the source of both.
"""
import contextlib
from dataclasses import dataclass

NAME = "random_kernel"  # of the function in each source; sources.watch knows it by its end
HEAD = "import tegula as triton\nimport tegula.language as tl\n"
FUNCTION = "\n\n@triton.jit\n"  # ahead of each
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f8": 1, "i8": 1, "i32": 4, "i64": 8}
LANES = 32  # of a warp


@dataclass(frozen=True)
class Tensor:
    """`filled` with: `normal` numbers (integers of a range), `bits`, `places` below `below`, the `ends` of segments of `below`
    rows in all, a `permutation`; or by the kernel, which writes a `result` or adds to `sums`."""
    name: str
    shape: tuple
    dtype: str
    filled: str = "normal"
    below: int = 0

    @property
    def is_output(self):
        return self.filled in ("result", "sums")


@dataclass(frozen=True)
class Kernel:
    seed: int
    kind: str
    description: str
    source: str
    tensors: list
    sizes: dict         # name -> number: the parameters behind the tensors
    grid: tuple
    options: dict       # num_warps, num_stages
    has_jumps: bool     # a last place may decide an element: by a comparison, a rounding, the place of a maximum

    def __str__(self):
        return f"{self.kind}: {self.description}"

    @property
    def outputs(self):
        return [tensor.name for tensor in self.tensors if tensor.is_output]


class Draft:
    def __init__(self, seed, kind, choices, is_small):
        self.seed, self.kind, self.choices, self._is_small = seed, kind, choices, is_small
        self.tensors, self._lines, self._helpers, self._indent, self.has_jumps = [], [], "", "    ", False

    # --- choices ---

    def one_of(self, *options):
        return self.choices.choice(options)

    def weighted(self, weights):
        """One of the keys, as often as its weight says."""
        chosen, = self.choices.choices(list(weights), list(weights.values()))
        return chosen

    def chance(self, probability):
        return self.choices.random() < probability

    def until(self, is_good, choose):
        """Chooses until it is good."""
        while not is_good(*(chosen := choose())):
            pass
        return chosen

    def size(self, large, small):
        """A size that a GPU is busy with, or one for few programs."""
        return small if self._is_small else large

    # --- tensors ---

    def tensor(self, name, shape, dtype, filled="normal", below=0):
        self.tensors.append(Tensor(name, tuple(shape), dtype, filled, below))

    def result(self, name, shape, dtype):
        self.tensor(name, shape, dtype, "result")

    # --- lines ---

    def add(self, *lines):
        self._lines += [self._indent + line for line in lines]

    def helper(self, *lines):
        """A function that the kernel calls."""
        self._helpers += FUNCTION + "".join(line + "\n" for line in lines)

    @contextlib.contextmanager
    def block(self, head):
        """The body of the statement is added inside."""
        self.add(head)
        self._indent += "    "
        yield
        self._indent = self._indent[4:]

    def kernel(self, description, grid, warps, stages, **sizes):
        parameters = ", ".join([*(tensor.name for tensor in self.tensors), *sizes])
        body = "".join(line + "\n" for line in self._lines)
        source = f"{HEAD}{self._helpers}{FUNCTION}def {NAME}({parameters}):\n{body}"
        return Kernel(self.seed, self.kind, " ".join(description.split()), source, self.tensors, sizes, grid,
                      {"num_warps": warps, "num_stages": stages}, self.has_jumps)
