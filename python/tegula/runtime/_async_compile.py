"""``triton.AsyncCompileMode``: within it `warmup` compiles on the threads of an executor."""
from concurrent.futures import as_completed
from contextvars import ContextVar

active_mode = ContextVar("active_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled. Whoever wants to know something of it waits."""

    def __init__(self, finalize_compile, cleanup_compile=None, future=None):
        """Of upstream's 3.6, (finalize_compile, future), or 3.9, whose second function is told of a compile that failed."""
        if future is None:
            cleanup_compile, future = None, cleanup_compile
        self.finalize_compile, self.cleanup_compile = finalize_compile, cleanup_compile
        self.future, self.kernel = future, None

    def result(self, ignore_errors=False):
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if self.cleanup_compile is not None:
                    self.cleanup_compile(self)
                if ignore_errors:
                    return None
                raise
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel

    def __getattr__(self, name):
        if name.startswith("__"):  # copies and pickles ask before there is a future
            raise AttributeError(name)
        return getattr(self.result(), name)

    def __getitem__(self, grid):
        return self.result()[grid]


class AsyncCompileMode:
    """``with AsyncCompileMode(executor): kernel.warmup(...)``: returns at once; leaving the block waits for all."""

    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors = executor, ignore_errors
        self.raw_futures, self.future_kernels = [], {}

    def submit(self, key, compile_fn, finalize_fn, cleanup_fn=None):
        known = self.future_kernels.get(key)
        if known is not None:
            return known
        future = self.executor.submit(compile_fn)
        future._key = key
        self.raw_futures.append(future)
        self.future_kernels[key] = FutureKernel(finalize_fn, cleanup_fn, future)
        return self.future_kernels[key]

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("an AsyncCompileMode is inside of another one")
        active_mode.set(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        active_mode.set(None)
        try:
            for future in as_completed(self.raw_futures):
                self.future_kernels[future._key].result(self.ignore_errors)
        finally:
            self.raw_futures, self.future_kernels = [], {}
