"""A service that a test runs. With BERTH_TEST_CERTIFICATES=1 in the environment services and callers have certificates.

All certificates come from deploy/certificates/issue, from one CA that lives as long as the test.
"""

import atexit
import functools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ISSUE = pathlib.Path(__file__).resolve().parents[3] / "deploy/certificates/issue"
DOMAIN = "berth.test"
START_SECONDS_MAX = 60


def scratch():
    """A new directory that other users may enter: PostgreSQL does not run as root."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
    directory.chmod(0o755)
    return directory


@functools.cache
def authority():
    """The directory of the CA."""
    directory = scratch()
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@functools.cache
def certificate(role, name):
    """The settings that give a program the certificate of ROLE/NAME: name of a setting -> value."""
    subprocess.run([ISSUE, authority(), DOMAIN, role, name], check=True, stdout=subprocess.DEVNULL)
    stem = authority() / f"{role}-{name}"
    return {"tls-certificate": f"{stem}.crt", "tls-key": f"{stem}.key", "tls-ca": f"{authority()}/ca.crt",
            "trust-domain": DOMAIN}


def certified(role, name):
    """The same, but nothing unless the environment asks for certificates."""
    return certificate(role, name) if os.environ.get("BERTH_TEST_CERTIFICATES") == "1" else {}


def variables(settings):
    """The variables of the environment that make these settings."""
    return {"BERTH_" + name.upper().replace("-", "_"): value for name, value in settings.items()}


def identity(words):
    """Role and name of the service that these words start."""
    if not words[0].endswith("/berth-tracker"):
        return "placement", "one"
    hosts = [word.removeprefix("--host=") for word in words if word.startswith("--host=")]
    return "tracker", (hosts or [socket.gethostname()])[0]


class Process:
    """A service in a directory of its own, and the address it answers at."""

    def __init__(self, *words):
        self.directory = scratch()
        address = self.directory / "address"
        self.log = open(self.directory / "log", "w", encoding="utf-8")
        flags = [f"--{name}={value}" for name, value in certified(*identity(words)).items()]
        self.process = subprocess.Popen(
            [*words, *flags, "--listen=127.0.0.1:0", f"--address-file={address}", "--metrics-listen=",
             f"--state-dir={self.directory}/state", "--log-format=text"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS_MAX
        while not (address.exists() and address.read_text(encoding="utf-8").strip()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                log = (self.directory / "log").read_text(encoding="utf-8")
                self.stop()
                raise RuntimeError(log)
            time.sleep(0.05)
        self.endpoint = address.read_text(encoding="utf-8").split()[0]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
