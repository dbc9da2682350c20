#!/usr/bin/python3
"""`berth instance`, `berth migration`, `berth aggregate`, `berth node devices` and `berth node cells` against a real placement.

usage: records_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]
"""

import json
import pathlib
import subprocess
import sys
import time
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import BERTH, FIRST, HOST, SECOND, START_SECONDS_MAX, TRACKER, BerthCase, Process  # noqa: E402


class Records(BerthCase):
    def instance(self, *words):
        """A new instance on a host of its own, with these options instead of the usual ones."""
        options = {"--name": "web", "--project": "p", "--user": "u", "--vcpus": "4", "--memory": "8Gi",
                   "--root-disk": "20Gi", "--host": f"host-{uuid.uuid4()}"} | dict(zip(words[::2], words[1::2]))
        return self.json("instance", "create", *(word for option in options.items() for word in option))["instance"]

    def migration(self, instance, *words):
        return self.json("migration", "create", instance["uuid"], "--type", "live", *words)["migration"]

    def error(self, *words, code, text=None):
        """The failure that `berth WORDS` reports."""
        self.berth(*words, "-o", "json", code=code, text=text)
        return json.loads(self.talk)

    def fields(self, *words, text=None):
        """The fields at fault."""
        failure = self.error(*words, code=2, text=text)
        return [item["field"] for item in failure["items"]]

    def test_an_aggregate_gets_a_name_and_metadata(self):
        self.berth("provider", "create", "racked")
        made = self.json("aggregate", "create", "rack-7", "--meta", "ssd=true", "--meta", "a=b,c=d")["aggregate"]
        self.assertEqual(made["metadata"], {"ssd": "true", "a": "b,c=d"})
        self.berth("aggregate", "create", "rack-7", code=4)
        self.assertIn("berth aggregate list --name", self.talk)
        self.berth("aggregate", "create", "rack-8", "--uuid", made["uuid"], code=4)
        for wrong in ("ssd", "=true"):
            self.berth("aggregate", "create", "rack-9", "--meta", wrong, code=2)
            self.assertIn("write KEY=VALUE", self.talk)
        self.berth("aggregate", "set", "rack-7", code=2)
        changed = self.json("aggregate", "set", "rack-7", "--meta", "ssd=", "--unset", "a", "--unset", "never",
                            "--name", "rack-1")["aggregate"]
        self.assertEqual((changed["name"], changed["metadata"]), ("rack-1", {"ssd": ""}))
        self.berth("aggregate", "set", "rack-1", "--unset", "ssd", "--generation", made["generation"], code=4)
        self.berth("aggregate", "describe", "rack-7", code=3)
        self.assertIn("there is no aggregate named 'rack-7'", self.talk)
        self.assertEqual(self.json("aggregate", "describe", made["uuid"]), self.json("aggregate", "describe", "rack-1"))
        self.assertIn("ssd=\n", self.berth("aggregate", "describe", "rack-1"))
        self.assertEqual(self.berth("aggregate", "list", "--name", "rack-1", "-o", "name"), made["uuid"] + "\n")
        self.assertIn("ssd=", self.berth("aggregate", "list"))
        self.berth("aggregate", "add", "racked", made["uuid"])
        self.assertIn("deleted", self.berth("aggregate", "delete", "rack-1"))
        self.assertEqual(self.berth("aggregate", "show", "racked"), made["uuid"] + "\n")
        self.berth("aggregate", "delete", made["uuid"], code=3)
        self.assertIn("berth aggregate create", self.talk)

    def test_a_record_is_created_shown_changed_and_deleted(self):
        made = self.instance("--uuid", FIRST, "--flavor", "small", "--swap", "512Mi")
        self.assertEqual((made["uuid"], made["vmState"]), (FIRST, "building"))
        self.assertEqual(made["flavor"] | {"extraSpecs": {}, "ephemeralDiskGib": "0"},
                         {"id": "small", "vcpus": 4, "memoryMib": "8192", "rootDiskGib": "20", "ephemeralDiskGib": "0",
                          "swapMib": "512", "extraSpecs": {}})
        page = self.berth("instance", "show", FIRST)
        for line in (f"uuid        {FIRST}", f"host        {made['host']}", "state       building", "8 GiB"):
            self.assertIn(line, page)
        again = self.error("instance", "create", "--uuid", FIRST, "--project", "p", "--user", "u", code=4)
        self.assertIn("berth instance set", again["advice"])
        self.berth("instance", "create", "--uuid", FIRST, "--project", "p", "--user", "u", code=4)
        self.assertIn(f"instance {FIRST} has a record already", self.talk)
        shown = json.dumps(self.json("instance", "show", FIRST))
        self.berth("instance", "create", "--file", "-", text=shown, code=4)
        self.assertIn("has a record already", self.talk)
        changed = self.json("instance", "set", FIRST, "--memory", "16Gi", "--name", "")["instance"]
        self.assertEqual((changed["flavor"]["memoryMib"], changed["flavor"]["vcpus"], changed["name"]), ("16384", 4, ""))
        stale = self.error("instance", "set", FIRST, "--vcpus", "8", "--generation", made["generation"], code=4)
        self.assertEqual(stale["reason"], "RECORD_CONFLICT")
        self.assertIn("read the record again", stale["advice"])
        self.berth("instance", "delete", FIRST, "--generation", made["generation"], code=4)
        self.assertEqual(self.berth("instance", "delete", FIRST, "--reason", "a test"), f"deleted {FIRST}\n")
        self.assertEqual(self.error("instance", "show", FIRST, code=3)["reason"], "INSTANCE_NOT_FOUND")
        self.berth("instance", "delete", FIRST, code=3)
        self.assertIn("berth instance list", self.talk)

    def test_a_state_is_forced_with_a_reason(self):
        made = self.instance()
        self.berth("instance", "set", made["uuid"], "--state", "error", code=2)
        self.assertIn("--reason is required: the state changes from 'building' to 'error'", self.talk)
        for blank in ("", " \t"):
            self.berth("instance", "set", made["uuid"], "--state", "error", "--reason", blank, code=2)
            self.assertIn("--reason: the text must not be blank", self.talk)
        self.assertEqual(self.fields("instance", "set", made["uuid"], "--task", "migrating"), ["--reason"])
        self.berth("instance", "set", made["uuid"], "--state", "building", "--task", "")  # changes neither
        self.berth("instance", "set", made["uuid"], "--state", "active", "--task", "migrating", "--reason", "a test")
        self.assertIn("state       active, task migrating", self.berth("instance", "show", made["uuid"]))
        self.berth("instance", "set", made["uuid"], "--state", "error", "--task", "", "--reason", "the disk is lost")
        self.assertIn("state       error\n", self.berth("instance", "show", made["uuid"]))
        self.assertEqual(self.fields("instance", "set", made["uuid"], "--task", "", "--reason", "x" * 256), ["reason"])
        self.assertIn("reason must have 0 to 255 characters", self.talk)
        self.assertEqual(self.fields("instance", "set", made["uuid"], "--task", "x", "--reason", "two\nlines"), ["reason"])
        self.assertEqual(self.fields("instance", "delete", made["uuid"], "--reason", "x" * 256), ["reason"])

    def test_a_file_forces_no_state_without_a_reason(self):
        made = self.instance()
        shown = self.json("instance", "show", made["uuid"])
        shown["instance"]["vmState"] = "error"
        words = ("instance", "set", made["uuid"], "--file", "-")
        self.berth(*words, text=json.dumps(shown), code=2)
        self.assertIn("--reason is required: the state changes from 'building' to 'error'", self.talk)
        self.assertEqual(self.json("instance", "show", made["uuid"])["instance"]["vmState"], "building")
        forced = self.json(*words, "--reason", "the disk is lost", text=json.dumps(shown))["instance"]
        self.assertEqual(forced["vmState"], "error")

    def test_a_file_without_a_generation_replaces_no_newer_record(self):
        made = self.instance()
        self.berth("instance", "set", made["uuid"], "--name", "newer")
        old = {name: value for name, value in made.items() if name != "generation"}
        words = ("instance", "set", made["uuid"], "--file", "-")
        self.berth(*words, text=json.dumps(old), code=2)
        self.assertIn("- has no generation: give --generation", self.talk)
        self.berth(*words, "--generation", made["generation"], text=json.dumps(old), code=4)
        newest = self.json("instance", "show", made["uuid"])["instance"]
        self.assertEqual(newest["name"], "newer")
        replaced = self.json(*words, "--generation", newest["generation"], text=json.dumps(old))["instance"]
        self.assertEqual(replaced["name"], "web")

    def test_instances_are_listed_by_each_filter_and_page_by_page(self):
        node = self.json("provider", "create", f"node-{uuid.uuid4()}")["provider"]
        host = self.instance("--node", node["uuid"])["host"]
        building = [self.instance("--host", host)["uuid"] for _ in range(3)]
        lost = self.instance("--host", host, "--state", "error", "--project", "other")["uuid"]
        gone = self.instance("--host", host, "--state", "deleted")["uuid"]

        def listed(*words):
            return self.berth("instance", "list", "--host", host, "-o", "name", *words).split()

        everywhere = listed()
        self.assertEqual(len(everywhere), 5)
        self.assertEqual(everywhere, sorted(everywhere))
        self.assertNotIn(gone, everywhere)
        self.assertEqual(listed("--state", "error,active"), [lost])
        self.assertEqual(listed("--state", "deleted"), [gone])
        self.assertEqual(set(listed("--state", "deleted,error")), {gone, lost})
        self.assertIn(gone, listed("--deleted"))
        self.assertEqual(listed("--project", "other"), [lost])
        self.assertEqual(len(listed("--node", node["uuid"])), 1)
        self.assertLess(set(building), set(listed("--state", "building")))
        self.assertEqual(listed("--limit", "2"), everywhere[:2])
        self.berth("instance", "list", "--host", host, "--limit", "2")
        self.assertIn("only the first 2 are shown", self.talk)
        self.assertEqual(self.error("instance", "list", "--node", "absent", code=3)["reason"], "NODE_NOT_FOUND")
        table = self.berth("instance", "list", "--host", host, "--state", "error")
        self.assertEqual(table.splitlines()[1].split()[:4], [lost, "web", host, "error"])
        table = self.berth("instance", "list", "--host", host, "--columns", "state,uuid", "--sort=-state")
        self.assertEqual(table.splitlines()[1].split(), ["error", lost])
        self.berth("instance", "list", "--columns", "absent", code=2)

    def test_hidden_instances_are_listed_only_on_request(self):
        host = f"host-{uuid.uuid4()}"
        made = [self.instance("--host", host) for _ in range(6)]
        made.sort(key=lambda one: one["uuid"])
        for one in made[:3]:
            hidden = json.dumps(one | {"hidden": True})
            self.assertTrue(self.json("instance", "set", one["uuid"], "--file", "-", text=hidden)["instance"]["hidden"])
        everybody = [one["uuid"] for one in made]

        def listed(*words):
            return self.berth("instance", "list", "--host", host, "-o", "name", *words).split()

        self.assertEqual(listed(), everybody[3:])
        self.assertEqual(listed("--limit", "2"), everybody[3:5])  # the first page of the server holds hidden ones only
        self.assertEqual(listed("--hidden"), everybody)
        self.assertEqual(listed("--hidden", "--limit", "2"), everybody[:2])
        self.assertEqual([one["uuid"] for one in self.json("instance", "list", "--host", host)["instances"]], everybody[3:])
        self.assertEqual(len(self.berth("instance", "list", "--host", host).splitlines()), 4)
        self.assertIn("hidden", self.berth("instance", "show", everybody[0]))

    def test_a_page_token_is_of_one_filter(self):
        host = f"host-{uuid.uuid4()}"
        for _ in range(2):
            self.instance("--host", host)
        wish = {"host": host, "pageSize": 1, "vmStates": ["building"]}
        page = self.json("call", "InstanceService/ListInstances", "-d", json.dumps(wish))
        wish |= {"pageToken": page["nextPageToken"]}
        self.assertEqual(len(self.json("call", "InstanceService/ListInstances", "-d", json.dumps(wish))["instances"]), 1)
        wish |= {"vmStates": ["building", "error"]}
        failure = self.error("call", "InstanceService/ListInstances", "-d", json.dumps(wish), code=2)
        self.assertEqual(failure["reason"], "PAGE_TOKEN_MISMATCH")

    def test_a_record_travels_through_a_file(self):
        made = self.instance()
        shown = self.json("instance", "show", made["uuid"])
        shown["instance"]["numaCells"] = [{"pinnedCpus": [0, 1], "memoryMib": 1024}]
        path = self.placement.directory / "record.json"
        path.write_text(json.dumps(shown), encoding="utf-8")
        changed = self.json("instance", "set", made["uuid"], "--file", str(path), "--vcpus", "2")["instance"]
        self.assertEqual((changed["numaCells"][0]["pinnedCpus"], changed["flavor"]["vcpus"]), ([0, 1], 2))
        self.assertIn("0-1", self.berth("instance", "show", made["uuid"]))
        # The file holds the generation at which it was read.
        self.assertEqual(self.error("instance", "set", made["uuid"], "--file", str(path), code=4)["reason"],
                         "RECORD_CONFLICT")
        self.berth("instance", "set", FIRST, "--file", str(path), code=2)
        self.assertIn(f"is the record of {made['uuid']}, not of {FIRST}", self.talk)
        copy = shown["instance"] | {"uuid": str(uuid.uuid4())}
        created = self.json("instance", "create", "--file", "-", text=json.dumps(copy))["instance"]
        self.assertEqual(created["numaCells"], changed["numaCells"])
        # The message is about the form that the file has.
        for text in ({"noSuchField": 1}, {"revision": shown["revision"], "instance": {"noSuchField": 1}}):
            self.assertEqual(self.fields("instance", "create", "--file", "-", text=json.dumps(text)), ["--file"])
            self.assertIn("noSuchField", self.talk)
        self.berth("instance", "create", "--file", "-", code=2, text="no JSON")
        self.berth("instance", "create", "--file", str(path) + ".absent", code=3)

    def test_wrong_values_name_their_fields(self):
        known = self.instance()["uuid"]
        self.assertEqual(self.fields("instance", "create"), ["instance.project_id", "instance.user_id"])
        self.assertEqual(self.fields("instance", "show", "x"), ["instance_uuid"])
        self.assertEqual(self.fields("instance", "create", "--uuid", "x"), ["instance.uuid"])
        self.assertEqual(self.fields("instance", "set", known, "--host", "", "--node", FIRST), ["instance.node_uuid"])
        self.assertEqual(self.fields("instance", "set", known, "--host", "x" * 256, "--memory=-1"),
                         ["instance.host", "instance.flavor.memory_mib"])
        self.assertEqual(self.fields("migration", "list", "--instance", "x"), ["instance_uuid"])
        for option, value in (("--memory", "8Q"), ("--vcpus", "2.5"), ("--vcpus", "3000000000"), ("--root-disk", "1Mi")):
            self.assertEqual(self.fields("instance", "set", known, option, value), [option])
            self.assertIn(f"{option} '{value}' is wrong", self.talk)
        self.assertEqual(self.fields("instance", "set", known), ["--file"])
        self.assertIn("nothing to change", self.talk)
        for limit in ("0", "-1", "5 ", " 5", "+5", "99999999999", "many"):
            self.berth("instance", "list", f"--limit={limit}", code=2)
            self.assertIn(f"--limit: '{limit}' is wrong: it must be a whole number above 0", self.talk)
        self.assertEqual(self.fields("migration", "create", known, "--type", "warp"), ["--type"])
        self.assertIn("--type 'warp' is wrong: write cold, resize, live or evacuation", self.talk)

    def test_a_migration_is_created_forced_and_listed(self):
        instance = self.instance("--flavor", "small")
        made = self.migration(instance)
        self.assertEqual((made["sourceHost"], made["status"], made["newFlavorId"]), (instance["host"], "accepted", "small"))
        page = self.berth("migration", "show", made["uuid"])
        for line in ("type        live", "status      accepted", f"from        {instance['host']}", "to          not known yet"):
            self.assertIn(line, page)
        node = self.json("provider", "create", f"node-{uuid.uuid4()}")["provider"]["uuid"]
        there = f"host-{uuid.uuid4()}"
        moved = self.json("migration", "set", made["uuid"], "--to", there, "--to-node", node)["migration"]
        self.assertEqual((moved["destinationHost"], moved["destinationNodeUuid"], moved["status"]), (there, node, "accepted"))
        listed = ("migration", "list", "-o", "name", "--host")
        self.assertEqual(self.berth(*listed, there, "--in-progress").split(), [made["uuid"]])
        self.berth("migration", "set", made["uuid"], "--status", "failed", code=2)
        self.berth("migration", "set", made["uuid"], "--status", "failed", "--reason", "a test", "--expect", "running", code=4)
        self.assertIn("its status is accepted, not running", self.talk)
        self.assertEqual(self.fields("migration", "set", made["uuid"], "--status", "failed", "--reason", "x" * 256), ["reason"])
        forced = self.json("migration", "set", made["uuid"], "--status", "failed", "--reason", "the host is gone",
                           "--to", "", "--to-node", "")["migration"]
        self.assertEqual((forced["status"], forced["destinationHost"], forced["destinationNodeUuid"]), ("failed", "", ""))
        other = self.migration(instance, "--from", "elsewhere", "--status", "running")
        self.assertEqual((other["sourceHost"], other["sourceNodeUuid"]), ("elsewhere", ""))
        of_instance = ("migration", "list", "-o", "name", "--instance", instance["uuid"])
        self.assertEqual(self.berth(*of_instance, "--over").split(), [made["uuid"]])
        self.assertEqual(self.berth(*of_instance, "--in-progress").split(), [other["uuid"]])
        self.assertEqual(self.berth(*of_instance, "--status", "failed,done").split(), [made["uuid"]])
        self.assertEqual(len(self.berth(*of_instance, "--limit", "1").split()), 1)
        self.berth("migration", "list", "--over", "--in-progress", code=2)
        self.assertEqual(self.fields("migration", "set", made["uuid"]), ["--status"])
        for option in ("--status", "--expect", "--reason"):
            self.berth("migration", "set", made["uuid"], "--to", "x", option, " ", code=2)
            self.assertIn(f"{option}: the text must not be blank", self.talk)
        table = self.berth("migration", "list", "--instance", instance["uuid"], "--columns", "status,uuid", "--sort", "status")
        self.assertEqual(table.splitlines()[1].split(), ["failed", made["uuid"]])
        self.assertEqual(self.error("migration", "create", instance["uuid"], "--type", "cold", "--uuid", made["uuid"],
                                    code=4)["reason"], "DUPLICATE_MIGRATION")
        self.berth("instance", "delete", instance["uuid"])
        self.assertEqual(self.error("migration", "show", made["uuid"], code=3)["reason"], "MIGRATION_NOT_FOUND")
        self.assertEqual(self.error("migration", "create", instance["uuid"], "--type", "cold", code=3)["reason"],
                         "INSTANCE_NOT_FOUND")

    def test_a_migration_is_created_with_all_its_options(self):
        instance = self.instance("--flavor", "small", "--ephemeral-disk", "30Gi")
        self.assertEqual(instance["flavor"]["ephemeralDiskGib"], "30")
        here, there = (self.json("provider", "create", f"node-{uuid.uuid4()}")["provider"]["uuid"] for _ in range(2))
        made = self.migration(instance, "--from", "a", "--from-node", here, "--to", "b", "--to-node", there,
                              "--old-flavor", "medium", "--new-flavor", "large", "--status", "queued", "--uuid", SECOND)
        self.assertEqual([made[name] for name in ("uuid", "sourceHost", "sourceNodeUuid", "destinationHost",
                                                  "destinationNodeUuid", "oldFlavorId", "newFlavorId", "status")],
                         [SECOND, "a", here, "b", there, "medium", "large", "queued"])
        self.assertEqual(self.fields("migration", "create", instance["uuid"], "--type", "cold", "--reason", "x" * 256),
                         ["reason"])

    def test_a_status_that_others_change_meanwhile_is_read_again(self):
        migration = self.migration(self.instance())["uuid"]
        for attempt in range(4):
            writers = [subprocess.Popen([BERTH, "migration", "set", migration, "--status", f"state-{attempt}-{n}",
                                         "--reason", "a test"], env=self.environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True) for n in range(4)]
            for writer in writers:
                talk = writer.communicate(timeout=START_SECONDS_MAX)[0]
                self.assertEqual(writer.returncode, 0, talk)

    def test_a_move_is_ended_in_one_step(self):
        nodes = [self.json("provider", "create", f"node-{uuid.uuid4()}")["provider"]["uuid"] for _ in range(2)]
        for node in nodes:
            self.berth("inventory", "set", node, "VCPU=8")
        instance = self.instance("--node", nodes[0], "--state", "active", "--task", "migrating")
        there = f"host-{uuid.uuid4()}"
        move = self.migration(instance, "--to", there, "--to-node", nodes[1], "--status", "running")
        for consumer, node in ((instance["uuid"], nodes[1]), (move["uuid"], nodes[0])):
            self.berth("claim", "--provider", node, "-r", "VCPU=2", "--consumer", consumer, "--project", "p", "--user", "u")
        end = ("migration", "end", move["uuid"], "--as")
        self.berth(*end, "failed", code=2)
        self.assertIn("--reason is required", self.talk)
        self.assertEqual(self.fields(*end, "warped", "--reason", "a test"), ["--as"])
        self.assertIn("write confirmed, reverted, completed, done, failed or cancelled", self.talk)
        self.assertEqual(self.fields(*end, "failed", "--reason", "a test", "--memory", "8Q"), ["--memory"])
        self.assertEqual(self.fields(*end, "failed", "--reason", "x" * 256), ["reason"])
        self.assertEqual(self.error(*end, "confirmed", "--reason", "a test", code=4)["reason"], "WRONG_MOVE_END")
        # The record of the instance still says that it is on the source.
        self.assertEqual(self.error(*end, "completed", "--reason", "a test", code=4)["reason"], "INSTANCE_ELSEWHERE")
        self.assertEqual(self.error(*end, "failed", "--reason", "a test", "--generation", "1", code=4)["reason"],
                         "RECORD_CONFLICT")
        refused = self.error("migration", "set", move["uuid"], "--status", "failed", "--reason", "a test", code=4)
        self.assertEqual(refused["reason"], "MOVE_HOLDS_ALLOCATIONS")
        self.assertIn("berth migration end", refused["advice"])
        ended = self.json(*end, "completed", "--host", there, "--node", nodes[1], "--task", "", "--reason", "it runs there")
        self.assertEqual(ended["migration"]["status"], "completed")
        self.assertEqual((ended["instance"]["host"], ended["instance"]["taskState"]), (there, ""))
        self.berth("allocations", move["uuid"], code=3)
        held = self.json("allocations", instance["uuid"])["consumer"]["allocations"]
        self.assertEqual([(one["providerUuid"], one["resources"]) for one in held], [(nodes[1], {"VCPU": "2"})])
        self.assertEqual(self.error(*end, "completed", "--reason", "a test", code=4)["reason"], "WRONG_MOVE_END")
        other = self.migration(instance)["uuid"]
        self.assertIn("status      failed", self.berth("migration", "end", other, "--as", "FAILED", "--reason", "a test"))
        self.assertEqual(self.error("migration", "end", FIRST[:-1] + "9", "--as", "failed", "--reason", "a test",
                                    code=3)["reason"], "MIGRATION_NOT_FOUND")

    def test_a_migration_needs_a_host_to_leave(self):
        nowhere = self.instance("--host", "")
        self.assertEqual(self.fields("migration", "create", nowhere["uuid"], "--type", "cold"), ["--from"])
        self.assertIn("is on no host: give --from HOST", self.talk)

    def test_changes_of_records_are_watched(self):
        before = self.json("ledger", "revision")["revision"]
        instance = self.instance()
        self.migration(instance, "--to", "there")
        self.berth("instance", "set", instance["uuid"], "--state", "error", "--reason", "the disk is lost")
        self.migration(instance, "--reason", "the host is lost")
        self.berth("instance", "delete", instance["uuid"], "--reason", "nobody wants it")
        watch = ("watch", "--after", f"{before['epoch']}:{before['number']}", "--kind", "instance,migration", "--revisions", "5")
        lines = self.berth(*watch).splitlines()
        self.assertIn(f"web of p, building, on {instance['host']}", lines[1])
        self.assertIn(f"live, accepted, from {instance['host']} to there, of instance {instance['uuid']}", lines[2])
        told = [json.loads(line) for line in self.berth(*watch, "-o", "json").splitlines()]
        self.assertEqual([change["reason"] for part in told for change in part["changes"]],
                         ["", "", "the disk is lost", "the host is lost"] + 3 * ["nobody wants it"])
        self.assertTrue(lines[3].endswith(": the disk is lost"), lines[3])

    def test_the_commands_are_completed(self):
        script = self.berth("completion", "bash")
        for words in ('"instance") words="list show create set delete', '"migration") words="list show create set end'):
            self.assertIn(words, script)
        done = subprocess.run([BERTH, "instance", "set", "--help"], capture_output=True, text=True, check=True)
        for words in ("--ephemeral-disk", "no guest is changed", "berth instance set 5e08ea53"):
            self.assertIn(words, done.stdout)


class NodeParts(BerthCase):
    def test_a_nodes_devices_and_cells_are_listed(self):
        tracker = Process(TRACKER, f"--placement={self.placement.endpoint}", f"--hypervisor=h1=test://{HOST}")
        self.addCleanup(tracker.stop)
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self.json("node", "list")["nodes"] and time.monotonic() < deadline:
            time.sleep(0.05)
        facts = self.json("node", "cells", "h1")["node"]["facts"]
        self.assertEqual(self.berth("node", "cells", "h1", "-o", "name").split(),
                         [str(cell["id"]) for cell in facts["numaCells"]])
        self.assertEqual(len(self.berth("node", "cells", "h1").splitlines()), 1 + len(facts["numaCells"]))
        self.assertEqual(self.berth("node", "devices", "h1", "-o", "name").split(),
                         [device["address"] for device in facts["pciDevices"]])
        self.assertIn("ADDRESS", self.berth("node", "devices", "h1"))
        self.berth("node", "devices", "absent", code=3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
