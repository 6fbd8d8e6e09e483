"""``triton.compiler``: the errors of a compile, and what a compile returns."""
from . import errors
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .runtime.compiled import CompiledKernel

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "CompiledKernel", "UnsupportedLanguageConstruct", "errors"]
