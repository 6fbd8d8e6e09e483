"""``triton.runtime.interpreter``: under TRITON_INTERPRET=1 Python itself runs kernels, one program after another, and each
operation is carried out at once: `print`, `breakpoint()` and NumPy work inside (docs/howto/debug.md)."""
from .. import _tegula as core
from .. import knobs
from ..errors import InterpreterError
from . import descriptors
from .jit import JITFunction, _is_checked


class _HostCopies:
    """Tensors of a device, copied to the host for a launch and back. What shares memory there shares it here."""

    def __init__(self):
        self._storages = {}  # by address: (storage, its copy)

    def of(self, value):
        if isinstance(value, (tuple, list)):
            parts = [self.of(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if not hasattr(value, "data_ptr") or getattr(value, "is_cpu", True):
            return value
        if hasattr(value, "base"):  # a TensorWrapper: the same bytes under another type
            return type(value)(self.of(value.base), value.dtype)
        storage = value.untyped_storage()
        if storage.data_ptr() not in self._storages:
            self._storages[storage.data_ptr()] = storage, storage.cpu()
        copy = self._storages[storage.data_ptr()][1]
        return value.new_empty(0, device="cpu").set_(copy, value.storage_offset(), value.size(), value.stride())

    def put_back(self):
        for storage, copy in self._storages.values():
            storage.copy_(copy)


class InterpretedFunction(JITFunction):
    """A kernel whose launches Python runs. `warmup` compiles, as of any kernel."""

    is_interpreted = True

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, grid, warmup=False, **kwargs):
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        if _is_checked(self.debug) or vars(knobs.runtime).get("debug"):
            kwargs.setdefault("debug", True)
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        if descriptors.are_among(args, kwargs):
            function, grid, args, kwargs = descriptors.take_apart(self, grid, args, kwargs)
            with descriptors.told_as_written(self, function):
                return function._launch(grid, args, kwargs)
        return self._launch(grid, args, kwargs)

    def _launch(self, grid, args, kwargs):
        from .eager import Session

        copies = _HostCopies()
        args = tuple(map(copies.of, args))
        kwargs = {name: copies.of(value) for name, value in kwargs.items()}
        session = Session(self, args, kwargs)
        given = {**self.by_name(args), **kwargs}
        if callable(grid):
            grid = grid({**{p.name: p.default for p in self.params if p.has_default}, **given})
        session.run(self, session.arguments(self, given), core.grid_of(grid))
        copies.put_back()


__all__ = ["InterpretedFunction", "InterpreterError"]
