#!/usr/bin/python3
"""Placement on a PostgreSQL over the network: TLS, a password file, three roles, and a standby that takes over.

usage: database_test.py SOURCE_DIRECTORY BERTH BERTH_PLACEMENT

BERTH_FAILOVERS says how often the primary is killed or frozen under load (default 2).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import uuid

from postgres import BIN, PASSWORDS, WAIT_SECONDS_MAX, Place, Server, run, wait_for

SOURCE, BERTH, PLACEMENT = sys.argv[1:4]
FAILOVERS = int(os.environ.get("BERTH_FAILOVERS", "2"))
RECOVERY_SECONDS_MAX = 30
CLAIMS_BEFORE_FAULT = 20


class Placement:
    def __init__(self, place, url):
        self.directory = place.directory / f"placement-{uuid.uuid4()}"
        self.directory.mkdir()
        address = self.directory / "address"
        with open(self.directory / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [PLACEMENT, f"--database={url}", "--listen=127.0.0.1:0", f"--address-file={address}",
                 "--metrics-listen=", f"--state-dir={self.directory}/state"], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL)
        wait_for("placement", lambda: self.ended() or (address.exists() and address.read_text(encoding="utf-8").strip()))
        self.endpoint = address.read_text(encoding="utf-8").split()[0] if address.exists() else None

    def ended(self):
        return self.process.poll() is not None

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def berth(self, *words, check=True):
        return run(BERTH, "-e", self.endpoint, *words, check=check)

    def stop(self):
        if not self.ended():
            self.process.terminate()
            self.process.wait(timeout=60)


class Load:
    """Claims one consumer after the other, and keeps those that were acknowledged."""

    def __init__(self, placement):
        self.placement, self.acknowledged, self.last = placement, [], 0.0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while not self.stopping.is_set():
            consumer = str(uuid.uuid4())
            done = self.placement.berth("claim", "--provider", "shelf", "-r", "VCPU=1", "--consumer", consumer,
                                        "--timeout", "3s", check=False)
            if done.returncode == 0:
                self.acknowledged.append(consumer)
                self.last = time.monotonic()

    def wait(self, more, seconds=WAIT_SECONDS_MAX):
        goal = len(self.acknowledged) + more
        wait_for(f"{more} more claims", lambda: len(self.acknowledged) >= goal, seconds)

    def stop(self):
        self.stopping.set()
        self.thread.join()


class Database(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(shutil.rmtree, self.place.directory, ignore_errors=True)
        self.primary = Server(self.place, "one")
        self.primary.initialize()
        self.addCleanup(lambda: self.primary.kill())
        self.primary.start()
        self.primary.sql("CREATE ROLE replicator LOGIN REPLICATION")
        self.primary.sql("CREATE DATABASE berth")
        self.make_roles()
        for role, word in PASSWORDS.items():
            self.primary.sql(f"ALTER ROLE {role} PASSWORD '{word}'")

    def make_roles(self):
        run(BIN / "psql", f"--host={self.place.directory}", f"--port={self.primary.port}", "--username=admin",
            "--dbname=berth", "-Xq", f"--file={SOURCE}/deploy/database/roles.sql")

    def make_schema(self):
        self.do_steps()
        self.make_roles()

    def do_steps(self):
        """The first start, as the owner of the tables."""
        Placement(self.place, self.place.url("berth_owner", self.primary)).stop()

    def start_placement(self, *servers):
        placement = Placement(self.place, self.place.url("berth_app", *servers))
        self.addCleanup(placement.stop)
        self.assertFalse(placement.ended(), placement.log())
        return placement

    def make_standby(self):
        standby = Server(self.place, f"standby-{uuid.uuid4()}")
        self.addCleanup(standby.kill)
        source = (f"host=localhost port={self.primary.port} user=replicator sslmode=verify-full application_name=two "
                  f"sslrootcert={self.place.certificate}")
        secret = self.place.directory / "replication"
        secret.write_text(f"*:*:*:replicator:{PASSWORDS['replicator']}\n", encoding="utf-8")
        secret.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(secret, self.place.user)
        run(BIN / "pg_basebackup", "-d", f"{source} passfile={secret}", f"--pgdata={standby.data}", "--wal-method=stream",
            "--checkpoint=fast", "--no-sync", "--write-recovery-conf", user=self.place.user)
        standby.configure()
        standby.start()
        wait_for("the standby", lambda: self.primary.sql("SELECT count(*) FROM pg_stat_replication "
                                                         "WHERE state = 'streaming'").stdout.strip() == "1")
        return standby

    def refused(self, url):
        placement = Placement(self.place, url)
        self.addCleanup(placement.stop)
        self.assertTrue(placement.ended(), "placement started")
        self.assertNotIn(PASSWORDS["berth_app"], placement.log())
        return placement.log()

    def test_tls_and_passwords_are_checked(self):
        self.make_schema()
        self.start_placement(self.primary).berth("provider", "create", "shelf")
        log = self.refused(self.place.url("berth_app", self.primary, host="127.0.0.1"))  # the certificate is localhost's
        self.assertIn("certificate", log)
        text = self.place.passwords.read_text(encoding="utf-8")
        self.place.passwords.write_text(text.replace(PASSWORDS["berth_app"], "wrong"), encoding="utf-8")
        self.assertIn("password", self.refused(self.place.url("berth_app", self.primary)))

    def test_each_role_may_do_its_part_and_no_more(self):
        log = self.refused(self.place.url("berth_app", self.primary))  # no schema yet
        self.assertRegex(log, "has schema 0, and .* start placement once as the role that owns .* permission denied")
        self.make_schema()
        placement = self.start_placement(self.primary)
        placement.berth("provider", "create", "shelf")
        self.assertEqual(json.loads(placement.berth("ledger", "check", "-o", "json").stdout)["clean"], True)
        as_app = "SET ROLE berth_app; "
        hour = "SELECT micros_of(now() + interval '700 hours')"
        self.primary.sql(f"{as_app}SELECT rotate_requests(({hour}), 24)", database="berth")
        made = self.primary.sql("SELECT count(*) FROM request_partitions p JOIN pg_class c ON c.relname = p.name "
                                "JOIN pg_roles r ON r.oid = c.relowner AND r.rolname = 'berth_owner' "
                                "WHERE p.first > now() + interval '600 hours'", database="berth")
        self.assertNotEqual(made.stdout.strip(), "0", "berth_app made no partition for that hour")
        for role, forbidden in [("berth_app", "CREATE TABLE mine (a int)"), ("berth_app", "DROP TABLE provider"),
                                ("berth_app", "TRUNCATE log"), ("berth_app", "DELETE FROM ledger_schema"),
                                ("berth_reader", "DELETE FROM log"), ("berth_reader", "INSERT INTO trait VALUES (9, 'A')"),
                                ("berth_reader", "SELECT rotate_requests(0, 24)")]:
            done = self.primary.sql(f"SET ROLE {role}; {forbidden}", database="berth", check=False)
            self.assertNotEqual(done.returncode, 0, f"{role}: {forbidden}")
            self.assertRegex(done.stderr, "permission denied|must be owner")
        self.primary.sql("SET ROLE berth_reader; SELECT count(*) FROM provider", database="berth")

    def test_without_the_second_roles_placement_serves(self):
        """The first roles.sql gives berth_app what later tables have. Only the partitions of kept request ids stay away."""
        self.do_steps()
        placement = self.start_placement(self.primary)

        def create():
            done = placement.berth("provider", "create", "shelf", "--request-id", "once", "-o", "json")
            return json.loads(done.stdout)["provider"]["uuid"]
        self.assertEqual(create(), create())
        placement.berth("inventory", "set", "shelf", "VCPU=10")
        placement.berth("claim", "--provider", "shelf", "-r", "VCPU=1", "--consumer", str(uuid.uuid4()))
        self.assertEqual(json.loads(placement.berth("ledger", "check", "-o", "json").stdout)["clean"], True)
        hour = "SELECT micros_of(now() + interval '700 hours')"
        rotate = f"SET ROLE berth_app; SELECT rotate_requests(({hour}), 24)"
        made = "SELECT count(*) FROM request_partitions p WHERE p.first > now() + interval '600 hours'"
        self.primary.sql(rotate, database="berth", check=False)
        self.assertEqual(self.primary.sql(made, database="berth").stdout.strip(), "0")
        self.make_roles()  # while placement runs
        self.primary.sql(rotate, database="berth")
        self.assertNotEqual(self.primary.sql(made, database="berth").stdout.strip(), "0")
        placement.berth("provider", "create", "after")

    def test_tables_of_another_owner_are_refused_at_once(self):
        """Somebody has done the steps as a superuser, so no role was granted the tables."""
        admin = f"postgresql:///berth?host={self.place.directory}&port={self.primary.port}&user=admin"
        Placement(self.place, admin).stop()
        log = self.refused(self.place.url("berth_app", self.primary))
        self.assertRegex(log, "may not read placement's tables: grant it .*roles.sql.* permission denied")
        self.make_roles()
        self.start_placement(self.primary).berth("provider", "create", "shelf")

    def test_a_privilege_that_is_missing_refuses_writes_and_nothing_else(self):
        self.make_schema()
        placement = self.start_placement(self.primary)
        placement.berth("provider", "create", "shelf")
        placement.berth("inventory", "set", "shelf", "VCPU=10")
        held, refused = str(uuid.uuid4()), str(uuid.uuid4())

        def claim(consumer, check):
            return placement.berth("claim", "--provider", "shelf", "-r", "VCPU=1", "--consumer", consumer, "-o", "json",
                                   check=check)
        claim(held, True)
        self.primary.sql("REVOKE INSERT ON consumer FROM berth_app", database="berth")
        done = claim(refused, False)
        self.assertEqual(done.returncode, 1, done.stderr)  # an error of the server: neither unknown nor unreachable
        self.assertNotIn("permission denied", done.stderr)  # what PostgreSQL says is for the log
        self.assertIn("permission denied for table consumer", placement.log())
        self.assertIn("shelf", placement.berth("provider", "list").stdout)
        self.primary.sql("GRANT INSERT ON consumer TO berth_app", database="berth")
        claim(refused, True)
        self.assertEqual(json.loads(placement.berth("ledger", "check", "-o", "json").stdout)["clean"], True)
        rows = self.primary.sql("SELECT count(*) FROM consumer", database="berth").stdout.strip()
        self.assertEqual(rows, "2")

    def test_an_operator_who_forgot_the_second_roles_sql_is_told(self):
        Placement(self.place, self.place.url("berth_owner", self.primary)).stop()  # makes the schema
        self.primary.sql("DO $$ DECLARE made text; BEGIN FOR made IN SELECT name FROM request_partitions LOOP "
                         "EXECUTE format('DROP TABLE %I', made); END LOOP; END $$", database="berth")
        placement = self.start_placement(self.primary)
        wait_for("the warning", lambda: "request ids could not be rotated" in placement.log())
        self.assertRegex(placement.log(), "permission denied|must be owner")
        placement.berth("provider", "create", "shelf")  # ids go into the default partition

    def test_a_synchronous_standby_takes_over_and_nothing_is_lost(self):
        self.make_schema()
        for round_number in range(FAILOVERS):
            standby = self.make_standby()
            self.primary.configure(synchronous="FIRST 1 (two)")
            self.primary.sql("SELECT pg_reload_conf()")
            wait_for("the synchronous standby",
                     lambda: self.primary.sql("SELECT sync_state FROM pg_stat_replication").stdout.strip() == "sync")
            placement = self.start_placement(self.primary, standby)
            if round_number == 0:
                placement.berth("provider", "create", "shelf")
                placement.berth("inventory", "set", "shelf", "VCPU=100000")
            load = Load(placement)
            self.addCleanup(load.stop)
            load.wait(CLAIMS_BEFORE_FAULT)
            frozen = round_number % 2 == 1
            self.primary.signal(signal.SIGSTOP if frozen else signal.SIGKILL)
            fault = time.monotonic()
            if not frozen:
                self.primary.process.wait(timeout=60)
            standby.promote()
            load.wait(CLAIMS_BEFORE_FAULT, RECOVERY_SECONDS_MAX)
            print(f"round {round_number}: {'frozen' if frozen else 'killed'}; {CLAIMS_BEFORE_FAULT} claims "
                  f"{time.monotonic() - fault:.1f} s after the fault", file=sys.stderr)
            load.stop()
            self.primary.kill()  # the frozen one never wakes up
            held = set(standby.sql("SELECT id FROM consumer", database="berth").stdout.split())
            self.assertEqual(set(load.acknowledged) - held, set())
            self.assertEqual(json.loads(placement.berth("ledger", "check", "-o", "json").stdout)["clean"], True)
            placement.stop()
            self.primary = standby

    def test_an_asynchronous_standby_that_lost_commits_is_found(self):
        self.make_schema()
        standby = self.make_standby()
        placement = self.start_placement(self.primary, standby)
        placement.berth("provider", "create", "before")
        wait_for("the standby to follow", lambda: standby.sql(
            "SELECT count(*) FROM provider WHERE name = 'before'", database="berth").stdout.strip() == "1")
        os.kill(standby.walreceiver(), signal.SIGSTOP)
        placement.berth("provider", "create", "lost")
        self.primary.kill()
        os.kill(standby.walreceiver(), signal.SIGKILL)
        wait_for("the standby after its crash", lambda: standby.sql("SELECT 1", check=False).returncode == 0)
        standby.promote()

        def state():
            return placement.berth("ledger", "revision", check=False).stdout
        wait_for("RECOVERY_REQUIRED", lambda: "recovery_required" in state())
        self.assertIn("lost", placement.berth("ledger", "lost").stdout)
        done = placement.berth("provider", "create", "refused", "-o", "json", check=False)
        self.assertEqual(json.loads(done.stderr)["reason"], "RECOVERY_REQUIRED")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
