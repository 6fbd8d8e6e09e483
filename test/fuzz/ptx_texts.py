"""PTX texts for comparing parsers: every form of Opcodes.def spelled out, and texts with one thing changed."""
import itertools
import random
import re
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "src" / "ptxvm" / "Opcodes.def"

HEAD = """.version {version}
.target {target}
.address_size 64
.visible .entry test(.param .u64 a)
{{
.reg .pred %p<200>; .reg .b16 %h<64>; .reg .b32 %r<200>; .reg .b64 %rd<200>;
.reg .f32 %f<200>; .reg .f64 %fd<64>; {wide}
LABEL:
"""


def head(version, target):
    wide = ".reg .b128 %q<64>;" if float(version) >= 8.3 else ""  # since then there are registers of 128 bits
    return HEAD.format(version=version, target=target, wide=wide)


TAIL = "\nret;\n}\n"
FIRST_LINE = HEAD.count("\n") + 1

REGISTER = {"pred": "%p", "b128": "%q", "f32": "%f", "f64": "%fd"}
REGISTER |= dict.fromkeys("b8 b16 u8 s8 u16 s16 f16 bf16 e4m3x2 e5m2x2".split(), "%h")
REGISTER |= dict.fromkeys("b32 u32 s32 f16x2 bf16x2 u16x2 s16x2 tf32".split(), "%r")
REGISTER |= dict.fromkeys("b64 u64 s64".split(), "%rd")


def rows():
    """(mnemonic, modifiers, operands) of each row."""
    return [match.groups() for match in re.finditer(r'^PTX_FORM\(\w+, "(\w+)", "([^"]*)", "([^"]*)"',
                                                    TABLE.read_text(), re.MULTILINE)]


def shapes(word):
    """The words that a word of a row stands for: m64nNk16 for one of each N."""
    return [word.replace("N", str(n)) for n in (8, 32, 80, 256)] if "nNk" in word else [word]


def operands(rng, pattern, types, modifiers):
    """Operands that fit; None where this generator has none."""
    lanes = next((n for n in (2, 4, 8) if f"v{n}" in modifiers), 1)
    numbers = itertools.count(1)
    columns = next((int(word[4:word.index("k")]) for word in modifiers if word.startswith("m64n")), 0)

    def register(kind, double=False):
        prefix = REGISTER[kind]
        return ({"%h": "%r", "%r": "%rd"}[prefix] if double else prefix) + str(next(numbers))

    result = []
    for word in pattern.split():
        optional, word = word.endswith("?"), word.rstrip("?_")
        after_bar, word = word.startswith("|"), word.lstrip("|")
        policy = optional and word == "s:b64"
        word, _, count = word.partition("*")
        if (policy and "L2::cache_hint" not in modifiers) or (optional and not policy and rng.random() < 0.5):
            continue
        kind, named, slot = re.fullmatch(r"(md|ms|m|vd|vs|wd|ws|dw|sw|d|s|P|p|l|t|i|call)(?::(\w+)|(\d))?", word).groups()
        type = named or (types[int(slot)] if slot else None)
        if kind in ("t", "call"):
            return None
        if count and kind == "m":  # a tensor map and coordinates
            text = "[%rd50, {" + ", ".join(register("u32") for _ in range(int(count))) + "}]"
        elif count:
            many = columns // 2 if count == "N" else int(count)
            text = "{" + ", ".join(register(type) for _ in range(many)) + "}"
        elif kind == "i" and columns:  # a scale, or whether a matrix is transposed
            text = "1"
        elif kind == "i" and "async" in modifiers:  # the size of a copy
            text = "16"
        elif kind == "m":
            text = "[%rd50]"
        elif kind in ("vd", "vs") and lanes > 1:
            text = "{" + ", ".join(register(type) for _ in range(lanes)) + "}"
        elif type:
            text = register(type, kind in ("dw", "sw"))
        else:
            text = {"i": "0" if "b1024" in modifiers else "64" if {"inc", "dec"} & set(modifiers) else "128" if "tensormap::generic" in modifiers else "0xc", "l": "LABEL"}.get(kind) or f"%p{next(numbers)}"
        if after_bar:
            result[-1] += "|" + text
        else:
            result.append(text)
    return ", ".join(result)


def spellings(rng, row, most):
    """Instructions of a row; all of them where there are few."""
    mnemonic, modifiers, pattern = row
    elements = [(sum(map(shapes, re.split("[,|]", word.strip(":?"))), []), word.endswith("?"), word.startswith(":"))
                for word in modifiers.split()]
    choices = [words + [None] * optional for words, optional, _ in elements]
    every = list(itertools.islice(itertools.product(*choices), most + 1))
    if len(every) > most:
        every = [tuple(rng.choice(words) for words in choices) for _ in range(most)]
    result = {}
    for words in every:
        types = [word for word, (_, _, is_type) in zip(words, elements) if is_type]
        parts = [word for word in words if word]
        text = operands(rng, pattern, types, parts)
        if text is not None:
            result[".".join([mnemonic, *parts]) + (f" {text}" if text else "") + ";"] = True
    return list(result)


def vocabulary():
    words = set()
    for _, modifiers, _ in rows():
        for word in modifiers.split():
            words |= set(sum(map(shapes, re.split("[,|]", word.strip(":?"))), []))
    return sorted(words)


def change(rng, line, words):
    """The instruction with one thing changed."""
    mnemonic, _, rest = line.rstrip(";").partition(" ")
    parts, arguments = mnemonic.split("."), rest.split(", ") if rest else []
    kind = rng.randrange(8)
    at = rng.randrange(1, len(parts)) if len(parts) > 1 else None
    argument = rng.randrange(len(arguments)) if arguments else None
    if kind == 0 and at:
        parts[at] = rng.choice(words)
    elif kind == 1 and at:
        del parts[at]
    elif kind == 2:
        parts.insert(rng.randrange(1, len(parts) + 1), rng.choice(words))
    elif kind == 3 and at:
        parts[at], parts[-1] = parts[-1], parts[at]
    elif kind == 4 and arguments:
        del arguments[argument]
    elif kind == 5 and arguments:
        arguments.insert(argument, arguments[argument])
    elif kind == 6 and arguments:
        arguments[argument] = rng.choice(["%r7", "%rd7", "%h7", "%f7", "%fd7", "%p7", "7", "-1", "0f3F800000", "1.5",
                                          "_", "[%rd7]", "[%rd7+4]", "{%r7, %r8}", "%tid.x", "LABEL", "!%p7", "%none"])
    elif len(arguments) > 1:
        arguments[0], arguments[-1] = arguments[-1], arguments[0]
    return ".".join(parts) + (" " + ", ".join(arguments) if arguments else "") + ";"
