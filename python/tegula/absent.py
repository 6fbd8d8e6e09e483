"""Names that libraries import with their own modules, and that have no meaning here: they say so when they are used."""


def refuse(name, reason):
    raise NotImplementedError(f"{name} is not here: {reason}")


class Absent:
    """In the place of a function, or of a module with functions."""

    def __init__(self, name, reason):
        self._name, self._reason = name, reason

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._reason)

    def __call__(self, *args, **kwargs):
        refuse(self._name, self._reason)

    def __getitem__(self, key):
        refuse(self._name, self._reason)

    def __repr__(self):
        return f"<{self._name}, which is not here>"


def absent_class(name, reason):
    """A class of which there is no object: for `isinstance`, for annotations, and as a base."""
    module, _, own = name.rpartition(".")

    def __new__(cls, *args, **kwargs):
        refuse(name, reason)

    return type(own, (), {"__new__": __new__, "__module__": module, "__doc__": f"Not here: {reason}"})


def absent_names(module, reason):
    """The __getattr__ of a module: every name is there, and is a class if it is written as one."""
    made = {}

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in made:
            kind = absent_class if name[:1].isupper() else Absent
            made[name] = kind(f"{module}.{name}", reason)
        return made[name]

    return __getattr__
