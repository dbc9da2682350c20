#!/usr/bin/python3
"""`berth auth` against a real placement and a real tracker that have no certificates.

usage: auth_run_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import BerthCase  # noqa: E402


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

    def test_completion_knows_the_commands(self):
        self.assertIn('"auth") words="whoami can-i', self.berth("completion", "bash"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
