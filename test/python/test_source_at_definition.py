"""The source of a kernel is that of the moment in which it is defined: its file may change or go before it is launched."""
import importlib.util
import sys
import time

import numpy as np
import pytest

TEXT = """import tegula as triton, tegula.language as tl

@triton.jit
def helper(x):
    return x + 1

@triton.jit
def k(p):
    tl.store(p, helper(tl.load(p)))

"""


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Writes a module, and imports it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(text, path=tmp_path / "made.py"):
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(f"made_{time.time_ns()}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module, path

    return make


def value_of(kernel):
    x = np.zeros(1, np.float32)
    kernel[(1,)](x)
    return x[0]


def test_an_edit_after_the_import_changes_nothing(module_of):
    module, path = module_of(TEXT)
    path.write_text("# a\n# b\n" + TEXT.replace("x + 1", "x + 100"))
    assert value_of(module.k) == 1


def test_an_edit_of_the_same_length_changes_nothing(module_of):
    module, path = module_of(TEXT)
    path.write_text(TEXT.replace("x + 1", "x + 2"))
    assert value_of(module.k) == 1


def test_a_file_may_be_deleted(module_of):
    module, path = module_of(TEXT)
    path.unlink()
    assert value_of(module.k) == 1
    assert module.k.src.startswith("def k(p):") and module.helper.raw_src[0] == "@triton.jit\n"


def test_lines_may_be_indented_less_than_their_function(module_of):
    module, _ = module_of('''import tegula as triton
import tegula.language as tl
class Kernels:
    @triton.jit
    def commented(x):
# tl.store(x, 1)
        tl.store(x, 7)
    @triton.jit
    def told(x):
        """Stores 8,
and says so here."""
        tl.store(x,
    8)
''')
    assert (value_of(module.Kernels.commented), value_of(module.Kernels.told)) == (7, 8)


def test_two_modules_are_written_to_one_path(module_of):
    first, second = module_of(TEXT)[0], module_of(TEXT.replace("x + 1", "x + 2"))[0]
    assert (value_of(first.k), value_of(second.k)) == (1, 2)
    assert first.helper.cache_key != second.helper.cache_key


def test_a_function_of_constants_keeps_its_key(module_of):
    text = "import tegula as triton\n@triton.constexpr_function\ndef f(x):\n    return x\n"
    module, path = module_of(text)
    again, _ = module_of(text)
    path.unlink()
    assert module.f.cache_key == again.f.cache_key


def test_a_pickle_has_the_source_and_not_its_file(module_of):
    module, path = module_of(TEXT + "# secret\n")
    path.unlink()
    state = module.k.__getstate__()
    assert "_file_text" not in state and "_code" not in state and state["_lines"][0][0] == "@triton.jit\n"


def test_functions_of_one_file_share_its_lines(module_of, tmp_path):
    _, path = module_of(TEXT)
    time.sleep(0.05)  # a file that was just written is read again
    spec = importlib.util.spec_from_file_location("settled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.k._file_text is module.helper._file_text


LATE = """import tegula as triton, tegula.language as tl

@triton.jit
def k(p):
    tl.store(p, 1.0)

def late():
    @triton.jit
    def k(p):
        tl.store(p, 5.0)
    return k
"""


def test_a_function_that_is_defined_late_has_the_text_that_was_imported(module_of):
    module, path = module_of(LATE)
    path.write_text("# another line\n" + LATE)
    assert value_of(module.late()) == 5
    path.write_text(LATE.replace("5.0", "6.0"))
    assert value_of(module.late()) == 5


def test_a_text_that_is_gone_is_not_guessed(module_of):
    text = LATE.replace("@triton.jit\ndef k(p):\n    tl.store(p, 1.0)\n", "")
    module, path = module_of(text)
    path.write_text("# another line\n" + text)
    with pytest.raises(ValueError, match="was changed before `k` was defined: the source of the function is gone"):
        value_of(module.late())
    path.write_text(text.replace("5.0", "6.0"))
    with pytest.warns(UserWarning, match="what is compiled is the new text"):
        assert value_of(module.late()) == 6
