"""The body of a kernel as Python runs it in the interpreter mode. The text is the user's, line by line; only where Python
and the language mean different things by one spelling does a call stand in its place:

    x = 1               x becomes a scalar of the kernel, as sema has it; `x: tl.constexpr = 1` stays a constant
    for i in range(n)   i is a scalar of the bounds' type
    a and b, not a      of run-time values these are operations on elements; of constants Python's
    min(a, b)           and max, isinstance: the language's, where an argument is a value of the kernel; and
                        print, where it says hex=True
    assert a, "text"    of a run-time value tl.device_assert

The functions behind the calls are those of a `runtime` object (eager.py)."""
import __future__
import ast
import functools
import types

RUNTIME = "__tegula__"
_CALLED = {"min", "max", "isinstance", "print"}
FEATURES = functools.reduce(lambda flags, name: flags | getattr(__future__, name).compiler_flag,
                             __future__.all_feature_names, 0)


def _runtime_call(name, arguments, like):
    function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, arguments, []), like)


def _later(expression):
    """A function that evaluates it."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, expression), expression)


def _binds(node):
    """Would a lambda around it change what it binds?"""
    return any(isinstance(part, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(node))


def _is_constexpr(annotation):
    return ast.unparse(annotation).strip("'\"").split(".")[-1] == "constexpr"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, constants):
        self._constants = constants  # names that are declared tl.constexpr

    def _pattern(self, target):
        """None for a name, a tuple for a tuple of targets, False where values stay what they are."""
        if isinstance(target, ast.Name):
            return False if target.id in self._constants else None
        if isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
            return tuple(map(self._pattern, target.elts))
        return False

    def visit_Assign(self, node):
        self.generic_visit(node)
        pattern = self._pattern(node.targets[0])
        if pattern is not False and all(self._pattern(target) == pattern for target in node.targets):
            node.value = _runtime_call("assigned", [node.value, ast.copy_location(ast.Constant(pattern), node.value)], node.value)
        return node

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target), node.op,
                                            node.value), node)
        if node.target.id not in self._constants:
            value = _runtime_call("assigned", [value, ast.copy_location(ast.Constant(None), node)], node)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        if not _is_constexpr(node.annotation):
            node.value = _runtime_call("assigned", [node.value, ast.copy_location(ast.Constant(None), node.value)], node.value)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_NamedExpr(self, node):
        self.generic_visit(node)
        node.value = _runtime_call("assigned", [node.value, ast.copy_location(ast.Constant(None), node.value)], node.value)
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            call.args.insert(0, call.func)
            call.func = _runtime_call("range", [], call.func).func
            ast.copy_location(call.func, call)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if any(map(_binds, node.values)):
            return node
        is_and = ast.copy_location(ast.Constant("and" if isinstance(node.op, ast.And) else "or"), node)
        return _runtime_call("logical", [is_and, *map(_later, node.values)], node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _runtime_call("negated", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Assert(self, node):
        self.generic_visit(node)
        message = node.msg or ast.copy_location(ast.Constant(""), node)
        return ast.copy_location(ast.Expr(_runtime_call("asserted", [node.test, _later(message)], node)), node)

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _CALLED:
            node.args.insert(0, node.func)
            node.func = ast.copy_location(_runtime_call("python", [], node.func).func, node.func)
        return node

    def visit_Lambda(self, node):
        return node

    visit_FunctionDef = visit_ClassDef = visit_AsyncFunctionDef = visit_Lambda


def _definition(tree, name):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return node
    raise ValueError(f"the source of `{name}` has no `def {name}`")


def _move(tree, lines, columns):
    """To where the text stands in its file."""
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno += lines
            node.end_lineno += lines
            node.col_offset += columns
            node.end_col_offset += columns


def _code_of(code, name):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            return constant
    raise AssertionError(f"the code of `{name}` is not where it was put")


def rewritten(fn, text, first_line, column, runtime):
    """The Python function of a kernel's function `fn`, whose `text` starts at this line and column of its file: it sees
    the globals, the closure and the defaults of `fn`."""
    tree = ast.parse(text)
    definition = _definition(tree, fn.__name__)
    _move(tree, first_line - 1, column)
    constants = {node.target.id for node in ast.walk(definition)
                 if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_constexpr(node.annotation)}
    rewriter = _Rewriter(constants)
    definition.body = [rewriter.visit(statement) for statement in definition.body]
    parameters = definition.args
    definition.decorator_list, definition.returns = [], None
    for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, parameters.vararg, parameters.kwarg):
        if parameter is not None:
            parameter.annotation = None
    parameters.defaults, parameters.kw_defaults = [], [None] * len(parameters.kwonlyargs)
    # A function of a module that calls itself finds its name there, and no cell of `outer`.
    own = [] if fn.__name__ in fn.__code__.co_freevars else [ast.Global([fn.__name__])]
    outer = ast.FunctionDef(
        name="outer", args=ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in (*fn.__code__.co_freevars, RUNTIME)],
                                         kwonlyargs=[], kw_defaults=[], defaults=[]), body=[*own, definition], decorator_list=[])
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = fn.__code__.co_flags & FEATURES
    whole = compile(module, fn.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    code = _code_of(_code_of(whole, "outer"), fn.__name__)
    cells = {**dict(zip(fn.__code__.co_freevars, fn.__closure__ or ())), RUNTIME: types.CellType(runtime)}
    made = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__, made.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    return made
