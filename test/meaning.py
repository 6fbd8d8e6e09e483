"""Says which implementation `import triton` means in test/programs and test/conformance, before they import it.

Tegula, on all of its targets; or upstream Triton with `TRITON_MEANS=upstream`, on a GPU, or in its own interpreter on
CPU tensors with `TRITON_INTERPRET=1` as well. A test has the same name under both, so that results can be laid beside
each other (`./x gpu --steps conformance,programs`).
"""
import os

import pytest

IS_UPSTREAM = os.environ.get("TRITON_MEANS") == "upstream"
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

if not IS_UPSTREAM:
    from tegula.alias import install_as_triton

    install_as_triton()


@pytest.fixture
def device(target):
    """The name of PyTorch's device that the tensors of a test lie on."""
    return "cuda" if target == "cuda" else "cpu"


if IS_UPSTREAM:

    @pytest.fixture(params=["cpu"] if IS_INTERPRETED else [pytest.param("cuda", marks=pytest.mark.gpu)])
    def target(request):
        import torch

        if request.param == "cuda" and not torch.cuda.is_available():
            pytest.skip("no CUDA device: PyTorch sees none")
        return request.param
