"""The machine's results are the GPU's, bit for bit, for every form; of approximate forms within what PTX documents."""
import machine
import numpy as np
import pytest
import rows
from forms import COUNT, all_forms, kernel, operands
from golden import UNSIGNED, bits_of, read

FORMS = {form.text: form for form in all_forms()}
RECORDED = read()
FLOAT = {16: np.float16, 32: np.float32, 64: np.float64}


def results(form):
    slots = np.zeros(COUNT, np.uint64)
    assert machine.run(kernel(form), [*operands(form), slots], block=(COUNT, 1, 1)) == ""
    return slots.astype(UNSIGNED[bits_of(form)])


def ordered(bits):
    """Bits of floats as integers in the order of the numbers."""
    width = bits.dtype.itemsize * 8
    value = bits.astype(object)
    top = 1 << (width - 1)
    return np.array([int(v) if v < top else top - int(v) for v in value], dtype=object)


def is_near(form, got, wanted):
    """Elementwise, within the form's bounds; NaN is near NaN."""
    if form.result == "bf16":
        numbers = [(bits.astype(np.uint32) << 16).view(np.float32) for bits in (got, wanted)]
    else:
        numbers = [bits.view(FLOAT[bits_of(form)]) for bits in (got, wanted)]
    with np.errstate(invalid="ignore"):
        both_nan = np.isnan(numbers[0]) & np.isnan(numbers[1])
        close = np.abs(numbers[0].astype(np.float64) - numbers[1].astype(np.float64)) <= form.absolute
    ulps = np.abs(ordered(got) - ordered(wanted)) <= form.ulps
    return both_nan | close | (ulps.astype(bool) & ~np.isnan(numbers[0]) & ~np.isnan(numbers[1]))


def test_all_forms_are_recorded():
    assert FORMS.keys() == RECORDED.keys(), "run record.py on a GPU"


@pytest.mark.parametrize("text", [text for text in FORMS if text in RECORDED])
def test_the_machine_computes_what_the_gpu_computes(text):
    form = FORMS[text]
    got, wanted = results(form), RECORDED[text]
    near = is_near(form, got, wanted) if form.ulps or form.absolute else got == wanted
    if not near.all():
        i = int(np.argmin(near))
        inputs = ", ".join(hex(int(array[i])) for array in operands(form)[:len(form.operands)])
        pytest.fail(f"{text} of {inputs}: {hex(int(got[i]))}, on the GPU {hex(int(wanted[i]))}; {(~near).sum()} differ")


def test_the_rows_without_a_recording_are_those_listed():
    """Rows that return nothing to record: the trap ends the launch, a call needs the host, brkpt a debugger, griddepcontrol a
    second launch, setmaxnreg other warps. Those of wgmma have a recording of their own (test_products.py), those of mbarriers, of copies
    that arrive at them, and of their maps none, nor those of Blackwell: the recording is Hopper's."""
    found, count = rows.unrecorded()
    lines, newer = [text for text, _ in found], sum(least > rows.RECORDED_ON for _, least in found)
    assert rows.LISTED.read_text().splitlines() == lines, "run rows.py"
    ours = [text for text, least in found if least <= rows.RECORDED_ON]
    others = [line for line in ours if line.split()[0] in ("wgmma", "fence", "mbarrier", "tensormap") or line.startswith(("cp async bulk", "cp reduce async bulk", "prefetch tensormap"))]
    assert {line.split()[0] for line in ours if line not in others} <= {"trap", "call", "brkpt", "griddepcontrol", "setmaxnreg"}
    assert count - len(lines) > 0.98 * (count - newer - len(others))
