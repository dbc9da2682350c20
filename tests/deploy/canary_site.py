"""A site with secrets: a PostgreSQL that asks for a password, keys and certificates, and programs that run there.

The parts of secrets that can be looked for are *canaries*.
"""

import base64
import hashlib
import hmac
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from ports import free_port
from postgres import Place, Server, run

DOMAIN = "berth.test"
ROLE = "canary_app"
# Characters that have to be escaped in a URL stand around the word that is looked for.
WORD, KEY_WORD = "TheCanaryDb7Qz41", "TheCanaryKey9Xw52"
PASSWORD, KEY_PASSWORD = f"a/{WORD}:b@c", f"d&{KEY_WORD}=e"
WRONG = "TheCanaryWrong3Kd86"
ENDED_SECONDS_MAX = 60


def quoted(text):
    return urllib.parse.quote(text, safe="")


def verifier(password):
    """What PostgreSQL keeps of a password: so that its own log never sees the password."""
    salt, rounds = b"0123456789abcdef", 4096
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt, stored, server = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"SCRAM-SHA-256${rounds}:{salt}${stored}:{server}"


def canaries_of_key(path):
    """Parts of a key that its certificate does not have: the private number as PEM has it, and as hexadecimal digits."""
    body = re.search(r"-----BEGIN [A-Z ]+-----\n(.*?)-----END", path.read_text(encoding="utf-8"), re.S).group(1).split()
    text = run("openssl", "pkey", "-in", path, "-noout", "-text").stdout
    digits = "".join(re.search(r"priv:\n((?: +[0-9a-f:]+\n)+)", text).group(1).split())
    return [body[0][50:64], body[1][:20], digits[9:39], digits.replace(":", "")[6:26]]


def descendants(pid):
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
        except OSError:
            continue  # it has ended
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


class Site:
    """A PostgreSQL that asks for passwords and logs all it can, a CA, and certificates."""

    def __init__(self, source):
        self.source = source
        self.place = Place()
        self.directory = self.place.directory
        self.database = Server(self.place, "database")
        self.database.initialize()
        self.database.write("postgresql.auto.conf", "log_statement = 'all'\nlog_connections = on\nlog_min_messages = debug1\n", "a")
        self.database.start()
        self.database.sql(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{verifier(PASSWORD)}'")
        self.database.sql(f"CREATE DATABASE berth OWNER {ROLE}")
        self.passwords = self.secret("pgpass", f"*:*:*:{ROLE}:{PASSWORD.replace(':', chr(92) + ':')}\n")
        self.client_key = self.directory / "client.key"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj",
            f"/CN={ROLE}", "-passout", f"pass:{KEY_PASSWORD}", "-keyout", self.client_key, "-out", self.directory / "client.crt")
        self.client_key.chmod(0o600)
        self.canaries = {"the password": [WORD], "the password of a key": [KEY_WORD], "a wrong password": [WRONG]}

    def close(self):
        self.database.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def secret(self, name, text):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return path

    def certificate(self, role, name):
        """The settings that give a program this certificate. Its key is a canary from now on."""
        authority = self.directory / "ca"
        run(self.source / "deploy/certificates/issue", authority, DOMAIN, role, name)
        stem = authority / f"{role}-{name}"
        for key in (f"{stem}.key", authority / "ca.key"):
            self.canaries[f"the key {pathlib.Path(key).name}"] = canaries_of_key(pathlib.Path(key))
        return {"tls-certificate": f"{stem}.crt", "tls-key": f"{stem}.key", "tls-ca": f"{authority}/ca.crt", "trust-domain": DOMAIN}

    def url(self, password=None, **settings):
        who = ROLE if password is None else f"{ROLE}:{quoted(password)}"
        settings = {"sslmode": "verify-full", "sslrootcert": self.place.certificate, **settings}
        listed = "&".join(f"{name}={quoted(str(value))}" for name, value in settings.items())
        return f"postgresql://{who}@localhost:{self.database.port}/berth?{listed}"

    def client_certificate(self, password=KEY_PASSWORD):
        return {"sslcert": self.directory / "client.crt", "sslkey": self.client_key, "sslpassword": password}


class Way:
    """How placement gets the password of its database."""

    def __init__(self, flags=(), variables=None, settings=""):
        self.flags, self.variables, self.settings = list(flags), dict(variables or {}), settings


class Running:
    """A program that runs, with all that it says in one file."""

    def __init__(self, site, program, way, *flags):
        self.directory = site.directory / f"run-{len(list(site.directory.glob('run-*')))}"
        self.directory.mkdir()
        self.log, self.address, self.metrics_port = self.directory / "log", self.directory / "address", free_port()
        words = [program, *way.flags, "--listen=127.0.0.1:0", f"--address-file={self.address}",
                 f"--metrics-listen=127.0.0.1:{self.metrics_port}", f"--state-dir={self.directory}/state", "--log-level=debug", *flags]
        if way.settings:
            words.append(f"--config={site.secret(self.directory.name + '.toml', way.settings)}")
        self.words, self.environment = words, {"PATH": os.environ["PATH"], "HOME": str(self.directory), **way.variables}
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def serves(self):
        return self.address.exists() and self.address.read_text(encoding="utf-8").strip()

    def ended(self):
        return self.process.poll() is not None

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self):
        if not self.ended():
            self.process.terminate()
            self.process.wait(timeout=ENDED_SECONDS_MAX)
