#!/usr/bin/python3
"""`berth host`, `berth audit`, and what operators do with services and nodes, against a real placement.

usage: fleet_run_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import FIRST, SECOND, BerthCase  # noqa: E402


class Fleet(BerthCase):
    def reason(self, *words, code):
        """The reason of the failure that `berth WORDS` reports."""
        self.berth(*words, "-o", "json", code=code)
        return json.loads(self.talk)["reason"]

    def test_an_empty_fleet_has_no_hosts(self):
        self.assertEqual(self.berth("host", "list", "-o", "name"), "")
        self.assertIn("0 of enabled services", self.berth("node", "statistics"))
        self.assertEqual(self.json("node", "statistics")["count"], "0")

    def test_unknown_names_are_refused(self):
        self.assertEqual(self.reason("host", "describe", "gone", code=3), "HOST_NOT_FOUND")
        self.assertEqual(self.reason("host", "describe", "gone", "--node", "gone", code=3), "NODE_NOT_FOUND")
        self.assertEqual(self.reason("host", "update", "gone", "--status", "disable", code=3), "HOST_NOT_FOUND")
        self.assertEqual(self.reason("host", "release-evacuated", "gone", code=3), "HOST_NOT_FOUND")
        self.assertEqual(self.reason("service", "force-down", "gone", code=3), "SERVICE_NOT_FOUND")
        self.assertEqual(self.reason("service", "delete", "gone", code=3), "SERVICE_NOT_FOUND")
        self.assertEqual(self.reason("node", "adopt", "gone", "--from", "a", "--to", "b", code=3), "NODE_NOT_FOUND")

    def test_wrong_words_are_named(self):
        self.berth("host", "update", "gone", "--status", "reboot", code=2)
        self.assertIn("reboot", self.talk)
        self.berth("host", "update", "gone", code=2)
        self.berth("host", "update", "gone", "--status", "enable", "--maintenance", "on", code=2)
        self.berth("host", "update", "gone", "--maintenance", "soon", code=2)
        self.berth("node", "create", "gone", code=2)
        self.berth("node", "adopt", "gone", code=2)
        self.berth("audit", "--no-such-flag", code=127)  # T-345
        self.berth("audit", "--fault", "wrong", code=127)  # T-345
        self.assertIn("wrong-amount", self.talk)
        self.berth("audit", "--fix", "missing,wrong", code=127)  # T-345
        self.berth("audit", "--migrations", "--age", "soon", code=127)

    def test_a_node_is_recorded_before_its_tracker_comes(self):
        uuid = "00000000-0000-4000-8000-00000000c0de"
        self.assertEqual(self.json("node", "create", "early", "--uuid", uuid)["node"]["host"], "early")
        self.assertIn("early", self.berth("node", "list"))
        self.assertEqual(self.reason("node", "create", "early", "--uuid", uuid, code=4), "DUPLICATE_NODE")
        self.berth("node", "delete", "early")

    def test_the_audit_finds_and_repairs(self):
        self.berth("audit")  # T-345: nothing is wrong
        self.berth("provider", "create", "audited")
        self.berth("inventory", "set", "audited", "VCPU=8")
        self.berth("instance", "create", "--uuid", FIRST, "--project", "p", "--user", "u", "--vcpus", "2")
        self.berth("claim", "--provider", "audited", "-r", "VCPU=3", "--consumer", FIRST)
        self.berth("audit")  # it is on no host yet
        self.berth("instance", "set", FIRST, "--state", "deleted", "--reason", "a test")
        found = self.json("audit", code=3)["findings"]  # T-345
        self.assertEqual([(one["consumerUuid"], one["fault"]) for one in found],
                         [(FIRST, "ALLOCATION_FAULT_SUPERFLUOUS")])
        self.assertEqual(self.berth("audit", "-o", "name", code=3), FIRST + "\n")
        self.berth("audit", "--fault", "missing")
        self.berth("audit", "--fix", "missing", code=3)  # T-345: this fault was not asked for
        self.assertIn("done", self.berth("audit", "--fix", "all", code=4))  # T-345
        self.berth("audit")  # T-345: idempotent
        self.berth("allocations", FIRST, code=3)

    def test_what_a_deleted_instance_leaves_is_released(self):
        self.berth("provider", "create", "left")
        self.berth("inventory", "set", "left", "VCPU=8")
        for release in (), ("--release",):
            instance = self.json("instance", "create", "--project", "p", "--user", "u", "--vcpus", "2")["instance"]["uuid"]
            self.berth("claim", "--provider", "left", "-r", "VCPU=2", "--consumer", instance)
            self.assertEqual(self.berth("instance", "delete", instance, *release), f"deleted {instance}\n")
            if not release:
                self.assertEqual(self.json("allocations", instance)["consumer"]["consumerType"], "DELETED_INSTANCE")
                self.assertEqual(self.berth("audit", "-o", "name", code=3), instance + "\n")  # T-346
                self.assertIn("done", self.berth("audit", "--fix", "superfluous", code=4))  # T-143
            self.berth("allocations", instance, code=3)
            self.berth("audit")

    def test_moves_that_do_not_go_on_are_listed(self):
        self.berth("instance", "create", "--uuid", SECOND, "--project", "p", "--user", "u", "--host", "h1")
        self.berth("audit", "--migrations")
        uuid = self.json("migration", "create", SECOND, "--type", "live", "--from", "h1")["migration"]["uuid"]
        self.berth("audit", "--migrations")  # T-132: not for a day
        self.assertEqual(self.berth("audit", "--migrations", "--age", "0s", "-o", "name", code=3), uuid + "\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
