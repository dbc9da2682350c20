#!/usr/bin/python3
"""`berth audit follow` and `berth audit show` against a real placement that is restored from a backup.

usage: audit_run_test.py BERTH BERTH_PLACEMENT BERTH_TRACKER HOST_XML [TEST...]

BERTH_AUDIT_WRITES says how many writes there are while the follower is killed (default 200).
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from calls_test import BERTH, FIRST, SECOND, BerthCase  # noqa: E402

WAIT_SECONDS_MAX = 60
WRITES = int(os.environ.get("BERTH_AUDIT_WRITES", "200"))
BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


class Audit(BerthCase):
    def setUp(self):
        self.files = self.placement.directory / self.id().rpartition(".")[2]
        self.follower = None

    def tearDown(self):
        self.end(signal.SIGKILL)

    def follow(self):
        self.follower = subprocess.Popen([BERTH, "audit", "follow", "--to", str(self.files)], env=self.environment,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end(self, how):
        """Ends the follower; what it said."""
        if self.follower is None:
            return ""
        self.follower.send_signal(how)
        said = self.follower.communicate(timeout=60)[1]
        self.code, self.follower = self.follower.returncode, None
        return said

    def entries(self):
        lines = [line for path in sorted(self.files.glob("audit-*.jsonl"))
                 for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait(self, what, check):
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not check():
            self.assertLess(time.monotonic(), deadline, f"waited for {what}")
            time.sleep(0.02)

    def begin(self):
        self.follow()
        self.wait("the first mark", self.entries)

    def database(self, program, *words):
        done = subprocess.run([BIN / program, f"--host={self.placement.directory}/state/run", "--username=berth", *words],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def host(self, name):
        self.berth("provider", "create", name)
        self.berth("inventory", "set", name, "VCPU=64")

    def test_what_was_written_is_shown(self):
        self.begin()
        self.host("shown")
        self.host("other")
        self.berth("claim", "--provider", "shown", "-r", "VCPU=2", "--consumer", FIRST, "--request-id", "asked-1")
        self.berth("claim", "--provider", "other", "-r", "VCPU=3", "--consumer", SECOND)
        self.berth("release", FIRST)
        self.wait("the release", lambda: any(entry.get("removed") for entry in self.entries()))
        self.end(signal.SIGTERM)
        self.assertEqual(self.code, 0)
        shown = self.json("audit", "show", str(self.files), "--consumer", FIRST)["entries"]
        self.assertEqual([("present" in entry, entry["actor"] != "") for entry in shown], [(True, True), (False, True)])
        self.assertEqual(shown[0]["requestId"], "asked-1")
        self.assertTrue(shown[0]["method"].startswith("/berth.placement.v1."), shown[0]["method"])
        self.assertEqual(shown[0]["present"]["consumer"]["uuid"], FIRST)
        table = self.berth("audit", "show", str(self.files), "--provider", "shown", "--since", "1h")
        self.assertIn(FIRST, table)
        self.assertNotIn(SECOND, table)
        self.assertIn("removed", self.berth("audit", "show", str(self.files), "--columns", "what,key"))
        self.assertEqual(self.json("audit", "show", str(self.files), "--actor", "nobody")["entries"], [])
        self.assertEqual(self.json("audit", "show", str(self.files), "--since", "0s")["entries"], [])
        self.berth("audit", "show", str(self.files), "--since", "soon", code=2)
        self.berth("audit", "show", str(self.files) + "-gone", code=3)
        self.berth("audit", "follow", code=2)
        self.berth("audit", "--no-such-flag", code=127)

    def test_kills_leave_each_write_once(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        draw = random.Random(seed)
        self.begin()
        for number in range(WRITES):
            self.berth("class", "create", f"CUSTOM_AUDIT_{number}")
            if draw.random() < 0.4:
                self.end(signal.SIGKILL)
                if draw.random() < 0.5:  # as if the kill had come in the middle of a write
                    newest = max(self.files.glob("audit-*.jsonl"))
                    text = newest.read_bytes()
                    newest.write_bytes(text[:len(text) - draw.randrange(1, 60)])
                self.follow()
        self.wait("the last write", lambda: any(entry.get("key") == f"CUSTOM_AUDIT_{WRITES - 1}" for entry in self.entries()))
        self.end(signal.SIGTERM)
        written = [entry["key"] for entry in self.entries() if entry.get("key", "").startswith("CUSTOM_AUDIT")]
        self.assertEqual(written, [f"CUSTOM_AUDIT_{number}" for number in range(WRITES)])

    def test_only_one_process_follows_into_a_directory(self):
        self.begin()
        self.berth("audit", "follow", "--to", str(self.files), code=None)
        self.assertIn("another", self.talk)

    def test_a_restored_ledger_is_told(self):
        self.begin()
        self.host("kept")
        backup = self.placement.directory / "backup"
        self.database("pg_dump", "--format=custom", f"--file={backup}", "berth")
        self.host("lost")
        self.wait("the lost host", lambda: any(
            entry.get("present", {}).get("provider", {}).get("name") == "lost" for entry in self.entries()))
        self.database("pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname=berth", backup)
        self.wait("recovery", lambda: "recovery_required" in self.berth("ledger", "revision", code=None))
        head = self.json("ledger", "lost")["databaseRevision"]
        self.berth("ledger", "start-epoch", f"{head['epoch']}:{head['number']}", "--reason", "a drill")
        self.host("after")
        self.wait("the new epoch", lambda: any(
            entry.get("present", {}).get("provider", {}).get("name") == "after" for entry in self.entries()))
        self.end(signal.SIGTERM)
        entries = self.entries()
        self.assertEqual([entry["mark"] for entry in entries if entry.get("mark", "position") != "position"],
                         ["begin", "restored"])
        made = [entry["present"]["provider"]["name"] for entry in entries
                if entry.get("present", {}).get("provider", {}).get("generation") and
                not entry["present"]["provider"]["inventories"]]
        self.assertEqual(made, ["kept", "lost", "after"])
        self.assertIn("GAP", self.berth("audit", "show", str(self.files)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
