"""``tl.semantic``: upstream's front end in Python. The front end here is the compiler's; its errors have their names."""
from ..errors import CompilationError


class IncompatibleTypeErrorImpl(CompilationError):
    """Two types that do not go together."""

    def __init__(self, type_a, type_b):
        self.type_a, self.type_b = type_a, type_b
        super().__init__(f"invalid operands of type {type_a!r} and {type_b!r}")


class TritonSemantic:
    """Builds operations one by one, upstream."""

    def __init__(self, builder):
        raise NotImplementedError("operations are not built from Python here\n"
                                  "  hint: write a @triton.jit function of the language's builtins")
