"""Compiled kernels in a Redis server: a real one, and what it may do to those who ask it."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

PROGRAM = """
import json, sys, warnings
import numpy as np
import tegula as triton, tegula.language as tl

@triton.jit
def add(x, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + o, tl.load(x + o, mask=o < n) + 1, mask=o < n)

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    x = np.zeros(64, np.float32)
    for block in map(int, sys.argv[1].split(",")):
        kernel = add[(64 // block,)](x, 64, block)
    assert (x == len(sys.argv[1].split(","))).all()
print(json.dumps({"steps": list(kernel.times), "said": [str(w.message) for w in said]}))
"""
REDIS = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(not REDIS or not shutil.which("openssl"), reason="redis-server or openssl is not installed")


class Server:
    def __init__(self, folder, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = subprocess.Popen([REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder),
                                         *options], stdout=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("redis-server does not start")

    def ask(self, *words):
        """One command; the raw answer."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            connection.settimeout(5)
            answer = b""
            while not answer.endswith(b"\r\n") or (answer[:1] == b"$" and len(answer) < int(answer[1:answer.index(b"\r")])):
                answer += connection.recv(1 << 20)
            return answer

    def keys(self):
        return [word for word in self.ask("KEYS", "*").split(b"\r\n") if word.startswith(b"tegula:")]

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.end()


@pytest.fixture
def keys(tmp_path):
    def make(name):
        private, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
        private.chmod(0o600)
        return str(private), str(public)
    return make


@pytest.fixture
def run(tmp_path):
    path, count = tmp_path / "program.py", iter(range(1000))
    path.write_text(PROGRAM)

    def run(blocks="16", **variables):
        """In a process with a disk cache of its own."""
        environment = {**os.environ, "TEGULA_CACHE_DIR": str(tmp_path / f"cache{next(count)}"),
                       **{f"TEGULA_{name}": value for name, value in variables.items()}}
        done = subprocess.run([sys.executable, str(path), blocks], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def test_readers_find_what_a_writer_has_compiled(server, keys, run):
    private, public = keys("a")
    reader = {"REMOTE_CACHE": server.url, "REMOTE_CACHE_KEYS": public}
    assert "remote cache" not in run(**reader)["steps"] and not server.keys()  # reading writes nothing
    assert "remote cache" not in run(**reader, REMOTE_CACHE_SIGNING_KEY=private)["steps"]
    assert len(server.keys()) == 1
    found = run(**reader)
    assert found == {"steps": ["remote cache"], "said": []}
    assert run(**reader, CLOSED="1")["steps"] == ["remote cache"]  # a process that may not compile, too


def test_others_are_not_believed(server, keys, run):
    private, public = keys("a")
    other_private, other_public = keys("b")
    run(REMOTE_CACHE=server.url, REMOTE_CACHE_KEYS=other_public, REMOTE_CACHE_SIGNING_KEY=other_private)
    assert "remote cache" not in run(REMOTE_CACHE=server.url, REMOTE_CACHE_KEYS=public)["steps"]
    both = open(public).read() + open(other_public).read()
    with open(public, "w") as file:
        file.write(both)
    assert run(REMOTE_CACHE=server.url, REMOTE_CACHE_KEYS=public)["steps"] == ["remote cache"]


def test_a_server_that_lies(server, keys, run):
    """Flipped, cut, moved to another name, of another kind: compiled anew, and right."""
    private, public = keys("a")
    reader = {"REMOTE_CACHE": server.url, "REMOTE_CACHE_KEYS": public}
    run("16,32", **reader, REMOTE_CACHE_SIGNING_KEY=private)
    first, second = server.keys()
    whole = server.ask("GET", first)
    whole = whole[whole.index(b"\n") + 1:-2]
    for entry in (whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], whole[:-1], b"", b"x" * 5000, whole[72:]):
        for key in (first, second):
            server.ask("SET", key, entry)
        assert "remote cache" not in run("16,32", **reader)["steps"]
    server.ask("SET", second, whole)
    server.ask("SET", first, whole)
    assert "remote cache" in run("16", **reader)["steps"] + run("32", **reader)["steps"]
    for key in (first, second):
        server.ask("DEL", key)
        server.ask("LPUSH", key, "a")  # a list is no entry
    told = run("16,32", **reader)
    assert "remote cache" not in told["steps"] and any("remote cache is not used" in text for text in told["said"])


def test_a_server_that_is_dead_or_stalls_costs_a_deadline(server, keys, run):
    _, public = keys("a")
    reader = {"REMOTE_CACHE": server.url, "REMOTE_CACHE_KEYS": public, "REMOTE_CACHE_TIMEOUT": "200"}
    server.process.send_signal(signal.SIGSTOP)
    told = run("2,4,8,16,32,64", **reader)
    assert len(told["said"]) == 1 and "in time" in told["said"][0]
    server.end()
    told = run("2,4,8", **reader)
    assert len(told["said"]) == 1 and "Connection refused" in told["said"][0] and "hint" not in told["said"][0]


def test_writers_have_an_address_of_their_own(server, keys, run):
    """Readers may not write, by the server's own rules."""
    private, public = keys("a")
    at = f"127.0.0.1:{server.port}"
    server.ask("ACL", "SETUSER", "reader", "on", ">r", "~tegula:*", "+get")
    server.ask("ACL", "SETUSER", "writer", "on", ">w", "~tegula:*", "+set")
    run(REMOTE_CACHE=f"redis://reader:r@{at}", REMOTE_CACHE_WRITER=f"redis://writer:w@{at}", REMOTE_CACHE_KEYS=public,
        REMOTE_CACHE_SIGNING_KEY=private)
    assert run(REMOTE_CACHE=f"redis://reader:r@{at}", REMOTE_CACHE_KEYS=public)["steps"] == ["remote cache"]
    told = run("32", REMOTE_CACHE=f"redis://reader:secret@{at}", REMOTE_CACHE_KEYS=public)
    assert len(told["said"]) == 1 and "secret" not in told["said"][0]


@pytest.mark.parametrize("variables, says", [
    ({"REMOTE_CACHE": "http://x"}, "is not redis://"),
    ({"REMOTE_CACHE": "redis://x", "REMOTE_CACHE_KEYS": "/nowhere"}, "cannot be read"),
    ({"REMOTE_CACHE": "redis://x"}, "cannot be read")])
def test_what_is_configured_wrongly_is_told_once(run, variables, says):
    told = run("16,32", **variables)
    assert len(told["said"]) == 1 and says in told["said"][0]


def test_nobody_who_configures_nothing_loads_it(run, tmp_path):
    program = "import os, tegula; print('tegula-remote' in open('/proc/self/maps').read(), 'libcrypto' in open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split()[0] == "False"
