"""``triton._C.libtriton.ir``: what host code asks of a compile's operations. A module here says of a kernel what callers
walk it for: which arguments it reads and writes through. The operations themselves are the compiler's."""
import itertools

from ... import _tegula as core


class context:
    """Upstream's compiles are handed one; those here have their own."""

    def disable_multithreading(self):
        """Compiles run on the thread that asks for them."""


def load_dialects(context):
    """The compiler knows its operations from the start."""


_ids = itertools.count(1)


class value:
    """A value of a module."""

    def __init__(self):
        self._id = next(_ids)

    def id(self):
        return self._id


class region(value):
    pass


class block(value):

    def __init__(self, parent, count):
        super().__init__()
        self._parent, self._arguments = parent, [value() for _ in range(count)]

    def get_parent(self):
        return self._parent

    def get_num_arguments(self):
        return len(self._arguments)

    def get_argument(self, index):
        return self._arguments[index]


class operation:
    """One operation; those of a function's body have its block."""

    def __init__(self, name, operands=(), results=0, regions=(), parent=None, attributes=None):
        self._name, self._operands, self._regions, self._block = name, list(operands), list(regions), parent
        self._results, self._attributes = [value() for _ in range(results)], attributes or {}

    def get_name(self):
        return self._name

    def get_num_operands(self):
        return len(self._operands)

    def get_operand(self, index):
        return self._operands[index]

    def get_num_results(self):
        return len(self._results)

    def get_result(self, index):
        return self._results[index]

    def get_num_regions(self):
        return len(self._regions)

    def get_region(self, index):
        return self._regions[index]

    def get_block(self):
        return self._block

    def get_str_attr(self, name):
        return self._attributes.get(name)

    def get_flat_symbol_ref_attr(self, name):
        return self._attributes.get(name)

    def get_bool_attr(self, name):
        return self._attributes.get(name)


class module:
    """A kernel as a function with a load for each pointer, and a store for each that it writes through."""

    def __init__(self, name, arguments):
        body = region()
        entry = block(body, len(arguments))
        self._operations = []
        for index, argument in enumerate(arguments):
            if argument.is_pointer:
                pointer = entry.get_argument(index)
                load = operation("tt.load", [pointer], results=1, parent=entry)
                self._operations.append(load)
                if argument.is_written:
                    self._operations.append(operation("tt.store", [pointer, load.get_result(0)], parent=entry))
        self._operations.append(operation("tt.return", parent=entry))
        self._operations.append(operation("tt.func", regions=[body], attributes={"sym_name": name}))
        self._operations.append(operation("builtin.module"))

    def verify(self):
        return True

    def walk(self, function):
        """Calls `function` with each operation, inner ones first."""
        for one in self._operations:
            function(one)


def module_of(src, target, options):
    """The module of a source. The front end alone says what is written, so it is compiled for the interpreter."""
    kernel = core.prepare(src.fn, "interp", -1, src.rows({}))
    return module(src.name, kernel.arguments)
