"""``triton.profiler`` (upstream's proton): the time that kernels take, in a tree of the scopes that launched them.

    import triton.profiler as proton

    proton.start("matmul", hook="triton")
    with proton.scope("torch [M=4096]", {"flops16": 2.0 * 4096**3}):
        torch.matmul(a, b)
    kernel[grid](a, b, c)
    proton.finalize()                      # writes matmul.hatchet

and `python -m tegula.profiler.viewer -m tflop16/s,time/ms matmul.hatchet` shows the tree.

Launches of this package's kernels are timed: on a GPU by PyTorch's events around each, which are read when the session
ends, so that no launch waits; on the cores by the clock of the host. While the GPU is idle, such a time has the host's
microseconds of the launch in it.

Kernels of other libraries (cuBLAS) are not seen, as upstream sees them through CUPTI. A scope that is given `flops`,
`flops8` to `flops64` or `bytes`, and in which nothing else is timed, is timed as a whole: from its beginning to its end on
the current stream, which is more than its kernels take where the GPU waits for the host. Its frame is `<whole scope>`.

Not seen: launches while a CUDA graph is captured, replays of graphs (but for such a scope around them), kernels under
TRITON_INTERPRET=1. Not there, and refused by NotImplementedError: traces (`data="trace"`), backends and modes (CUPTI's
samples of instructions, instrumented kernels)."""
from . import context, data, language, launches, mode, specs  # noqa: F401 launches tells sessions of its hooks
from .scopes import cpu_timed_scope, enter_scope, enter_state, exit_scope, exit_state, metadata_state, scope, state
from .sessions import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start

__all__ = ["DEFAULT_PROFILE_NAME", "activate", "context", "cpu_timed_scope", "data", "deactivate", "enter_scope", "enter_state",
           "exit_scope", "exit_state", "finalize", "language", "metadata_state", "mode", "profile", "scope", "specs", "start", "state"]
