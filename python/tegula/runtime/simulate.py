"""What the machine of the target `ptxvm` is told of a launch's arguments: where their memory begins and ends."""


def _storage(value):
    """(address, bytes, is writable) of the whole memory behind an array or tensor; None: unknown."""
    while hasattr(value, "base") and hasattr(value.base, "data_ptr") and not hasattr(value, "untyped_storage"):
        value = value.base  # reinterpret()
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.nbytes(), True
    writable = True
    while hasattr(getattr(value, "base", None), "__array_interface__"):
        writable = writable and value.flags.writeable
        value = value.base
    if not hasattr(value, "__array_interface__") or not hasattr(value, "nbytes"):
        return None
    interface = value.__array_interface__
    if interface.get("strides"):  # not one piece from its first byte
        from numpy.lib.array_utils import byte_bounds

        low, high = byte_bounds(value)
        return low, high - low, writable and not interface["data"][1]
    return interface["data"][0], value.nbytes, writable and not interface["data"][1]


def _pointers(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _pointers(value)
        elif hasattr(value, "data_ptr") or hasattr(value, "__array_interface__") and hasattr(value, "__setitem__"):  # no scalar of NumPy
            yield value


def memory_of(values):
    """A row for each piece of memory, or None where an argument does not say where its memory ends."""
    pieces = []
    for value in _pointers(values):
        piece = _storage(value)
        if piece is None:
            return None
        pieces.append(piece)
    merged = []
    for address, size, writable in sorted(pieces):
        if merged and address < merged[-1][0] + merged[-1][1]:  # views that overlap are one piece
            first, length, may = merged[-1]
            merged[-1] = (first, max(length, address + size - first), may or writable)
        else:
            merged.append((address, size, writable))
    return merged
