"""``triton.experimental.gluon.nvidia.hopper``: descriptors with a layout."""
from ....absent import absent_class

TensorDescriptor = absent_class("triton.experimental.gluon.nvidia.hopper.TensorDescriptor",
                                "kernels of Gluon are not compiled\n  hint: triton.tools.tensor_descriptor.TensorDescriptor")
