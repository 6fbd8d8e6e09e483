"""``triton.compiler``: compiling step by step, and what a compile returns."""
import importlib

from . import compiler, errors
from .compiler import ASTSource, CompiledKernel, IRSource, LazyDict, compile, get_cache_key, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["ASTSource", "CompilationError", "CompileTimeAssertionFailure", "CompiledKernel", "IRSource", "LazyDict",
           "UnsupportedLanguageConstruct", "code_generator", "compile", "compiler", "errors", "get_cache_key", "make_backend"]


def __getattr__(name):
    """Upstream's compiler has imported this one; here the first question does."""
    if name == "code_generator":
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
