#!/usr/bin/python3
"""`berth auth` against a real placement and a real tracker that have no certificates.

usage: auth_run_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import hashlib
import json
import pathlib
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import PLACEMENT, BerthCase, Process  # noqa: E402


class Auth(BerthCase):
    def test_without_certificates_everybody_may_do_everything(self):
        self.assertIn("anonymous", self.berth("auth", "whoami"))
        self.assertEqual(self.berth("auth", "whoami", "-o", "name"), "anonymous\n")
        self.assertFalse(self.json("auth", "whoami").get("identified", False))
        self.assertTrue(self.berth("auth", "can-i", "StartEpoch").startswith("yes: anonymous may call"))
        method = self.json("auth", "can-i", "FleetService/DeleteNode")["methods"][0]
        self.assertEqual(method["method"], "berth.placement.v1.FleetService/DeleteNode")
        self.assertTrue(method["permitted"])
        self.assertEqual(method["roles"], ["ROLE_OPERATOR", "ROLE_ADMIN"])

    def test_a_method_has_to_be_named_exactly(self):
        for name in ("NoSuchMethod", "ListNodes"):
            self.berth("auth", "can-i", name, "-o", "json", code=2)
            self.assertEqual(json.loads(self.talk)["reason"], "INVALID_FIELD")

    def test_shows_what_the_access_file_says(self):
        self.assertIn("nothing is limited", self.berth("auth", "show"))
        self.assertEqual(self.json("auth", "show")["file"], "")
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "access.toml"
            file.write_text('denied = ["reader/ann"]\n[scheduler.nova]\nprojects = ["p1", "p2"]\n'
                            "[rates]\nscheduler = {calls_per_second = 2.5, burst = 10}\n"
                            '[withheld]\ntraits = ["CUSTOM_B", "CUSTOM_A"]\nresource_classes = ["CUSTOM_GOLD"]\n'
                            '[ceilings]\n"tracker/h1" = {VCPU = 64, MEMORY_MB = 9}\ntracker = {VCPU = 512}\n'
                            "[daily]\ntracker = {facts_mib = 256, services = 0}\n", encoding="utf-8")
            limited = Process(PLACEMENT, f"--access-file={file}")
            self.addCleanup(limited.stop)
            show = ("auth", "show", "-e", limited.endpoint)
            lines = [line.split() for line in self.berth(*show).splitlines()]
            self.assertEqual(lines, [["IDENTITY", "RULE", "DETAIL"], ["reader/ann", "denied"],
                                     ["scheduler/nova", "projects", "p1,", "p2"],
                                     ["scheduler", "rate", "2.5", "a", "second,", "10", "at", "once"],
                                     ["tracker", "withheld", "traits", "CUSTOM_A,", "CUSTOM_B"],
                                     ["tracker", "withheld", "classes", "CUSTOM_GOLD"],
                                     ["tracker", "ceilings", "VCPU", "512"],
                                     ["tracker/h1", "ceilings", "MEMORY_MB", "9,", "VCPU", "64"],
                                     ["tracker", "daily", "facts_mib", "256,", "services", "0"]])
            self.assertIn(f"{file} is in force since ", self.talk)
            told = self.json(*show)
            self.assertEqual(told["digest"], hashlib.sha256(file.read_bytes()).hexdigest())
            self.assertEqual(told["schedulers"], [{"identity": "scheduler/nova", "projects": ["p1", "p2"]}])
            self.assertEqual(told["daily"], [{"identity": "tracker", "factsMib": "256", "services": "0"}])
            self.assertEqual(self.berth(*show, "-o", "name"), told["digest"] + "\n")
            # A fault is told beside what stays in force.
            file.write_text("denied = [", encoding="utf-8")
            limited.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 30
            while not self.json(*show)["fault"] and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertIn(f"{file}:", self.json(*show)["fault"])
            self.assertIn("reader/ann", self.berth(*show))
            self.assertIn("the newest text is not in force", self.talk)

    def test_completion_knows_the_commands(self):
        self.assertIn('"auth") words="whoami can-i', self.berth("completion", "bash"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
