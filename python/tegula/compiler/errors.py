"""``triton.compiler.errors``: upstream's names of errors."""
from ..errors import CompilationError, CompileTimeAssertionFailure, TritonError, UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "TritonError", "UnsupportedLanguageConstruct"]
