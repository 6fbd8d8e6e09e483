"""``triton.profiler.mode``: upstream's modes of backends that are not here. The names can be imported."""


class BaseMode:
    """A mode; the constructor of each says that there is none."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"profiler: the mode {type(self).__name__} belongs to a backend that is not here\n"
                                  "  hint: leave `mode` and `backend` out of `start`")


class PCSampling(BaseMode):
    pass


class InstrumentationMode(BaseMode):
    pass


class Default(InstrumentationMode):
    pass


class MMA(InstrumentationMode):
    pass
