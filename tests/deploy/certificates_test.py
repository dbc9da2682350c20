#!/usr/bin/python3
"""deploy/certificates/issue: the CA, certificates with a URI, DNS names and addresses, and what it refuses.

usage: certificates_test.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ISSUE = pathlib.Path(sys.argv[1]) / "deploy/certificates/issue"
DOMAIN = "berth.example.org"
URI = f"spiffe://{DOMAIN}/placement/one"
BAD_NAMES = ("10.0.0.300", "10.0.0", "1.2.3.4.5", "01.2.3.4", "::1::2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::1",
             "fe80::1%eth0", ":1", "1:", "a..b", "-a.b", "a_b", "a b", "", "*.example.org", f"spiffe://{DOMAIN}/admin/x",
             f"x,URI:spiffe://{DOMAIN}/admin/x", "x\nURI:y", "a" * 64, "a." * 127 + "a")


def openssl(*words):
    return subprocess.run(["openssl", *words], capture_output=True, text=True, timeout=60, check=True).stdout


class Certificates(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.ca = self.directory / "ca"

    def issue(self, *words, code=0, **environment):
        """What the script says."""
        done = subprocess.run([ISSUE, self.ca, *words], capture_output=True, text=True, timeout=60, check=False,
                              env={"PATH": "/usr/bin:/bin", **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def text(self, name, *words):
        return openssl("x509", "-in", str(self.ca / name), "-noout", *words)

    def alternatives(self, name):
        """The subject alternative names of a certificate."""
        return sorted(self.text(name, "-ext", "subjectAltName").splitlines()[1].strip().split(", "))

    def check_verified(self, name, purpose, *words):
        said = openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", str(self.ca / "ca.crt"), *words, str(self.ca / name))
        self.assertIn(": OK", said)

    def test_a_ca_is_made_at_the_first_use_and_stays(self):
        self.assertIn("Made a CA", self.issue(DOMAIN, "placement", "one"))
        first = (self.ca / "ca.crt").read_bytes()
        self.assertNotIn("Made a CA", self.issue(DOMAIN, "admin", "alice"))
        self.assertEqual((self.ca / "ca.crt").read_bytes(), first)
        self.assertIn("CA:TRUE", self.text("ca.crt", "-ext", "basicConstraints"))
        self.assertIn("Certificate Sign", self.text("ca.crt", "-ext", "keyUsage"))
        modes = {path.name: path.stat().st_mode & 0o777 for path in self.ca.iterdir() if path.name != ".lock"}
        self.assertEqual(modes, {"ca.crt": 0o644, "ca.key": 0o600, "placement-one.crt": 0o644, "placement-one.key": 0o600,
                                 "admin-alice.crt": 0o644, "admin-alice.key": 0o600})
        self.assertEqual(self.ca.stat().st_mode & 0o777, 0o700)

    def test_names_and_addresses_stand_beside_the_uri(self):
        self.issue(DOMAIN, "placement", "one", DOMAIN, "localhost", "127.0.0.1", "2001:db8::7", "1:2:3:4:5:6:7::")
        self.assertEqual(self.alternatives("placement-one.crt"),
                         sorted([f"URI:{URI}", f"DNS:{DOMAIN}", "DNS:localhost", "IP Address:127.0.0.1",
                                 "IP Address:2001:DB8:0:0:0:0:0:7", "IP Address:1:2:3:4:5:6:7:0"]))
        for purpose in ("sslserver", "sslclient"):
            self.check_verified("placement-one.crt", purpose)
        self.check_verified("placement-one.crt", "sslserver", "-verify_hostname", DOMAIN)
        self.check_verified("placement-one.crt", "sslserver", "-verify_ip", "2001:db8::7")
        with self.assertRaises(subprocess.CalledProcessError):
            self.check_verified("placement-one.crt", "sslserver", "-verify_hostname", "other.example.org")
        self.issue(DOMAIN, "tracker", "h" * 80)
        self.assertEqual(self.alternatives(f"tracker-{'h' * 80}.crt"), [f"URI:spiffe://{DOMAIN}/tracker/{'h' * 80}"])

    def test_issued_again_a_certificate_has_a_new_key(self):
        self.issue(DOMAIN, "placement", "one", "localhost")
        before = [(self.ca / f"placement-one.{kind}").read_bytes() for kind in ("key", "crt")]
        self.issue(DOMAIN, "placement", "one", BERTH_DAYS="10")
        after = [(self.ca / f"placement-one.{kind}").read_bytes() for kind in ("key", "crt")]
        self.assertNotEqual(before[0], after[0])
        self.assertNotEqual(before[1], after[1])
        self.assertEqual(self.text("placement-one.crt", "-pubkey"), openssl("pkey", "-in", str(self.ca / "placement-one.key"), "-pubout"))
        self.assertEqual(self.alternatives("placement-one.crt"), [f"URI:{URI}"])
        self.assertIn("will expire", self.text_of_end(11))
        self.assertIn("will not expire", self.text_of_end(9))

    def text_of_end(self, days):
        done = subprocess.run(["openssl", "x509", "-in", self.ca / "placement-one.crt", "-noout", "-checkend", str(days * 86_400)],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout

    def test_what_is_wrong_is_refused_in_words_and_leaves_nothing(self):
        wrong = [(DOMAIN, "placement", "one", name) for name in BAD_NAMES]
        wrong += [(DOMAIN, "placement", "one", "good.example.org", "bad_example"), ("Not A Domain", "placement", "one"),
                  (DOMAIN, "Placement", "one"), (DOMAIN, "placement", "a/b"), (DOMAIN, "placement", "..")]
        for words in wrong:
            self.assertIn("issue: ", self.issue(*words, code=2))
            self.assertFalse(self.ca.exists(), words)
        for days in ("0", "soon", "-1", "1.5", "100000"):
            self.assertIn("BERTH_DAYS", self.issue(DOMAIN, "placement", "one", code=2, BERTH_DAYS=days))
        self.assertIn("usage: ", self.issue(DOMAIN, "placement", code=2))
        self.assertFalse(self.ca.exists())
        self.issue(DOMAIN, "placement", "one", "good.example.org")
        before = {path.name: path.read_bytes() for path in self.ca.iterdir()}
        self.issue(DOMAIN, "placement", "one", "10.0.0.300", code=2)
        self.assertEqual({path.name: path.read_bytes() for path in self.ca.iterdir()}, before)

    def test_a_ca_without_its_certificate_is_not_replaced(self):
        self.issue(DOMAIN, "placement", "one")
        (self.ca / "ca.crt").unlink()
        key = (self.ca / "ca.key").read_bytes()
        self.assertIn("has ca.key, but not ca.crt", self.issue(DOMAIN, "admin", "alice", code=2))
        self.assertEqual((self.ca / "ca.key").read_bytes(), key)

    def test_who_comes_while_a_ca_is_made_waits_for_its_certificate(self):
        self.issue(DOMAIN, "placement", "one")
        (self.ca / "ca.crt").rename(self.ca / ".made")
        flock = self.directory / "flock"  # while it waits, the first use moves its certificate into place
        flock.write_text('#!/bin/sh\nmv .made ca.crt\nexec /usr/bin/flock "$@"\n')
        flock.chmod(0o755)
        self.issue(DOMAIN, "admin", "alice", PATH=f"{self.directory}:/usr/bin:/bin")
        self.check_verified("admin-alice.crt", "sslclient")

    def test_two_first_uses_at_a_time_make_one_ca(self):
        for attempt in range(3):
            self.ca = self.directory / f"ca-{attempt}"
            names = [f"host-{number}" for number in range(4)]
            running = [subprocess.Popen([ISSUE, self.ca, DOMAIN, "tracker", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True) for name in names]
            said = [process.communicate(timeout=60)[0] for process in running]
            self.assertEqual([process.returncode for process in running], [0] * len(names), said)
            self.assertEqual(len(re.findall("Made a CA", "".join(said))), 1)
            for name in names:
                self.check_verified(f"tracker-{name}.crt", "sslserver")
            kept = {".lock", "ca.crt", "ca.key"} | {f"tracker-{name}.{kind}" for name in names for kind in ("crt", "key")}
            self.assertEqual({path.name for path in self.ca.iterdir()}, kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
