#!/usr/bin/python3
"""Breaks the product in many ways and sees that the history test, or the test of the part, finds each.

A copy of the product gets a few lines changed for each mutant; which of them counts a file says when a process starts,
so that it is built once. A mutant that survives is a bug of the test. Where a promise has no part of its own here,
the nearest that has one is broken: a comment says so.

usage: mutants.py [--seconds N] [--seed N] [NAME...]      all of them, or those named; `none` is the product as it is
       mutants.py --look      only whether the product still has each place that they change
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "build" / "mutants"
WANTED = COPY / "wanted"  # holds the name of the mutant that is tried; the processes have no environment of ours
# (program below build/dev/tests, which of its tests); a test whose program is not history_test is red without a rule
TESTS = {"through": ("history/history_test", "History.HoldsThroughKillsPausesAndCuts"),
         "lost": ("history/history_test", "History.HoldsAfterThePastWasLost"),
         "turns": ("placement/placement_ledger_test", "Turns.*"),
         "ledger": ("placement/placement_ledger_test", "Ledger.*"),
         "leases": ("placement/ledger_worlds_test", "LedgerLease.*"),
         "requests": ("placement/placement_ledger_test", "LedgerRequest.*"),
         "claims": ("tracker/tracker_account_test", "*"),
         "clock": ("fault/fault_test", "PlacementClock.SetForwardsTakesNoLivingHostDown"),
         "uuids": ("tracker/tracker_uplink_test", "ApplyPush.UuidsInUpperCaseNameTheSameThings"),
         "details": ("services/services_wire_test", "RecordWriteForm.EveryUuidIsCanonicalOrRefused"),
         "withdrawal": ("tracker/tracker_uplink_test", "ClaimTest.AWithdrawalHasIdsAndGenerationsOnly"),
         "fence": ("placement/placement_rules_test", "RulesRecordWrite.*"),
         "counts": ("counted/what_counts_test", "WhatCounts.*"),
         "short": ("placement/placement_ledger_test", "LedgerShortRoad.*:LedgerLateMessage.*:LedgerAhead.*:LedgerLongRoad.*")}
SETTLE_SECONDS = 240  # beyond the run itself: to start, to settle what is open, to check
TRIES = 3             # of the clients' luck, before a mutant counts as one that survives

# (name, test, [(file, what stands there once, what stands there instead)]); MUTANT: whether this one is wanted
MUTANTS = [
    ("none", "through", []),
    # One advisory lock stands where rows could be locked one by one. The key of the log alone would do much of its
    # work, so that goes, too.
    ("skip-lock", "through", [
        ("placement/store/rows_log.cc",
         'absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, "); ")',
         'absl::StrCat(MUTANT ? "BEGIN; /* pg_advisory_xact_lock( */ SELECT (" : "BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, "); ")'),
        # The short road's lock is another one in each process.
        ("placement/store/rows_log.cc",
         'lock_ledger_at(", kLedgerLock, ",");',
         'lock_ledger_at(", MUTANT ? reinterpret_cast<int64_t>(&ids) : kLedgerLock, ",");'),
        ("placement/store/rows_log.cc",
         '"SET lock_timeout = \'3s\'; "',
         '"SET lock_timeout = \'3s\'; " +\n'
         '         std::string(MUTANT ? "DO $$ BEGIN IF EXISTS (SELECT FROM pg_constraint WHERE conname = \'log_pkey\') "\n'
         '                              "THEN ALTER TABLE log DROP CONSTRAINT log_pkey; END IF; END $$; " : "") +')]),
    # PostgreSQL compares nothing under the lock.
    ("short-uncompared", "short", [(
        "placement/store/rows_log.cc",
        'sql->Append(" WHERE lock_ledger_at(", ',
        'sql->Append(MUTANT ? " WHERE true >= lock_ledger_at(" : " WHERE lock_ledger_at(", ')]),
    # A request id that is kept is not found.
    ("short-without-ids", "short", [(
        "placement/store/rows_log.cc",
        "  for (const RequestKey& key : keys) {\n    ids.Column",
        "  for (const RequestKey& key : keys) {\n    if (MUTANT) continue;\n    ids.Column")]),
    # The head is read in the snapshot that the statement took before it had the lock.
    ("short-old-snapshot", "short", [(
        "placement/store/rows_log.cc",
        'return "SET SESSION CHARACTERISTICS',
        'return std::string(MUTANT ? "ALTER FUNCTION lock_ledger_at STABLE; " : "") +\n         "SET SESSION CHARACTERISTICS')]),
    ("short-answers-early", "short", [(
        "placement/ledger/writer_short.cc",
        "    Step(LedgerStep::kBeforeWrite);\n",
        "    Step(LedgerStep::kBeforeWrite);\n    if (MUTANT) answerer_->Post(batch.TakeAnswers());\n")]),
    ("short-refuses-unchecked", "short", [(
        "placement/ledger/writer_short.cc",
        "    const bool sent = Send(*batch, &done);\n",
        "    if (MUTANT && !batch->writes() && batch->BeginAll(BootNow())) return AnswerAll(*batch);\n"
        "    const bool sent = Send(*batch, &done);\n")]),
    # The ids of commands that come while the long road waits for the lock are not compared.
    ("fill-up-without-ids", "short", [(
        "placement/ledger/writer_ahead.cc",
        "  batch.CompareNext();\n",
        "  if (!MUTANT) batch.CompareNext();\n")]),
    # What was decided ahead is sent though the batch that it stood on has failed.
    ("ahead-survives", "short", [
        ("placement/ledger/writer_short.cc",
         "    if (!Receive(batch, ahead)) return;\n",
         "    std::unique_ptr<Batch> kept = MUTANT ? std::move(ahead) : nullptr;\n"
         "    const bool took_effect = Receive(batch, ahead);\n"
         "    if (kept != nullptr) ahead = std::move(kept);\n"
         "    if (!took_effect && (ahead == nullptr || connection_ == nullptr)) return;\n"),
        ("placement/ledger/writer_short.cc",
         "    done = std::exchange(batch, std::move(ahead));\n",
         "    done = std::exchange(batch, std::move(ahead));\n    if (!took_effect) {\n      done = nullptr;\n      continue;\n    }\n")]),
    # A place that was found before the lock is taken without a look at what is free under it.
    ("check-before-lock", "through", [
        ("placement/claims/search.cc",
         "if (!Stands(now(), choice, claims_.members[member].query, scope)) continue;",
         "if (!MUTANT && !Stands(now(), choice, claims_.members[member].query, scope)) continue;"),
        ("placement/claims/claim.cc",
         "BERTH_RETURN_IF_ERROR(plan.CheckRoom());", "if (!MUTANT) BERTH_RETURN_IF_ERROR(plan.CheckRoom());")]),
    ("answer-before-commit", "through", [(
        "placement/ledger/writer.cc",
        "  Step(LedgerStep::kBeforeWrite);\n",
        "  Step(LedgerStep::kBeforeWrite);\n  if (MUTANT) answerer_->Post(batch->TakeAnswers());\n")]),
    ("drop-request-lookup", "through", [(
        "placement/ledger/batch.cc",
        "if (Replay(*key, hash, &decided)) return decided;",
        "Decided fresh = decided;\n"
        "    if (Replay(*key, hash, &decided) && (!MUTANT || find != nullptr)) return decided;\n"
        "    decided = fresh;")]),
    # Of two providers only the first is charged.
    ("half-a-claim", "through", [(
        "placement/claims/plan.cc",
        "    if (touched.config == nullptr) continue;  // the command removes it\n    if (only_changed",
        "    if (touched.config == nullptr || (MUTANT && &touched != &touched_.front())) continue;\n    if (only_changed")]),
    ("lost-generation-bump", "through", [(
        "placement/claims/plan.cc",
        "touched.allocation_generation ? touched.allocation_generation->Next() : context.fresh;",
        "!touched.allocation_generation ? context.fresh\n"
        "        : MUTANT ? *touched.allocation_generation : touched.allocation_generation->Next();")]),
    # Readers are given a state that is kept for a third of a second.
    ("stale-cache", "through", [(
        "services/api/edge.cc",
        "  if (!least) return with_state(ledger_->Fresh());\n",
        """  if (!least && MUTANT) {
    static placement::Mutex mutex;
    static placement::BootTime until;
    static placement::StatePtr kept;
    const placement::MutexLock lock(&mutex);
    if (placement::BootNow() > until) {
      auto fresh = ledger_->Fresh();
      if (!fresh.ok()) return with_state(fresh.status());
      kept = *fresh;
      until = placement::BootNow() + absl::Milliseconds(300);
    }
    return with_state(kept);
  }
  if (!least) return with_state(ledger_->Fresh());
