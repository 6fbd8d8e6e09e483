"""A process that does one thing after another when it is told, and says in lines of JSON what it is at; both of its ends.

The parent's end is `WorkerProcess`: requests go to the child's standard input, what it says comes from a pipe of its own, since
libraries print on its standard output, which is logged. The child's is `Pipe`. Each line says a phase, and whom it belongs to: so
whoever watches knows what a death or a hang is to be blamed on.
"""
import json
import os
import signal
import subprocess
import sys
import time


class WorkerProcess:
    def __init__(self, script, log):
        self.log = open(log, "w")
        out, inside = os.pipe()
        self.child = subprocess.Popen([sys.executable, script, str(inside)], stdin=subprocess.PIPE, stdout=self.log,
                                      stderr=subprocess.STDOUT, pass_fds=[inside], text=True, start_new_session=True)
        os.close(inside)
        self.out, self.rest = out, b""
        self.enter({"phase": "starting"})

    def enter(self, said):
        self.said, self.since = said, time.monotonic()

    def send(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # its death is seen at the other end

    def read(self):
        """Returns what it said since; None when it is gone."""
        try:
            data = os.read(self.out, 1 << 20)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines if line]

    def is_late(self, limits):
        """True if its phase takes longer than the limit that there is for it, in seconds."""
        limit = limits.get(self.said["phase"])
        return limit is not None and time.monotonic() - self.since > limit

    def end(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        status = self.child.wait()
        os.close(self.out)
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        self.log.close()
        return status


class Pipe:
    def __init__(self, descriptor):
        self.out = os.fdopen(descriptor, "w", buffering=1)

    def say(self, phase, **more):
        self.out.write(json.dumps({"phase": phase, **more}) + "\n")

    def hear(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return line.strip()
