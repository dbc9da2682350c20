"""PostgreSQL servers with TLS and a password file, for tests of placement on a database over the network."""

import getpass
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from ports import free_port

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
WAIT_SECONDS_MAX = 60
PASSWORDS = {"berth_owner": "own-7f", "berth_app": "app-9c", "berth_reader": "read-2b", "replicator": "repl-4d"}


def server_user():
    """The user that PostgreSQL runs as: it refuses root."""
    if os.geteuid() != 0:
        return getpass.getuser()
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def wait_for(what, check, seconds=WAIT_SECONDS_MAX):
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


def run(*words, user=None, check=True, **more):
    words = [str(word) for word in words]
    # libpq looks for certificates below HOME, which another user may not read.
    environment = dict(os.environ, HOME="/nonexistent") if user else None
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, user=user, cwd="/tmp",
                          env=environment, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done


class Server:
    """A PostgreSQL with TLS. Its superuser comes by the unix socket only."""

    def __init__(self, place, name):
        self.place, self.name, self.port, self.process = place, name, free_port(), None
        self.data = place.directory / name

    def initialize(self):
        run(BIN / "initdb", "--username=admin", "--auth=peer", "--no-sync", "--locale=C", f"--pgdata={self.data}",
            user=self.place.user)
        self.configure()
        hba = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
        hba += "hostssl replication replicator 127.0.0.1/32 scram-sha-256\n"
        self.write("pg_hba.conf", hba)

    def write(self, file, text, mode="w"):
        with open(self.data / file, mode, encoding="utf-8") as out:
            out.write(text)

    def configure(self, synchronous=""):
        self.write("postgresql.auto.conf", "", "a")
        settings = {"port": self.port, "listen_addresses": "localhost", "unix_socket_directories": self.place.directory,
                    "ssl": "on", "ssl_cert_file": self.place.certificate, "ssl_key_file": self.place.key,
                    "synchronous_standby_names": synchronous, "shared_buffers": "16MB", "fsync": "off"}
        self.write("postgresql.auto.conf", "".join(f"{key} = '{value}'\n" for key, value in settings.items()), "a")

    def start(self):
        log = open(self.place.directory / f"{self.name}.log", "a", encoding="utf-8")
        self.process = subprocess.Popen([str(BIN / "postgres"), "-D", str(self.data)], stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, user=self.place.user, cwd="/tmp",
                                        env=dict(os.environ, HOME="/nonexistent"))
        log.close()
        wait_for(f"the start of {self.name}", lambda: self.sql("SELECT 1", check=False).returncode == 0)

    def sql(self, text, database="postgres", **more):
        return run(BIN / "psql", f"--host={self.place.directory}", f"--port={self.port}", "--username=admin",
                   f"--dbname={database}", "-XAtc", text, **more)

    def processes(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return [self.process.pid] + [int(child) for child in children.split()]

    def signal(self, what):
        for pid in self.processes():
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                pass

    def walreceiver(self):
        for pid in self.processes():
            if b"walreceiver" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait(timeout=60)

    def promote(self):
        """What deploy/database/README.md says."""
        self.write("postgresql.auto.conf", "synchronous_standby_names = ''\n", "a")
        self.sql("SELECT pg_reload_conf()")
        self.sql("SELECT pg_promote()")


class Place:
    """The directory of one test, with the certificate of `localhost` and the password file."""

    def __init__(self):
        self.user = server_user()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
        self.certificate, self.key = self.directory / "server.pem", self.directory / "server.key"
        self.passwords = self.directory / "passwords"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.key, "-out",
            self.certificate)
        self.key.chmod(0o600)
        self.passwords.write_text("".join(f"*:*:*:{user}:{word}\n" for user, word in PASSWORDS.items()), encoding="utf-8")
        self.passwords.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(self.directory, self.user)
            shutil.chown(self.key, self.user)
        self.directory.chmod(0o755)

    def url(self, role, *servers, host="localhost"):
        hosts = ",".join(f"{host}:{server.port}" for server in servers)
        return (f"postgresql://{role}@{hosts}/berth?sslmode=verify-full&sslrootcert={self.certificate}"
                f"&passfile={self.passwords}&target_session_attrs=read-write")
