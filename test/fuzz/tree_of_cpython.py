"""CPython's `ast` printed as src/syntax/Printer prints Tegula's tree, for the nodes that Tegula keeps.

Integers are printed in decimal; `normalized` brings both sides to that form.
"""
import ast
import re

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
          ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
           ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}
UNSUPPORTED = {ast.Lambda: "lambda", ast.Dict: "dict display", ast.Set: "set display",
               ast.DictComp: "dict comprehension", ast.SetComp: "set comprehension",
               ast.GeneratorExp: "generator expression", ast.Yield: "yield", ast.YieldFrom: "yield from",
               ast.Await: "await"}
UNSUPPORTED_STATEMENTS = {"Raise": "raise", "Delete": "del", "Global": "global", "Nonlocal": "nonlocal",
                          "TypeAlias": "type alias"}


def quoted(text, is_bytes=False):
    if is_bytes:
        text = text.decode("latin-1")

    def escape(found):
        c = found[0]
        if c in '"\\':
            return "\\" + c
        return "\\n" if c == "\n" else f"\\x{ord(c):02x}"
    pattern = r'["\\\x00-\x1f\x7f-\xff]' if is_bytes else r'["\\\x00-\x1f\x7f]'
    return ("b" if is_bytes else "") + '"' + re.sub(pattern, escape, text) + '"'


def number(value):
    for digits in (15, 16, 17):
        text = f"{value:.{digits}g}"
        if float(text) == value:
            break
    return text if re.search("[.en]", text) else text + ".0"


def constant(value):
    if value is None or isinstance(value, bool):
        return str(value)
    if value is ...:
        return "..."
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, complex):
        return "(imaginary)"
    return quoted(value, isinstance(value, bytes))


def format_parts(values):
    for value in values:
        if isinstance(value, ast.Constant):
            if value.value:  # some versions leave empty ones
                yield quoted(value.value)
            continue
        text = "(field " + expression(value.value)
        if value.conversion != -1:
            text += " !" + chr(value.conversion)
        if value.format_spec is not None and value.format_spec.values:
            spec = value.format_spec.values
            if all(isinstance(part, ast.Constant) for part in spec):
                text += " " + quoted("".join(part.value for part in spec))
            else:
                text += " (spec " + " ".join(format_parts(spec)) + ")"
        yield text + ")"


def form(head, *children):
    return "(" + " ".join([head, *(expression(child) for child in children)]) + ")"


def expression(node):
    match node:
        case None: return "_"
        case ast.Constant(): return constant(node.value)
        case ast.JoinedStr(): return " ".join(["(fstring", *format_parts(node.values)]) + ")"
        case ast.Name(): return node.id
        case ast.Attribute(): return f"(. {expression(node.value)} {node.attr})"
        case ast.Subscript(): return form("index", node.value, node.slice)
        case ast.Slice(): return form("slice", node.lower, node.upper, node.step)
        case ast.Starred(): return form("star", node.value)
        case ast.Call():
            keywords = [(f":{k.arg} " if k.arg else "** ") + expression(k.value) for k in node.keywords]
            return " ".join([form("call", node.func, *node.args)[:-1], *keywords]) + ")"
        case ast.UnaryOp(): return form(UNARY[type(node.op)], node.operand)
        case ast.BinOp(): return form(BINARY[type(node.op)], node.left, node.right)
        case ast.BoolOp(): return form("and" if isinstance(node.op, ast.And) else "or", *node.values)
        case ast.Compare():
            pairs = (f" {COMPARE[type(op)]} {expression(right)}" for op, right in zip(node.ops, node.comparators))
            return f"(compare {expression(node.left)}{''.join(pairs)})"
        case ast.IfExp(): return form("if", node.test, node.body, node.orelse)
        case ast.Tuple(): return form("tuple", *node.elts)
        case ast.List(): return form("list", *node.elts)
        case ast.ListComp():
            if any(generator.is_async for generator in node.generators):
                return '(unsupported "async comprehension")'
            return " ".join(["(listcomp", expression(node.elt),
                             *(form("for", g.target, g.iter, *g.ifs) for g in node.generators)]) + ")"
        case ast.NamedExpr(): return form(":=", node.target, node.value)
        case _: return f'(unsupported "{UNSUPPORTED[type(node)]}")'


def imported(names):
    return "".join(f" {n.name}" + (f"={n.asname}" if n.asname and n.asname != n.name else "") for n in names)


