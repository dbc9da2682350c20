#!/usr/bin/python3
"""Real services with certificates: their health checks, whom they take a caller for, and what they refuse at the start.

usage: certificates_run_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from service_process import DOMAIN, ISSUE, START_SECONDS_MAX, authority, certificate, scratch, variables  # noqa: E402

BERTH, PLACEMENT, TRACKER, HOST = sys.argv[1:5]
NOBODY = 65534
PATH = {"PATH": os.environ["PATH"]}


def toml(settings):
    """A settings file. A JSON text or array of texts is one of TOML, too."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def berth(*words, **environment):
    done = subprocess.run([BERTH, *words], env={**PATH, "HOME": "/nowhere", **environment}, capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


class Served:
    """A service that has all settings from a file."""

    def __init__(self, program, settings, tables=""):
        self.directory = scratch()
        self.file = self.directory / "settings.toml"
        self.socket = f"unix:{self.directory}/socket"
        self.log = self.directory / "log"
        self.file.write_text(toml({"listen": [self.socket, "127.0.0.1:0"], "metrics-listen": "", "log_format": "text",
                                   "state_dir": f"{self.directory}/state", **settings}) + tables, encoding="utf-8")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([program, f"--config={self.file}"], env=PATH, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        shutil.rmtree(self.directory, ignore_errors=True)


class Certificates(unittest.TestCase):
    def serve(self, program, settings, tables=""):
        """A service that answers its health check."""
        service = Served(program, settings, tables)
        self.addCleanup(service.stop)
        health = ("health", "--server-settings", str(service.file))
        self.wait("the health check of " + program, lambda: service.process.poll() is not None or berth(*health)[0] == 0)
        self.assertEqual(berth(*health), (0, f"server at {service.socket}: SERVING\n"), service.log.read_text(encoding="utf-8"))
        return service

    def wait(self, what, holds):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not holds():
            self.assertLess(time.monotonic(), deadline, f"waited for {what}")
            time.sleep(0.05)

    def check_health(self, service):
        code, said = berth("health", "-e", service.socket)
        self.assertEqual(code, 7, said)  # no certificate
        other = service.directory / "other.toml"
        self.assertEqual(berth("health", "--server-settings", str(other), BERTH_CONFIG=str(service.file))[0], 0)
        # The address of the server comes before the one that a user calls by default, and after the flag.
        asked = ("health", "--server-settings", str(service.file))
        self.assertEqual(berth(*asked, BERTH_ENDPOINT="127.0.0.1:1")[0], 0)
        self.assertEqual(berth(*asked, "--endpoint", "127.0.0.1:1")[0], 7)
        self.assertEqual(berth(*asked, BERTH_LISTEN="127.0.0.1:1")[0], 7)
        self.assertEqual(berth(*asked, BERTH_TLS_KEY="")[0], 2)
        other.write_text("listen = [\n", encoding="utf-8")
        code, said = berth("health", "--server-settings", str(other))
        self.assertEqual(code, 2)
        self.assertIn(str(other), said)

    def test_a_health_check_uses_the_servers_own_settings(self):
        own = certificate("placement", "one")
        placement = self.serve(PLACEMENT, own)
        self.check_health(placement)
        # As in a container whose settings are variables.
        self.assertEqual(berth("health", "--server-settings", "/nowhere", BERTH_LISTEN=placement.socket, **variables(own))[0], 0)
        tracker = self.serve(TRACKER, {**certificate("tracker", "h1"), "host": "h1", "placement": placement.socket},
                             f"[[hypervisor]]\nname = 'n1'\nuri = 'test://{HOST}'\n")
        self.check_health(tracker)
        for role, name in (("placement", "one"), ("tracker", "h1")):  # either may ask the other
            for service in (placement, tracker):
                self.assertEqual(berth("health", "-e", service.socket, **variables(certificate(role, name)))[0], 0)

    def test_a_role_comes_from_the_uri_alone(self):
        placement = self.serve(PLACEMENT, certificate("placement", "one"))
        subprocess.run([ISSUE, authority(), DOMAIN, "reader", "eve", "admin", "admin.berth.test", "127.0.0.1"], check=True,
                       stdout=subprocess.DEVNULL)
        files = {name: value.replace("admin-test", "reader-eve") for name, value in certificate("admin", "test").items()}
        reader = {"BERTH_ENDPOINT": placement.socket, **variables(files)}
        self.assertEqual(berth("auth", "whoami", "-o", "name", **reader), (0, "reader/eve\n"))
        self.assertEqual(berth("provider", "create", "p", **reader)[0], 6)
        self.assertEqual(berth("provider", "list", **reader)[0], 0)

    def test_bad_files_change_nothing_while_a_service_runs(self):
        files = {name: value.replace("placement-one", "placement-two") for name, value in certificate("placement", "one").items()}
        subprocess.run([ISSUE, authority(), DOMAIN, "placement", "two"], check=True, stdout=subprocess.DEVNULL)
        own_ca = scratch() / "ca.crt"
        self.addCleanup(shutil.rmtree, own_ca.parent)
        ca = pathlib.Path(files["tls-ca"]).read_text(encoding="utf-8")
        own_ca.write_text(ca, encoding="utf-8")
        placement = self.serve(PLACEMENT, {**files, "tls-ca": str(own_ca)})
        own_ca.write_text(ca + "torn\n", encoding="utf-8")
        placement.process.send_signal(signal.SIGHUP)
        at_fault = f"{own_ca}:{len(ca.splitlines()) + 1}: "
        said = "new certificates are not used, the old ones stay in use: the CA file " + at_fault
        self.wait("the warning", lambda: said in placement.log.read_text(encoding="utf-8"))
        self.assertEqual(berth("health", "-e", placement.socket, **variables(certificate("admin", "test")))[0], 0)


class Starts(unittest.TestCase):
    """What services say when they cannot start. They run as the user nobody if the test may choose."""

    def setUp(self):
        self.directory = scratch()
        self.addCleanup(shutil.rmtree, self.directory)
        self.files = dict(certificate("tracker", "h1"))
        for name in ("tls-certificate", "tls-key", "tls-ca"):  # the directory of the CA is for its owner alone
            self.files[name] = shutil.copy(self.files[name], self.directory)
            os.chmod(self.files[name], 0o644)
        (self.directory / "home").mkdir()

    def refusal(self, program, *words, user=None):
        """What the program says when it ends by itself, with an error."""
        own = self.directory / pathlib.Path(program).name  # the build may be out of reach of nobody
        if not own.exists():
            shutil.copy(program, own)
        who = {}
        if user is not None and os.geteuid() == 0:
            os.chown(self.directory / "home", user, user)
            who = {"user": user, "group": user, "extra_groups": []}
        environment = {**PATH, "HOME": str(self.directory / "home"), "XDG_RUNTIME_DIR": str(self.directory / "home")}
        done = subprocess.run([own, "--metrics-listen=", f"--state-dir={self.directory}/home/state", *words], env=environment,
                              capture_output=True, text=True, timeout=60, check=False, **who)
        self.assertIn(done.returncode, (1, 2), done.stdout + done.stderr)
        return done.stdout + done.stderr

    def flags(self, **other):
        return [f"--{name}={value}" for name, value in {**self.files, **other}.items()]

    def test_a_key_that_may_not_be_read(self):
        key = self.files["tls-key"]
        os.chmod(key, 0o600 if os.geteuid() == 0 else 0)
        wanted = f"the key {key}: cannot be read: Permission denied; the file must exist, and the user of this process must be"
        for program in (PLACEMENT, TRACKER):
            for more in ((), ("--check-config",)):
                words = self.flags() + ["--host=h1"] * (program == TRACKER) + list(more)
                self.assertIn(wanted, self.refusal(program, *words, user=NOBODY))

    def test_a_port_without_the_right_to_it(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="utf-8") as first:
            if int(first.read()) <= 1:
                return  # everybody has the right
        said = self.refusal(TRACKER, "--placement=127.0.0.1:1", f"--hypervisor=n1=test://{HOST}", "--listen=127.0.0.1:1", user=NOBODY)
        self.assertIn("cannot listen on 127.0.0.1:1: this user has no right to listen on port 1; choose a port from 1024 up", said)
        self.assertNotIn("taken", said)

    def test_certificates_of_somebody_else(self):
        other = dict(self.files, **{"trust-domain": "other.test"})
        for program, files, wanted in (
                (PLACEMENT, self.files, "is that of spiffe://berth.test/tracker/h1, but must be that of spiffe://berth.test/placement/NAME"),
                (TRACKER, other, "is that of spiffe://berth.test/tracker/h1, but must be that of spiffe://other.test/tracker/h1")):
            words = [f"--{name}={value}" for name, value in files.items()] + ["--host=h1"] * (program == TRACKER)
            for more in ([], ["--check-config"]):
                said = self.refusal(program, *words, *more)
                self.assertIn(f"the certificate {self.files['tls-certificate']}: {wanted}", said)
        said = self.refusal(TRACKER, *self.flags(), "--host=h2", "--check-config")
        self.assertIn("must be that of spiffe://berth.test/tracker/h2", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
