"""Kernels that are about places: gathers and scatters of rows and elements, bags, histograms, pools, pads, layouts of images.

Their places lie inside of the tensors; two programs write to one place by atomic additions only.
"""
from .kernel import LANES

ELEMENTS = 1 << 22
TABLE = 50000               # rows to gather from
BINS = 4096
SPREAD = {"rows": 3, "bags": 1.5, "added rows": 1, "elements": 2, "scattered elements": 1.5, "histogram": 0.5, "pool": 1,
          "interpolation": 1, "layout": 1, "pad": 1}


def write(draft):
    block, warps = draft.until(lambda block, warps: block >= LANES * warps,
                               lambda: (draft.one_of(128, 256, 512, 1024, 2048), draft.one_of(1, 2, 4, 8)))
    dtype, index = draft.one_of("f32", "bf16", "i8"), draft.one_of("i32", "i64")
    sort = draft.weighted(SPREAD)
    if sort in ("elements", "scattered elements"):
        return write_elements(draft, sort, block, warps, dtype, index)
    if sort == "histogram":
        return write_histogram(draft, block, warps)
    of_floats = "f16" if dtype == "i8" else dtype
    if sort in ("rows", "bags", "added rows"):
        return write_rows(draft, sort, block, warps, of_floats, index)
    return write_image(draft, sort, block, warps, of_floats)


# --- rows -------------------------------------------------------------------------------------------


