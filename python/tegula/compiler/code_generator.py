"""``triton.compiler.code_generator``: its errors and its names of types. The front end is the compiler's, not Python's."""
from ..errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from ..language.core import constexpr
from ..runtime.callables import get_full_name


def _is_constexpr(value):
    return value is None or isinstance(value, (constexpr, bool, int, float, str))


def ast_to_ttir(fn, src, context, options, codegen_fns, module_map, module=None):
    raise NotImplementedError("no module of operations is handed to Python\n  hint: triton.compile(src).asm[\"ttir\"] is "
                              "its text")


__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "ast_to_ttir", "get_full_name"]
