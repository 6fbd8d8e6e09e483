"""Tensor maps as the machine reads them (src/ptxvm/exec/TensorMap.h), and where a box's bytes lie in shared memory."""
import itertools
import struct

import numpy as np

MARK = 0x50414D54


def aligned(size, alignment=64):
    """Zeros of `size` bytes at an aligned address."""
    room = np.zeros(size + alignment, np.uint8)
    begin = -room.ctypes.data % alignment
    return room[begin:begin + size]


def strided(rows, columns, stride, shift=0):
    """A matrix of f16 whose rows begin `stride` elements apart, `shift` behind an aligned address; and its memory, all NaN."""
    memory = aligned(2 * (rows * stride + shift) + 64).view(np.float16)
    memory[:] = np.nan
    return np.lib.stride_tricks.as_strided(memory[shift:], (rows, columns), (2 * stride, 2)), memory


def small_integers(random, rows, columns, pad=8, shift=0):
    """A matrix whose products are exact and whose rows are a little apart, at least 2 * pad; its stride and its memory."""
    stride = -(-columns // 16) * 16 + 2 * pad
    made, memory = strided(rows, columns, stride, shift)
    made[...] = random.integers(-4, 5, (rows, columns))
    return made, stride, memory


def encoded(tensor, box, swizzle=0, **change):
    """128 bytes: the map of a tensor that lies by rows, its last dimension innermost; `box` in that order, too."""
    rank, five = tensor.ndim, [1] * (5 - tensor.ndim)
    fields = dict(mark=MARK, rank=rank, element_bytes=tensor.itemsize, turn=swizzle, address=tensor.ctypes.data,
                  strides=[*tensor.strides[-2::-1], *[0] * (5 - rank)][:4], extents=[*tensor.shape[::-1], *five],
                  box_extents=[*box[::-1], *five], element_strides=[1] * 5)
    fields.update(change)
    made = aligned(128)
    data = struct.pack("<IBBBxQ4Q5I5H5H", fields["mark"], fields["rank"], fields["element_bytes"], fields["turn"], fields["address"],
                       *fields["strides"], *fields["extents"], *fields["box_extents"], *fields["element_strides"])
    made[:len(data)] = np.frombuffer(data, np.uint8)
    return made


def boxed(tensor, box, corner, swizzle=0):
    """The bytes of shared memory behind a copy of the box at `corner`: zeros outside of the tensor."""
    row = box[-1] * tensor.itemsize
    result = np.zeros(int(np.prod(box[:-1])) * row, np.uint8)
    for number, place in enumerate(itertools.product(*map(range, box[:-1]))):
        for x in range(box[-1]):
            at = [c + p for c, p in zip(corner, (*place, x))]
            if all(0 <= a < extent for a, extent in zip(at, tensor.shape)):
                byte = number * row + x * tensor.itemsize
                if swizzle:
                    byte ^= (byte // 128 % (swizzle // 16)) * 16
                result[byte:byte + tensor.itemsize] = np.frombuffer(tensor[tuple(at)].tobytes(), np.uint8)
    return result
