"""``triton.runtime.errors``: upstream's names of errors."""
from ..errors import OutOfResources, ToolchainError as PTXASError, TritonError

__all__ = ["OutOfResources", "PTXASError", "TritonError"]
