"""Runs checks of programs in a process of their own, so that one that dies or hangs is an answer like another.

In: a function and its arguments. Out: None, or a Failure of one of four kinds: `differs` (an AssertionError), `error` (another
exception), `died` (a signal or an exit), `hangs`. The process is a fork of this one: what is imported here is there at
once. This process itself must launch no kernel, since threads do not come along.
"""
import json
import os
import re
import select
import signal
import traceback
from dataclasses import dataclass

# The machine's findings (src/ptxvm/Findings.def), as a message names them.
FINDING = re.compile(r": (out-of-bounds|misaligned|read-only|uninitialised|race|divergent-barrier|missing-barrier|unaligned-warp|"
                     r"copy-under-way|copy-unfinished|operand-under-way|register-under-way|missing-fence|product-unfinished|phase-misuse|"
                     r"mask-mismatch|inactive-source|deadlock|step-limit|assert|trap|bad-launch|bad-operand): ")


@dataclass
class Failure:
    kind: str
    text: str

    def signature(self):
        """Returns what stays the same while a program shrinks: no numbers, names or places."""
        first = self.text.strip().split("\n")[0]
        if self.kind == "differs":  # between which targets, not where
            return self.kind, *re.findall(r": (python|interp) .*, (interp|cpu|ptxvm|cuda) ", first)
        found = FINDING.search(self.text)
        return self.kind, found[1] if found else re.sub(r"[0-9]+", "N", re.sub(r"\S*/\S*", "", first))[:80]


class Unusable(Exception):
    """Raised where the process can check nothing behind it: its device is lost, say."""


def failure_of(error):
    if isinstance(error, AssertionError):
        return "differs", str(error)
    return "error", "".join(traceback.format_exception_only(error))


def work(pipe, function, arguments):
    """In the child: a record before each call, so that the parent knows which one ended it, and one behind it.
    Behind an Unusable there are no more."""
    def tell(*record):
        os.write(pipe, json.dumps(record).encode() + b"\n")
    for index, argument in enumerate(arguments):
        tell("begins", index)
        try:
            function(argument)
        except BaseException as error:
            tell("fails", index, *failure_of(error))
            if isinstance(error, Unusable):
                return
        else:
            tell("passes", index)


def records(pipe, seconds):
    """The child's records until it ends; TimeoutError if none comes for so long."""
    pending = b""
    while True:
        if not select.select([pipe], [], [], seconds)[0]:
            raise TimeoutError
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return
        *lines, pending = (pending + piece).split(b"\n")
        yield from map(json.loads, lines)


def run_some(function, arguments, seconds=120):
    """Calls the function with each argument until one ends the process or raises Unusable: (how many calls were made,
    {index: Failure})."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work(writing, function, arguments)
        finally:
            os._exit(0)
    os.close(writing)
    failures, under_way, made = {}, None, 0
    try:
        for what, index, *failure in records(reading, seconds):
            under_way = index if what == "begins" else None
            made = index + 1
            if what == "fails":
                failures[index] = Failure(*failure)
        ended = "died"
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        ended = "hangs"
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if under_way is not None:
        failures[under_way] = Failure(ended, f"no answer in {seconds} s" if ended == "hangs" else f"wait status {status}")
    return made, failures


def run_one(function, argument, seconds=120):
    return run_some(function, [argument], seconds)[1].get(0)
