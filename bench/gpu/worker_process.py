"""A process that does one thing after another when it is told, and says in lines of JSON what it is at; both of its ends.

The parent's end is `WorkerProcess`: requests go to the child's standard input, what it says comes from a pipe of its own, since
libraries print on its standard output, which is logged. The child's is `Pipe`. Each line says a phase, and whom it belongs to: so
whoever watches knows what a death or a hang is to be blamed on. `Workers` are all those of a run.
"""
import json
import os
import selectors
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


class Workers:
    """Hears what workers say, and ends those that die, lose the device, or are longer at a phase than `limits` (seconds by phase) allow.

    Of a run's own are `make`, which returns the worker with a number, `done`, which gets a worker's result, and `drop`, which ends a worker
    (by `end`) and says what becomes of its case. `path` is the file of the run's results, which is touched while workers live.
    """

    def __init__(self, limits, path):
        self.limits, self.path = limits, path
        self.workers, self.started = {}, 0
        self.stillborn = 0  # those that died before they could work
        self.selector = selectors.DefaultSelector()

    def start(self):
        worker = self.make(self.started)
        self.started += 1
        self.workers[worker.out] = worker
        self.selector.register(worker.out, selectors.EVENT_READ)
        return worker

    def end(self, worker):
        """Returns the status with which it ended."""
        self.selector.unregister(worker.out)
        del self.workers[worker.out]
        return worker.end()

    def hear(self, worker):
        said = worker.read()
        if said is None:
            self.drop(worker, "")
            return
        self.path.touch()
        for message in said:
            if message["phase"] == "lost":  # what the worker said before is what it was at
                self.drop(worker, f"the device was lost: {message['error']}")
                return
            worker.enter(message)
            if message["phase"] == "done":
                self.done(worker, message["result"])

    def look(self):
        """Waits a moment for what workers say, and ends those that are late."""
        for key, _ in self.selector.select(timeout=0.2):
            if key.fd in self.workers:
                self.hear(self.workers[key.fd])
        for worker in list(self.workers.values()):
            if worker.is_late(self.limits):
                self.drop(worker, f"stopped after {self.limits[worker.said['phase']]} s")


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
