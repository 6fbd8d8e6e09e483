"""The file of recorded results: every form's text and its results, COUNT each, as bits."""
from pathlib import Path

import numpy as np
from forms import COUNT, width

FILE = Path(__file__).resolve().parent / "golden.npz"
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def bits_of(form):
    return max(16, width(form.result))


def write(path, results, device):
    """`results`: {form: COUNT slots}"""
    columns = {bits: [] for bits in (16, 32, 64)}
    names = {bits: [] for bits in columns}
    for form, slots in results.items():
        columns[bits_of(form)].append(slots.astype(UNSIGNED[bits_of(form)]))
        names[bits_of(form)].append(form.text)
    arrays = {f"results{bits}": np.array(column).reshape(-1, COUNT) for bits, column in columns.items()}
    arrays |= {f"forms{bits}": np.array("\n".join(names[bits])) for bits in columns}
    np.savez_compressed(path, device=np.array(device), **arrays)


def read(path=FILE):
    """{text of a form: COUNT results}; empty where nothing is recorded."""
    if not Path(path).exists():
        return {}
    found = {}
    with np.load(path) as file:
        for bits in (16, 32, 64):
            texts = str(file[f"forms{bits}"]).split("\n") if file[f"results{bits}"].size else []
            found |= dict(zip(texts, file[f"results{bits}"]))
    return found