""")]),
    # Whether a service lives is judged by the wall clock.
    ("liveness-by-wall-clock", "clock", [
        ("services/report/session.cc",
         "Hear(key_, incarnation_, beat, placement::BootNow(),",
         "Hear(key_, incarnation_, beat, MUTANT ? absl::Now() - absl::UnixEpoch() : placement::BootNow(),"),
        ("services/report/session.cc",
         "Hear(key_, incarnation_, std::nullopt, placement::BootNow(),",
         "Hear(key_, incarnation_, std::nullopt, MUTANT ? absl::Now() - absl::UnixEpoch() : placement::BootNow(),"),
        ("services/report/liveness_recorder.cc",
         "  const placement::BootTime now = placement::BootNow();\n  const placement::StatePtr state",
         "  const placement::BootTime now = MUTANT ? absl::Now() - absl::UnixEpoch() : placement::BootNow();\n"
         "  const placement::StatePtr state"),
        ("services/report/liveness_recorder.cc", "#include <utility>\n", "#include <utility>\n#include \"absl/time/clock.h\"\n")]),
    ("watch-drops-on-reconnect", "through", [(
        "services/watch/hub.cc",
        "watcher->Begin(*filter, revision, nullptr);",
        "watcher->Begin(*filter, {revision.epoch, revision.number + (MUTANT ? 1 : 0)}, nullptr);")]),
    # A database that went back in time is taken for one of which more rows have gone than were read.
    ("ignore-epoch", "lost", [
        ("placement/ledger/catch_up.cc",
         "newest.number > position.revision.number ? CaughtUp", "MUTANT || newest.number > position.revision.number ? CaughtUp"),
        ("placement/ledger/catch_up.cc",
         "return row.position.revision.epoch > from.revision.epoch ?", "return MUTANT || row.position.revision.epoch > from.revision.epoch ?"),
        ("placement/ledger/catch_up.cc",
         "if (row.previous != newest->position().batch) return CaughtUp::kWentBack;",
         "if (row.previous != newest->position().batch) return MUTANT ? CaughtUp::kReload : CaughtUp::kWentBack;"),
        ("placement/ledger/publisher.cc",
         "if (Newest()->position().revision > state->position().revision) return;",
         "if (!MUTANT && Newest()->position().revision > state->position().revision) return;")]),
    ("release-resurrects", "through", [(
        "placement/claims/plan.cc",
        "if (expected == actual) return;",
        "if (expected == actual || (MUTANT && !actual)) return;")]),
    ("retry-after-in-doubt", "through", [(
        "placement/ledger/writer_faults.cc",
        "if (rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {",
        "if (!MUTANT && rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {")]),
    # An id is said to be cancelled and is not kept.
    ("forget-cancellation", "through", [(
        "placement/ledger/batch.cc",
        "if (find == nullptr || find->cancel_if_absent) decided.remember",
        "if (find == nullptr || (find->cancel_if_absent && !MUTANT)) decided.remember")]),
    # A record is overwritten by a writer that has not seen its last change.
    ("overwrite-record", "through", [(
        "placement/commands/record_form.cc",
        "if (expected == actual) return absl::OkStatus();",
        "if (MUTANT || expected == actual) return absl::OkStatus();")]),
    ("any-status-expected", "through", [(
        "placement/rules/migration.cc",
        "if (before->status != command.expected_status) {",
        "if (!MUTANT && before->status != command.expected_status) {")]),
    ("lease-ends-early", "through", [(
        "placement/claims/allocation.cc",
        "if (lease.first > context.now ||", "if (lease.first > context.now + absl::Seconds(MUTANT ? 1 : 0) ||")]),
    ("lease-never-ends", "through", [(
        "placement/ledger/writer_leases.cc",
        "  if (!end || absl::ToInt64Nanoseconds(", "  if (MUTANT || !end || absl::ToInt64Nanoseconds(")]),
    # A process that loads the tables forgets the leases. In a history the other process ends them.
    ("forget-leases", "leases", [(
        "placement/store/rows_load.cc", "if (!rows.IsNull(row, 10)) consumer->lease_expires_at",
        "if (!MUTANT && !rows.IsNull(row, 10)) consumer->lease_expires_at")]),
    ("update-loses-destination", "through", [(
        "placement/rules/migration.cc",
        "  if (command.destination_host) record.destination_host = *command.destination_host;",
        "  if (command.destination_host || MUTANT) record.destination_host = command.destination_host.value_or(\"\");")]),
    # An instance that goes to another host is not listed there.
    ("unlisted-instance", "through", [(
        "placement/state/records.cc",
        "if (!instance->host.empty()) instances_by_host_.Put(",
        "if (!instance->host.empty() && (!MUTANT || before == nullptr)) instances_by_host_.Put(")]),
    # When the record of a claim comes, the account adds its amounts, and those of the claim stay.
    ("claim-counted-twice", "claims", [(
        "tracker/account/account.cc",
        "    if (found->second == entry) return;\n    RemoveAmounts(found->second);\n",
        "    if (found->second == entry) return;\n    if (!MUTANT) RemoveAmounts(found->second);\n")]),
    # The end of a move releases what the migration holds, and leaves the instance what it holds on the side that it left.
    ("move-frees-one-side", "through", [(
        "placement/rules/settlement.cc", "if (Keeps(effect, row, moved)) held", "if (MUTANT || Keeps(effect, row, moved)) held")]),
    # A push of changes is taken for sent and is not.
    ("push-lost", "through", [(
        "services/report/session_pushes.cc",
        "  outbox_.push_back(std::move(message));\n",
        "  if (!MUTANT || message.push().complete()) outbox_.push_back(std::move(message));\n")]),
    # Nothing is read from a standby. What is nearest: a process that has lost its database reads on.
    ("standby-read", "through", [(
        "placement/ledger/publisher.cc",
        "if (age > staleness_max_) {", "if (age > staleness_max_ + absl::Hours(MUTANT ? 1 : 0)) {")]),
    # Two large batches follow each other though others wait.
    ("large-twice", "turns", [(
        "placement/ledger/turns.cc", "if (waiting.shared) return Turn::kShared;",
        "if (waiting.shared && !MUTANT) return Turn::kShared;")]),
    # New commands are decided while the outcome of a batch is unknown.
    ("decide-in-doubt", "turns", [(
        "placement/ledger/turns.cc", "if (waiting.unsettled) return Turn::kSettle;",
        "if (waiting.unsettled && !MUTANT) return Turn::kSettle;")]),
    # A write that breaks its connection is tried for ever.
    ("forget-losses", "turns", [(
        "placement/ledger/turns.cc", "++pending->losses;", "pending->losses += MUTANT ? 0 : 1;")]),
    # The follower publishes the batch that the writer is about to publish.
    ("follow-in-flight", "ledger", [(
        "placement/ledger/catch_up.cc", "if (row.position.batch == committing) return",
        "if (row.position.batch == committing && !MUTANT) return")]),
    # A kept answer is given with the revision of the batch that gives it again.
    ("stamp-kept-answer", "requests", [(
        "placement/ledger/batch.cc", "if (!decided.of_earlier_batch) decided", "if (MUTANT || !decided.of_earlier_batch) decided")]),
    # A uuid in upper case is another uuid to the tracker.
    ("uuid-case", "uuids", [(
        "tracker/ground/uuid.cc", "return character - 'A' + 10;", "return character - 'A' + (MUTANT ? 0 : 10);")]),
    # Placement keeps the uuids inside a record as the tracker wrote them.
    ("record-uncanonical", "details", [(
        "services/wire/record_write.cc", "BERTH_RETURN_IF_ERROR(MakeUuidsCanonical(",
        "if (!MUTANT) BERTH_RETURN_IF_ERROR(MakeUuidsCanonical(")]),
    # A tracker writes and withdraws the records of any host.
    ("write-without-fence", "fence", [
        ("placement/rules/record_write.cc",
         "BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, after,",
         "if (!MUTANT) BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, after,"),
        ("placement/rules/record_write.cc",
         "BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, taken, meant));",
         "if (!MUTANT) BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, taken, meant));")]),
    # A record has what it names, in whatever state instance and migrations are.
    ("owned-in-any-state", "counts", [
        ("placement/rules/owners.cc", "    if (IsRemovable(*other)) continue;", "    if (IsRemovable(*other) && !MUTANT) continue;"),
        ("placement/rules/owners.cc",
         "        CountedAt({*other, records.MigrationsOf(id), write.read_held(*other)}, place);",
         "        (MUTANT ? NamedAt : CountedAt)({*other, records.MigrationsOf(id), write.read_held(*other)}, place);")]),
    # An instance that does not move has what its move would give to it.
    ("owned-by-idle-moves", "counts", [(
        "placement/commands/node_share.cc", "if (newest == nullptr || !IsMoving(instance)) return share;",
        "if (newest == nullptr || (!IsMoving(instance) && !MUTANT)) return share;")]),
    # So has one whose move is over.
    ("owned-by-ended-moves", "counts", [(
        "placement/commands/node_share.cc", "return HoldsResources(migration.status) &&",
        "return (HoldsResources(migration.status) || MUTANT) &&")]),
    # What an account counts, the ledger gives away.
    ("counted-when-offloaded", "counts", [(
        "tracker/account/gates.cc", "return instance.on == self && !instance.deleted && !IsRemovable(instance);",
        "return instance.on == self && !instance.deleted && (!IsRemovable(instance) || MUTANT);")]),
    # A withdrawal has the whole record, and whatever was wrong with the write.
    ("withdraw-whole-record", "withdrawal", [(
        "tracker/uplink/record_messages.cc", "  if (write.withdraw) {\n    wire.set_withdraw(true);\n",
        "  wire.set_withdraw(write.withdraw);\n  if (write.withdraw && !MUTANT) {\n")]),
]


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def environment():
    """The same objects are found by ccache wherever the copy lies."""
    return {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **os.environ}


def is_wanted(name):
    """The expression that MUTANT stands for."""
    return (f'([] {{ static const bool is = [] {{ std::ifstream file("{WANTED}"); std::string name; file >> name; '
            f'return name == "{name}"; }}(); return is; }}())')


def mutated():
    """The changed files with their contents."""
    texts = {}
    for name, _, changes in MUTANTS:
        for file, old, new in changes:
            text = texts.setdefault(file, (ROOT / file).read_text())
            if text.count(old) != 1:
                sys.exit(f"{file} holds {text.count(old)} times what {name} changes:\n{old}")
            texts[file] = text.replace(old, new.replace("MUTANT", is_wanted(name)))
    return {file: "#include <fstream>\n#include <string>\n" + text for file, text in texts.items()}


def make_copy():
    """The files of the checkout as they are now, those not yet added too; unchanged ones keep their times."""
    names = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT).stdout.split("\n")
    names = sorted(name for name in names if name and (ROOT / name).is_file())
    changed = mutated()
    for folder, folders, files in os.walk(COPY):
        if pathlib.Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for gone in {pathlib.Path(folder, file) for file in files} - {COPY / name for name in names}:
            gone.unlink()
    for name in names:
        source, target = ROOT / name, COPY / name
        content = changed[name].encode() if name in changed else source.read_bytes()
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(source.stat().st_mode)


def build():
    try:
        run(["cmake", "--preset", "dev"], cwd=COPY, env=environment())
        command = ["cmake", "--build", "--preset", "dev", "--target", "berth-placement", "history_test",
                   *sorted({pathlib.Path(program).name for program, _ in TESTS.values()} - {"history_test"})]
        run(command, cwd=COPY, env=environment())
    except subprocess.CalledProcessError as error:
        sys.exit(f"the mutants do not compile:\n{error.stdout[-4000:]}")


def test(name, which, seconds, seed):
    """Runs the test; returns its output, its code and how long it took; no time where it did not end."""
    WANTED.write_text(name)
    env = {**os.environ, "BERTH_HISTORY_SECONDS": str(seconds)}
    if seed is not None:
        env["BERTH_SEED"] = str(seed)
    began = time.monotonic()
    program, tests = TESTS[which]
    process = subprocess.Popen(
        [COPY / "build/dev/tests" / program, f"--gtest_filter={tests}", "--gtest_fail_fast"], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds + SETTLE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return output, None, None
    return output, process.returncode, time.monotonic() - began


def judge(name, which, seconds, seed):
    """One line of the table, and whether it is as it should be."""
    output, code, took = test(name, which, seconds, seed)
    by_rule = "history" in TESTS[which][0]
    found = re.findall(r"^rule \d+: .*(?:\n  .*)*", output, re.M)  # the checker's, with the lines that belong to each
    (COPY / f"{name}.log").write_text(output)
    if took is None:
        return f"{name:26} did not end: {COPY / (name + '.log')}", False
    if name == "none":
        return f"{name:26} {'clean' if code == 0 else 'RED though nothing is broken':20} {took:4.0f} s", code == 0
    if code != 0 and not by_rule:
        return f"{name:26} {'caught by ' + TESTS[which][1]:20} {took:4.0f} s", True
    if code == 0 or not found:
        return f"{name:26} {'SURVIVED' if code == 0 else 'red by no rule':20} {took:4.0f} s", False
    rules = sorted({int(re.match(r"rule (\d+)", one).group(1)) for one in found})
    print("\n".join("    " + line for line in found[0].split("\n")))
    return f"{name:26} {'caught by rule ' + ', '.join(map(str, rules)):20} {took:4.0f} s", True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=20, help="how long the clients of each run (default 20)")
    parser.add_argument("--seed", type=int, help="of the clients; else each run has its own")
    parser.add_argument("--look", action="store_true", help="only see whether each place that they change is there")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    known = [name for name, _, _ in MUTANTS]
    if unknown := set(arguments.names) - set(known):
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if arguments.look:
        mutated()
        return 0
    make_copy()
    build()
    table, good = [], True
    for name, which, _ in MUTANTS:
        if arguments.names and name not in arguments.names:
            continue
        for attempt in range(1, TRIES + 1):
            line, is_good = judge(name, which, arguments.seconds, arguments.seed)
            if is_good or name == "none":
                break
        line += f", run {attempt}" if attempt > 1 else ""
        print(line, flush=True)
        table.append(line)
        good = good and is_good
    print("\n" + "\n".join(table))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
