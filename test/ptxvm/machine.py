"""The machine through the C interface: runs an entry of a PTX text on arrays."""
import ctypes
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "lib" / "libtegula.so"
INT, POINTER, U64 = 3, 6, 8  # tg_value_kind, tg_dtype


class Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("dtype", ctypes.c_uint8), ("flags", ctypes.c_uint8),
                ("reserved", ctypes.c_uint8 * 5), ("address", ctypes.c_void_p), ("rest", ctypes.c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("schedule", ctypes.c_char_p), ("seed", ctypes.c_uint64),
                ("step_limit", ctypes.c_uint64), ("threads", ctypes.c_uint32), ("profile", ctypes.c_int32),
                ("bundle", ctypes.c_char_p), ("records_all", ctypes.c_int32), ("copies", ctypes.c_char_p)]


class Launch(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("text", ctypes.c_char_p),
                ("size", ctypes.c_size_t), ("entry", ctypes.c_char_p), ("grid", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("shared_bytes", ctypes.c_uint64),
                ("arguments", ctypes.POINTER(Value)), ("count", ctypes.c_size_t)]


_library = ctypes.CDLL(str(LIBRARY))
_library.tg_simulation_text.restype = _library.tg_diagnostics_text.restype = ctypes.c_char_p
_library.tg_simulation_finding_count.restype = ctypes.c_size_t


class Part:
    """An argument that points into `whole`, the memory that the kernel may touch, to where `part` begins."""

    def __init__(self, whole, part):
        self.whole, self.part = whole, part


def run(text, arrays, grid=(1, 1, 1), block=(32, 1, 1), schedule="round-robin", seed=0, copies="late", step_limit=0, shared=0):
    """Runs the only entry; the arrays are its arguments and change in place, others are numbers. Returns what was found, "" for nothing."""
    options = Options(ctypes.sizeof(Options), schedule.encode(), seed, step_limit, 0, 0, None, 0, copies.encode())
    simulation, problems = ctypes.c_void_p(), ctypes.c_void_p()
    assert _library.tg_simulation_create(ctypes.byref(options), ctypes.byref(simulation), ctypes.byref(problems)) == 0
    try:
        values = (Value * len(arrays))()
        for value, array in zip(values, arrays):
            if isinstance(array, int):
                value.kind, value.address = INT, array
                continue
            if isinstance(array, Part):
                value.kind, value.dtype, value.address, array = POINTER, U64, array.part.ctypes.data, array.whole
                _library.tg_simulation_add_memory(simulation, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), b"", 1)
                continue
            value.kind, value.dtype, value.address = POINTER, U64, array.ctypes.data
            _library.tg_simulation_add_memory(simulation, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), b"", 1)
        code = text.encode()
        launch = Launch(ctypes.sizeof(Launch), b"form.ptx", code, len(code), b"", grid, block, shared, values, len(arrays))
        if _library.tg_simulation_run(simulation, ctypes.byref(launch), ctypes.byref(problems)):
            said = _library.tg_diagnostics_text(problems).decode()
            _library.tg_diagnostics_destroy(problems)
            raise ValueError(said)
        return _library.tg_simulation_text(simulation, b"findings").decode()
    finally:
        _library.tg_simulation_destroy(simulation)
