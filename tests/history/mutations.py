"""Mutants of the product: for each the test that must find it, and what it changes. More: mutations_of_parts.py."""

# (program below build/dev/tests, which of its tests); a test whose program is not history_test is red without a rule
TESTS = {"through": ("history/history_test", "History.HoldsThroughKillsPausesAndCuts"),
         "lost": ("history/history_test", "History.HoldsAfterThePastWasLost"),
         "turns": ("placement/placement_writer_test", "Turns.*"),
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

# (name, test, [(file, what stands there once, what stands there instead)]); MUTANT: whether this one is wanted
MUTANTS = [
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
        "placement/writer/short_road.cc",
        "    parts_.options.Step(LedgerStep::kBeforeWrite);\n",
        "    parts_.options.Step(LedgerStep::kBeforeWrite);\n    if (MUTANT) parts_.answerer.Post(batch.TakeAnswers());\n")]),
    ("short-refuses-unchecked", "short", [(
        "placement/writer/short_road.cc",
        "    const bool sent = Send(*batch, &done);\n",
        "    if (MUTANT && !batch->writes() && batch->BeginAll(BootNow())) return batch_ends_->AnswerAll(*batch);\n"
        "    const bool sent = Send(*batch, &done);\n")]),
    # The ids of commands that come while the long road waits for the lock are not compared.
    ("fill-up-without-ids", "short", [(
        "placement/writer/long_road.cc",
        "  batch.CompareNext();\n",
        "  if (!MUTANT) batch.CompareNext();\n")]),
    # What was decided ahead is sent though the batch that it stood on has failed.
    ("ahead-survives", "short", [
        ("placement/writer/short_road.cc",
         "    if (!Receive(batch, ahead)) return;\n",
         "    std::unique_ptr<Batch> kept = MUTANT ? std::move(ahead) : nullptr;\n"
         "    const bool took_effect = Receive(batch, ahead);\n"
         "    if (kept != nullptr) ahead = std::move(kept);\n"
         "    if (!took_effect && !(MUTANT && ahead != nullptr && parts_.connection.is_open())) return;\n"),
        ("placement/writer/short_road.cc",
         "    done = std::exchange(batch, std::move(ahead));\n",
         "    done = std::exchange(batch, std::move(ahead));\n    if (!took_effect) {\n      done = nullptr;\n      continue;\n    }\n")]),
    # A place that was found before the lock is taken without a look at what is free under it.
    ("check-before-lock", "through", [
        ("placement/claims/search.cc",
         "if (std::none_of(scopes.begin(), scopes.end(), stands)) continue;",
         "if (!MUTANT && std::none_of(scopes.begin(), scopes.end(), stands)) continue;"),
        ("placement/claims/claim.cc",
         "BERTH_RETURN_IF_ERROR(plan.CheckRoom());", "if (!MUTANT) BERTH_RETURN_IF_ERROR(plan.CheckRoom());")]),
    ("answer-before-commit", "through", [(
        "placement/writer/long_road.cc",
        "  parts_.options.Step(LedgerStep::kBeforeWrite);\n",
        "  parts_.options.Step(LedgerStep::kBeforeWrite);\n  if (MUTANT) parts_.answerer.Post(batch->TakeAnswers());\n")]),
    ("drop-request-lookup", "through", [(
        "placement/writer/batch.cc",
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
         "Hear(key(), incarnation(), beat, placement::BootNow(),",
         "Hear(key(), incarnation(), beat, MUTANT ? absl::Now() - absl::UnixEpoch() : placement::BootNow(),"),
        ("services/report/session.cc",
         "Hear(key(), incarnation(), std::nullopt, placement::BootNow(),",
         "Hear(key(), incarnation(), std::nullopt, MUTANT ? absl::Now() - absl::UnixEpoch() : placement::BootNow(),"),
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
        ("placement/publish/catch_up.cc",
         "newest.number > position.revision.number ? CaughtUp", "MUTANT || newest.number > position.revision.number ? CaughtUp"),
        ("placement/publish/catch_up.cc",
         "return row.position.revision.epoch > from.revision.epoch ?", "return MUTANT || row.position.revision.epoch > from.revision.epoch ?"),
        ("placement/publish/catch_up.cc",
         "if (row.previous != newest->position().batch) return CaughtUp::kWentBack;",
         "if (row.previous != newest->position().batch) return MUTANT ? CaughtUp::kReload : CaughtUp::kWentBack;"),
        ("placement/publish/publisher.cc",
         "if (Newest()->position().revision > state->position().revision) return;",
         "if (!MUTANT && Newest()->position().revision > state->position().revision) return;")]),
    ("release-resurrects", "through", [(
        "placement/claims/plan.cc",
        "if (expected == actual) return;",
        "if (expected == actual || (MUTANT && !actual)) return;")]),
    ("retry-after-in-doubt", "through", [(
        "placement/writer/batch_ends.cc",
        "if (rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {",
        "if (!MUTANT && rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {")]),
    # An id is said to be cancelled and is not kept.
    ("forget-cancellation", "through", [(
        "placement/writer/batch.cc",
        "if (find == nullptr || find->cancel_if_absent) decided.remember",
        "if (find == nullptr || (find->cancel_if_absent && !MUTANT)) decided.remember")]),
    # A record is overwritten by a writer that has not seen its last change.
    ("overwrite-record", "through", [(
        "placement/commands/record_form.cc",
        "if (expected == actual) return absl::OkStatus();\n  return GenerationConflict(what",
        "if (MUTANT || expected == actual) return absl::OkStatus();\n  return GenerationConflict(what")]),
    ("any-status-expected", "through", [(
        "placement/rules/migration.cc",
        "if (before->status != command.expected_status) {",
        "if (!MUTANT && before->status != command.expected_status) {")]),
    ("lease-ends-early", "through", [(
        "placement/claims/allocation.cc",
        "if (lease.first > context.now ||", "if (lease.first > context.now + absl::Seconds(MUTANT ? 1 : 0) ||")]),
    ("lease-never-ends", "through", [(
        "placement/writer/lease_ends.cc",
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
        "services/report/session.cc",
        "  traffic_.Send(std::move(message));\n  SendRecordAnswers();\n",
        "  if (!MUTANT || message.push().complete()) traffic_.Send(std::move(message));\n  SendRecordAnswers();\n")]),
    # Nothing is read from a standby. What is nearest: a process that has lost its database reads on.
    ("standby-read", "through", [(
        "placement/publish/publisher.cc",
        "if (age > staleness_max_) {", "if (age > staleness_max_ + absl::Hours(MUTANT ? 1 : 0)) {")]),
    # Two large batches follow each other though others wait.
    ("large-twice", "turns", [(
        "placement/writer/turns.cc", "if (waiting.shared) return Turn::kShared;",
        "if (waiting.shared && !MUTANT) return Turn::kShared;")]),
    # New commands are decided while the outcome of a batch is unknown.
    ("decide-in-doubt", "turns", [(
        "placement/writer/turns.cc", "if (waiting.unsettled) return Turn::kSettle;",
        "if (waiting.unsettled && !MUTANT) return Turn::kSettle;")]),
    # A write that breaks its connection is tried for ever.
    ("forget-losses", "turns", [(
        "placement/writer/turns.cc", "++pending->losses;", "pending->losses += MUTANT ? 0 : 1;")]),
    # The follower publishes the batch that the writer is about to publish.
    ("follow-in-flight", "ledger", [(
        "placement/publish/catch_up.cc", "if (row.position.batch == committing) return",
        "if (row.position.batch == committing && !MUTANT) return")]),
    # A kept answer is given with the revision of the batch that gives it again.
    ("stamp-kept-answer", "requests", [(
        "placement/writer/batch.cc", "if (!decided.of_earlier_batch) decided", "if (MUTANT || !decided.of_earlier_batch) decided")]),
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
        ("placement/state/records.cc", "|| IsRemovable(instance)) return;", "|| (IsRemovable(instance) && !MUTANT)) return;"),
        ("placement/rules/owners.cc", "    const OwnedNames taken = CountedAt(", "    const OwnedNames taken = (MUTANT ? NamedAt : CountedAt)(")]),
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
