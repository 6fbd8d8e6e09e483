"""``triton.tools.ragged_tma``: descriptors of tensors whose rows belong to parts of different lengths. A tile that is loaded of
a part has zeros behind its last row, and one that is stored leaves the next part alone.

A descriptor has two dimensions in front of the tensor's. Coordinates count so that addresses wrap around 2^64 elements and
the rows behind a part are those behind the extent of the ragged dimension, which is 2^30."""
from .. import language as tl
from ..runtime.jit import jit
from .tensor_descriptor import TensorDescriptor

MANY = 1 << 30  # rows; the extent of the ragged dimension
MOST = 0x7FFF0000  # the extent of the dimensions in front
_many = tl.constexpr(MANY)


class TensorDescriptorPtr:
    """An address of memory for a descriptor, on the device of the tensor that it was computed from."""

    def __init__(self, data_ptr, dtype, device=None):
        self._data_ptr, self.dtype, self.device = data_ptr, dtype, device

    def data_ptr(self):
        return self._data_ptr


def create_ragged_descriptor(T, block_shape, ragged_dim=0, write_only=False):
    """A descriptor of a tensor for `load_ragged` and `store_ragged`; of one that is only stored through, `store_ragged`."""
    rank = len(T.shape)
    ragged_dim += rank if ragged_dim < 0 else 0
    if not 0 <= ragged_dim < rank - 1:
        raise AssertionError(f"dimension {ragged_dim} of {rank} cannot be ragged: it is one ahead of the last")
    if rank > (4 if write_only else 3):
        raise AssertionError(f"a ragged descriptor {'to store through ' if write_only else ''}has at most "
                             f"{4 if write_only else 3} dimensions, not {rank}")
    if len(block_shape) != rank:
        raise AssertionError(f"the block has {len(block_shape)} dimensions, and the tensor {rank}")
    if T.shape[ragged_dim] > MANY:
        raise AssertionError(f"a ragged dimension has at most {MANY} rows, not {T.shape[ragged_dim]}")
    step = T.stride(ragged_dim)
    extents, strides = list(T.shape), list(T.stride())
    extents[ragged_dim] = MANY
    if write_only:
        address = (T.data_ptr() - MANY * step * T.element_size()) % (1 << 64)
        base = TensorDescriptorPtr(address, T.dtype, T.device)
        return TensorDescriptor(base, [MOST, *extents], [step, *strides], [1, *block_shape])
    return TensorDescriptor(T, [MOST, MOST, *extents], [(1 << 34) - step, step, *strides], [1, 1, *block_shape])


@jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The coordinates in both dimensions in front, and in the ragged one, of a row of the part of `batch_size` rows from
    `batch_offset` on."""
    return _many, batch_offset + batch_size, _many - batch_size + row


@jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """The tile at `coords` of the part of `batch_size` rows from `batch_offset` on; zeros outside of it."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "the descriptor is none of create_ragged_descriptor to load through")
    first, second, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    tile = TMA.load([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:])
    return tl.reshape(tile, tile.shape[2:])


@jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Stores a tile at `coords` of the part of `batch_size` rows from `batch_offset` on; nothing outside of it."""
    tl.static_assert(len(TMA.shape) == len(coords) + 1 or len(TMA.shape) == len(coords) + 2,
                     "the descriptor is none of create_ragged_descriptor")
    first, second, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    rest = coords[:ragged_dim] + [row] + coords[ragged_dim + 1:]
    if len(TMA.shape) == len(coords) + 1:
        TMA.store([second] + rest, tl.reshape(data, [1] + data.shape))
    else:
        TMA.store([first, second] + rest, tl.reshape(data, [1, 1] + data.shape))


@jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a tile at `coords` of the part of `batch_size` rows from `batch_offset` on; nothing outside of it."""
    tl.static_assert(len(TMA.shape) == len(coords) + 1 or len(TMA.shape) == len(coords) + 2,
                     "the descriptor is none of create_ragged_descriptor")
    first, second, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    rest = coords[:ragged_dim] + [row] + coords[ragged_dim + 1:]
    if len(TMA.shape) == len(coords) + 1:
        TMA.atomic_add([second] + rest, tl.reshape(data, [1] + data.shape))
    else:
        TMA.atomic_add([first, second] + rest, tl.reshape(data, [1, 1] + data.shape))
