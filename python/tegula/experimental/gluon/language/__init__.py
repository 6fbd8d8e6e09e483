"""``triton.experimental.gluon.language``: what it has in common with ``triton.language``, for annotations and defaults."""
from ....absent import absent_names
from .... import language as _language
from . import nvidia

_absent = absent_names("triton.experimental.gluon.language", "kernels of Gluon are not compiled\n  hint: triton.language")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_language, name, None) or _absent(name)
