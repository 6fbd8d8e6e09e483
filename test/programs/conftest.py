"""Programs as users of Triton write them: they say `import triton`."""
from meaning import *  # fixtures
