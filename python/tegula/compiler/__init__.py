"""``triton.compiler``: compiling step by step, and what a compile returns."""
from . import compiler, errors
from .compiler import ASTSource, CompiledKernel, IRSource, LazyDict, compile, get_cache_key, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["ASTSource", "CompilationError", "CompileTimeAssertionFailure", "CompiledKernel", "IRSource", "LazyDict",
           "UnsupportedLanguageConstruct", "compile", "compiler", "errors", "get_cache_key", "make_backend"]