def write_rows(draft, sort, block, warps, dtype, index):
    width = draft.one_of(32, 64, 128, 256, 512, 1000)
    columns = 1 << (width - 1).bit_length()
    rows = max(1, block // columns)
    table = draft.size(TABLE, 100)
    draft.add(f"column = tl.arange(0, {columns})")
    write_sort = {"rows": write_gathered_rows, "bags": write_bags, "added rows": write_added_rows}[sort]
    rows, grid = write_sort(draft, rows, columns, width, table, dtype, index)
    description = f"{sort} {rows}x{columns} of {width} {'f32' if sort == 'added rows' else dtype} {index}"
    return draft.kernel(description, grid, min(warps, max(1, rows * columns // LANES)), 2)


def count_of_rows(draft, rows, width, most=1 << 23):
    return draft.size(min(most, max(rows * 512, (1 << 23) // width)) // rows, 3) * rows


def write_gathered_rows(draft, rows, columns, width, table, dtype, index):
    count = count_of_rows(draft, rows, width)
    draft.tensor("x", (table, width), dtype)
    draft.tensor("places", (count,), index, "places", below=table)
    draft.result("o", (count, width), dtype)
    mask = f"mask=column[None, :] < {width}"
    draft.add(f"row = tl.program_id(0) * {rows} + tl.arange(0, {rows})", "place = tl.load(places + row)",
              f"a = tl.load(x + place[:, None] * {width} + column[None, :], {mask}, other=0.0)")
    if draft.chance(0.5):
        draft.add(draft.one_of("a = a * 2",
                               "a = (a.to(tl.float32) * tl.sigmoid(a.to(tl.float32))).to(x.dtype.element_ty)"))
    draft.add(f"tl.store(o + row[:, None] * {width} + column[None, :], a, {mask})")
    return rows, (count // rows,)


def write_bags(draft, rows, columns, width, table, dtype, index):
    """The sum of a few rows a program."""
    count, length = draft.size(count_of_rows(draft, rows, width) // 4, 3), draft.one_of(4, 8, 20)
    draft.tensor("x", (table, width), dtype)
    draft.tensor("places", (count, length), index, "places", below=table)
    draft.result("o", (count, width), "f32")
    draft.add("bag = tl.program_id(0)", f"s = tl.zeros(({columns},), tl.float32)")
    with draft.block(f"for j in range({length}):"):
        draft.add(f"place = tl.load(places + bag * {length} + j)",
                  f"s += tl.load(x + place * {width} + column, mask=column < {width}, other=0.0).to(tl.float32)")
    draft.add(f"tl.store(o + bag * {width} + column, s, mask=column < {width})")
    return 1, (count,)


def write_added_rows(draft, rows, columns, width, table, dtype, index):
    count = count_of_rows(draft, rows, width, most=1 << 15)
    draft.tensor("x", (count, width), "f32")
    draft.tensor("places", (count,), index, "places", below=table)
    draft.tensor("o", (table, width), "f32", "sums")
    mask = f"mask=column[None, :] < {width}"
    draft.add(f"row = tl.program_id(0) * {rows} + tl.arange(0, {rows})", "place = tl.load(places + row)",
              f"a = tl.load(x + row[:, None] * {width} + column[None, :], {mask}, other=0.0)",
              f"tl.atomic_add(o + place[:, None] * {width} + column[None, :], a, {mask})")
    return rows, (count // rows,)


# --- elements ---------------------------------------------------------------------------------------


def add_index(draft, block):
    draft.add(f"i = tl.program_id(0) * {block} + tl.arange(0, {block})")


def write_elements(draft, sort, block, warps, dtype, index):
    count = draft.size(ELEMENTS, 3 * block)
    draft.tensor("x", (count,), dtype)
    draft.tensor("places", (count,), index, "permutation")
    draft.result("o", (count,), dtype)
    add_index(draft, block)
    draft.add("place = tl.load(places + i)",
              "tl.store(o + i, tl.load(x + place))" if sort == "elements" else "tl.store(o + place, tl.load(x + i))")
    return draft.kernel(f"{sort} {block} {dtype} {index}", (count // block,), warps, 2)


def write_histogram(draft, block, warps):
    count = draft.size(ELEMENTS, 3 * block)
    draft.tensor("x", (count,), "i32", "places", below=BINS)
    draft.tensor("o", (BINS,), "i32", "sums")
    add_index(draft, block)
    draft.add("place = tl.load(x + i)",
              draft.one_of("tl.atomic_add(o + place, 1)", "tl.atomic_add(o + place, tl.full(place.shape, 1, tl.int32))"))
    return draft.kernel(f"histogram {block}", (count // block,), warps, 2)


# --- images -----------------------------------------------------------------------------------------


def write_image(draft, sort, block, warps, dtype):
    channels, height, width = draft.one_of(32, 64, 96), draft.one_of(56, 64), draft.one_of(56, 64)
    batch, channels = draft.size(8, 1), draft.size(channels, 3)
    draft.tensor("x", (batch, channels, height, width), dtype)
    add_index(draft, block)
    draft.add("inside = i < n")
    shape = IMAGES[sort](draft, channels, height, width)
    shape = (batch, *shape)
    draft.result("o", shape, dtype)
    count = shape[0] * shape[1] * shape[2] * shape[3]
    description = f"{sort} {block} {dtype} {batch}x{channels}x{height}x{width}"
    return draft.kernel(description, (-(-count // block),), warps, 2, n=count)


def add_place(draft, height, width):
    """Image, row and column of a result of these extents."""
    draft.add(f"column = i % {width}", f"row = i // {width} % {height}", f"image = i // {width * height}")


def write_pool(draft, channels, height, width):
    add_place(draft, height // 2, width // 2)
    draft.add(f"at = x + image * {height * width} + row * {2 * width} + 2 * column")
    draft.add(*(f"{name} = tl.load(at + {offset}, mask=inside)" for name, offset in
                (("a", 0), ("b", 1), ("c", width), ("d", width + 1))))
    draft.add("tl.store(o + i, tl.maximum(tl.maximum(a, b), tl.maximum(c, d)), mask=inside)")
    return channels, height // 2, width // 2


def write_layout(draft, channels, height, width):
    """Channels last."""
    draft.add(f"channel = i % {channels}", f"column = i // {channels} % {width}",
              f"row = i // {channels * width} % {height}", f"image = i // {channels * width * height}",
              f"at = x + ((image * {channels} + channel) * {height} + row) * {width} + column",
              "tl.store(o + i, tl.load(at, mask=inside), mask=inside)")
    return height, width, channels


def write_pad(draft, channels, height, width):
    """A border of zeros."""
    add_place(draft, height + 2, width + 2)
    draft.add("row -= 1", "column -= 1", f"is_image = (column >= 0) & (column < {width}) & (row >= 0) & (row < {height})",
              f"a = tl.load(x + (image * {height} + row) * {width} + column, mask=inside & is_image, other=0.0)",
              "tl.store(o + i, a, mask=inside)")
    return channels, height + 2, width + 2


def write_interpolation(draft, channels, height, width):
    """Twice the size, bilinear."""
    add_place(draft, 2 * height, 2 * width)
    draft.add(f"at = x + image * {height * width}")
    for name, extent in (("row", height), ("column", width)):
        draft.add(f"{name}_real = tl.maximum({name}.to(tl.float32) * 0.5 - 0.25, 0.0)",
                  f"{name}0 = {name}_real.to(tl.int32)", f"{name}1 = tl.minimum({name}0 + 1, {extent - 1})", f"{name}_part = {name}_real - {name}0")
    for row in "01":
        draft.add(*(f"a{row}{column} = tl.load(at + row{row} * {width} + column{column}, mask=inside).to(tl.float32)"
                    for column in "01"))
        draft.add(f"a{row} = a{row}0 * (1 - column_part) + a{row}1 * column_part")
    draft.add("tl.store(o + i, a0 * (1 - row_part) + a1 * row_part, mask=inside)")
    return channels, 2 * height, 2 * width


IMAGES = {"pool": write_pool, "layout": write_layout, "pad": write_pad, "interpolation": write_interpolation}