class Statements:
    def __init__(self):
        self.lines = []

    def line(self, depth, head, *children):
        self.lines.append("  " * depth + " ".join([head, *(expression(child) for child in children)]))

    def block(self, depth, statements):
        for statement in statements:
            self.statement(depth, statement)

    def clause(self, depth, head, statements):
        if statements:
            self.line(depth, head)
            self.block(depth + 1, statements)

    def unsupported(self, depth, what, *blocks):
        self.line(depth, f'unsupported "{what}"')
        for block in blocks:
            self.block(depth + 1, block)

    def function(self, depth, node):
        if getattr(node, "type_params", None):
            return self.unsupported(depth, "generic function", node.body)
        self.line(depth, "def " + node.name)
        for decorator in node.decorator_list:
            self.line(depth + 1, "@", decorator)
        a = node.args
        positional = a.posonlyargs + a.args
        defaults = [None] * (len(positional) - len(a.defaults)) + a.defaults
        heads = ["param-positional"] * len(a.posonlyargs) + ["param"] * len(a.args)
        rows = list(zip(heads, positional, defaults))
        rows += [("param*", a.vararg, None)] if a.vararg else []
        rows += [("param-keyword", *row) for row in zip(a.kwonlyargs, a.kw_defaults)]
        rows += [("param**", a.kwarg, None)] if a.kwarg else []
        for head, parameter, default in rows:
            self.line(depth + 1, f"{head} {parameter.arg}", parameter.annotation, default)
        if node.returns:
            self.line(depth + 1, "returns", node.returns)
        self.block(depth + 1, node.body)

    def statement(self, depth, node):
        match node:
            case ast.FunctionDef(): self.function(depth, node)
            case ast.AsyncFunctionDef(): self.unsupported(depth, "async def", node.body)
            case ast.ClassDef():
                self.line(depth, "class " + node.name)
                for decorator in node.decorator_list:
                    self.line(depth + 1, "@", decorator)
                self.block(depth + 1, node.body)
            case ast.Return(): self.line(depth, "return", node.value)
            case ast.Assign(): self.line(depth, "assign", *node.targets, node.value)
            case ast.AugAssign(): self.line(depth, "augment " + BINARY[type(node.op)], node.target, node.value)
            case ast.AnnAssign(): self.line(depth, "annotate", node.target, node.annotation, node.value)
            case ast.Expr(): self.line(depth, "expr", node.value)
            case ast.Pass(): self.line(depth, "pass")
            case ast.Break(): self.line(depth, "break")
            case ast.Continue(): self.line(depth, "continue")
            case ast.If() | ast.While():
                self.line(depth, "if" if isinstance(node, ast.If) else "while", node.test)
                self.block(depth + 1, node.body)
                self.clause(depth, "else", node.orelse)
            case ast.For():
                self.line(depth, "for", node.target, node.iter)
                self.block(depth + 1, node.body)
                self.clause(depth, "else", node.orelse)
            case ast.AsyncFor(): self.unsupported(depth, "async for", node.body, node.orelse)
            case ast.With():
                self.line(depth, "with", *(part for i in node.items for part in (i.context_expr, i.optional_vars)))
                self.block(depth + 1, node.body)
            case ast.AsyncWith(): self.unsupported(depth, "async with", node.body)
            case ast.Assert(): self.line(depth, "assert", node.test, node.msg)
            case ast.Import(): self.line(depth, "import" + imported(node.names))
            case ast.ImportFrom():
                self.line(depth, f"from {'.' * node.level}{node.module or ''}" + imported(node.names))
            case ast.Match(): self.unsupported(depth, "match", *(case.body for case in node.cases))
            case _ if type(node).__name__ in ("Try", "TryStar"):
                handlers = (handler.body for handler in node.handlers)
                self.unsupported(depth, "try", node.body, *handlers, node.orelse, node.finalbody)
            case _: self.unsupported(depth, UNSUPPORTED_STATEMENTS[type(node).__name__])


def tree_of(module):
    statements = Statements()
    statements.block(0, module.body)
    return "".join(line + "\n" for line in statements.lines)


def normalized(text):
    """Integers in decimal. Applied to both sides, so it may also change strings."""
    text = re.sub(r"\b0[xX][0-9a-fA-F]+\b|\b0[oO][0-7]+\b|\b0[bB][01]+\b", lambda found: str(int(found[0], 0)), text)
    return re.sub(r"(?<![\w.])0+(?=\d)", "", text)
