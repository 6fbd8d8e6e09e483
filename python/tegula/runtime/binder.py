"""Binds a call and says what a compile takes of it, step by step, for programs that compile kernels or launch them by themselves:
``create_function_from_signature`` binds a call, ``kernel._pack_args`` makes of that what ``ASTSource`` and ``triton.compile`` take."""
import inspect

from .. import _tegula as core
from .._utils import find_paths_if, get_iterable_path
from .specialize import native_specialize_impl


def _is_never_specialized(type_name):
    return type_name == "u1" or type_name.startswith(("fp", "bf"))


def specialize(param, value, backend=None):
    """(type, letters) of a parameter's argument: ("*fp32", "D"), ("constexpr", 64). An annotated type goes before the value's."""
    if param.is_constexpr:
        return "constexpr", value
    pinned = param.annotation_type
    is_specialized = not param.do_not_specialize
    if pinned and (_is_never_specialized(pinned) or not is_specialized):
        return pinned, None
    found = native_specialize_impl(backend, value, param.is_const, is_specialized, not param.do_not_specialize_on_alignment)
    return (pinned, *found[1:]) if pinned else found


def create_function_from_signature(sig, kparams, backend):
    """A function of the arguments and options of a call: ({parameter: value}, [(type, letters), ...], {option: value})."""
    has_rest = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in sig.parameters.values())
    parameters = [parameter.replace(kind=parameter.kind if has_rest else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                    annotation=inspect.Parameter.empty) for parameter in sig.parameters.values()]
    binding = inspect.Signature(parameters)
    names = frozenset(sig.parameters)

    def dynamic_func(*args, **kwargs):
        given = {name: value for name, value in kwargs.items() if name in names}
        bound = binding.bind(*args, **given)
        bound.apply_defaults()
        values = dict(bound.arguments)
        specialization = [specialize(param, value, backend) for param, value in zip(kparams, values.values())]
        return values, specialization, {name: value for name, value in kwargs.items() if name not in names}

    return dynamic_func


def pack_args(function, backend, kwargs, bound_args, specialization):
    """(options, signature, constants, attributes) of a call that was bound: what `triton.compile` takes."""
    options = backend.parse_options(kwargs)
    signature = {param.name: kind for param, (kind, *_) in zip(function.params, specialization)}
    for name in kwargs:
        if name not in vars(options) and name not in signature:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    values, letters = list(bound_args.values()), [each[1] for each in specialization]
    constants = {path: get_iterable_path(values, path)
                 for path in find_paths_if(list(signature.values()), lambda _, kind: isinstance(kind, str) and kind == "constexpr")}
    attributes = {path: backend.parse_attr(get_iterable_path(letters, path))
                  for path in find_paths_if(letters, lambda path, part: path not in constants and isinstance(part, str))}
    return options, signature, constants, attributes


def _by_source(value):
    """The same with the key of its source in the place of each function of the language."""
    if isinstance(value, core.Function):
        return value.cache_key
    if isinstance(value, list):
        return [_by_source(part) for part in value]
    if isinstance(value, tuple):
        parts = [_by_source(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def compute_cache_key(kernel_key_cache, specialization, options):
    """A text that differs where a call's specialization or options do."""
    known = tuple(specialization), str(options)
    if known not in kernel_key_cache:
        kernel_key_cache[known] = str(_by_source(specialization)) + str(options)
    return kernel_key_cache[known]
