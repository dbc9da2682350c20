"""The mutants that take back what one part of the product does right, each with the tests of the part that find it."""

# (name, program below build/dev/tests, which of its tests, [(file, what stands there once, what stands there instead)])
PARTS = [
    # A call of libvirt that hangs keeps the calls behind it, or those of other nodes, waiting.
    ("waits-behind-hung-call", "tracker/tracker_test", "DeadlinePool.ACallThatWaitsBehindAHungOneGetsAThread", [(
        "tracker/hypervisor/deadline_pool.cc",
        "    StartThreadIfNeeded();  // for the jobs that wait behind this one\n",
        "    if (!MUTANT) StartThreadIfNeeded();\n")]),
    ("one-pool-of-calls", "services/services_tracker_test", "HungHypervisors.FourLeaveTheFifthWorking", [(
        "services/tracker/host.cc",
        "    tracker::DeadlinePool& calls = libvirt_calls_.emplace_back(tracker::DeadlinePool::Options());\n",
        "    tracker::DeadlinePool& calls =\n"
        "        MUTANT && i > 0 ? libvirt_calls_.front()\n"
        "                        : libvirt_calls_.emplace_back(tracker::DeadlinePool::Options());\n")]),
    # Ends of claims, claims of moves and passes write back records that were not read whole.
    ("end-writes-unread", "tracker/tracker_uplink_test",
     "ClaimTest.AnAbortLosesNothingThatItCannotRead:ClaimTest.AConfirmedMoveLosesNothingThatItsSourceCannotRead", [(
         "tracker/node/node_ends.cc",
         "  if (missing.empty()) return absl::OkStatus();\n",
         "  if (MUTANT || missing.empty()) return absl::OkStatus();\n")]),
    ("move-writes-unread", "tracker/tracker_uplink_test",
     "ClaimTest.AMoveLosesNothingThatItsDestinationCannotRead", [(
         "tracker/node/node_claims.cc",
         "      claim.migration.has_value() && !missing.empty()) {\n",
         "      !MUTANT && claim.migration.has_value() && !missing.empty()) {\n")]),
    ("repair-writes-unread", "tracker/tracker_account_test",
     "RepairTest.AnInstanceWithoutANodeGetsTheNodeOfItsGuest:RepairTest.AMigrationWithTheContextOfAnotherOneFails", [(
         "tracker/claims/repair.cc",
         "    if (!repair || !repair->instance.missing().empty()) return;\n"
         "    if (repair->migration && !repair->migration->unreadable.empty()) return;\n",
         "    if (!repair || !repair->instance.unreadable.empty()) return;\n"
         "    if (!MUTANT && !repair->instance.missing().empty()) return;\n"
         "    if (!MUTANT && repair->migration && !repair->migration->unreadable.empty()) return;\n")]),
    # While records contradict each other, all are counted anew for each change elsewhere, or before anybody asks.
    ("recounts-elsewhere", "tracker/tracker_account_test", "Conflicts.AChangeElsewhereCountsNothingAnew", [(
        "tracker/account/ownership.cc",
        "  if (faults_.empty()) return false;\n",
        "  if (faults_.empty()) return false;\n  if (MUTANT) return true;\n")]),
    ("recounts-each-change", "tracker/tracker_account_test",
     "Conflicts.AllRecordsAreCountedOnceHoweverManyContradictEachOther", [(
         "tracker/account/account.cc",
         "  entries_.emplace(instance_uuid, std::move(entry));\n",
         "  entries_.emplace(instance_uuid, std::move(entry));\n"
         "  if (MUTANT) ownership_.Count(resources_.topology, entries_);\n")]),
    # It is not known whose the shared identity file is, nobody asks, or a name that placement refuses is recorded.
    ("identity-of-nobody", "tracker/tracker_test", "IdentityFile.OfTheOnlyNodeIsKeptWhenTheTrackerGetsAnother", [(
        "tracker/settings/identity.cc",
        "  const bool is_owner = owner && *owner == node_name;\n",
        "  const bool is_owner = !MUTANT && owner && *owner == node_name;\n")]),
    ("identity-drawn-anew", "tracker/tracker_test", "IdentityFile.OfANodeIsSoughtWhereItCanBe", [(
        "tracker/settings/identity.cc",
        "    if (of_one) return UnknownOwner(",
        "    if (of_one && !MUTANT) return UnknownOwner(")]),
    ("identity-of-refused-name", "tracker/tracker_libvirt_test",
     "NodeTest.ARefusedRenameDoesNotChangeWhoseTheIdentityFileIs", [(
         "tracker/node/node.cc",
         "  if (!check.ok()) return check;\n",
         "  if (MUTANT) WriteIdentityOwner(options_.surroundings.state_path, called).IgnoreError();\n"
         "  if (!check.ok()) return check;\n")]),
    # A stream gets all records of a command about many hosts; streams and slices are filled under locks of others.
    ("told-of-all-hosts", "services/services_streams_test", "ReportSessionTest.AHostIsToldOfItsOwnPartOfAnImport", [(
        "services/report/push_news.cc",
        "int64_t AddRecords(const FeedCommand& command, const HostNews& news, PushScope* scope) {\n",
        "int64_t AddRecords(const FeedCommand& command, const HostNews& news, PushScope* scope) {\n"
        "  if (MUTANT) {\n"
        "    for (const placement::Change& change : *command.changes) {\n"
        "      if (std::holds_alternative<placement::ServicePut>(change)) scope->service = true;\n"
        "      if (!scope->complete) AddRecord(change, scope);\n"
        "      scope->Limit();\n"
        "    }\n"
        "    return static_cast<int64_t>(command.changes->size());\n"
        "  }\n")]),
    ("told-under-lock-of-all", "services/services_streams_test",
     "ReportSessionTest.StreamsAreToldWithoutTheLockOfAll", [(
         "services/report/sessions.cc",
         "    for (const TrackerStreamPtr& stream : streams) visits += stream->Touch(command);\n",
         "    {\n"
         "      const auto held = MUTANT ? std::make_unique<MutexLock>(&mutex_) : nullptr;\n"
         "      for (const TrackerStreamPtr& stream : streams) visits += stream->Touch(command);\n"
         "    }\n")]),
    ("slice-under-lock", "services/services_streams_test", "ReportSessionTest.ChangesAreNotedWhileASliceIsFilled", [
        ("services/report/session.cc",
         "  if (sessions_->settings().before_fill) sessions_->settings().before_fill();\n",
         "  auto held = MUTANT ? std::make_unique<MutexLock>(&mutex_) : nullptr;\n"
         "  if (sessions_->settings().before_fill) sessions_->settings().before_fill();\n"),
        ("services/report/session.cc",
         "  FillSlice(*state, host, push->node, &push->rest, message.mutable_push());\n",
         "  FillSlice(*state, host, push->node, &push->rest, message.mutable_push());\n  held = nullptr;\n")]),
    ("own-removal-untold", "services/services_streams_test",
     "ReportSessionTest.ATrackerIsToldWhichOfItsProvidersWent", [(
         "services/report/push_news.cc",
         "      [scope](const ProviderRemoved& removed) { scope->providers.insert(removed.id); },\n",
         "      [&](const ProviderRemoved& removed) {\n"
         "        if (!MUTANT || !is_own) scope->providers.insert(removed.id);\n"
         "      },\n")]),
    # A tracker is not told of its node below a rack, is told of nodes below its own, or moves its node back.
    ("node-below-unheard", "services/services_streams_test",
     "ReportSessionTest.ANodeBelowAnotherProviderIsToldOfItsChanges", [(
         "placement/log/membership.cc",
         "    if (state.nodes().Find(id) != nullptr) {\n",
         "    if (!MUTANT && state.nodes().Find(id) != nullptr) {\n")]),
    ("told-of-nodes-below", "services/services_streams_test",
     "ReportSessionTest.ANodeAboveAnotherIsNotToldOfWhatTheOtherHas", [(
         "placement/commands/node_providers.h",
         "    return state_.nodes().Find(root_->tree->config(position).id) != nullptr;\n",
         "    return !MUTANT && state_.nodes().Find(root_->tree->config(position).id) != nullptr;\n")]),
    ("parent-repaired", "tracker/tracker_uplink_test", "PushTest.WhatIsAboveTheNodeIsNotTheTrackersToRepair", [(
        "tracker/uplink/messages.cc",
        "    if (known.uuid == node_uuid) known.parent_uuid = Uuid();\n",
        "    if (!MUTANT && known.uuid == node_uuid) known.parent_uuid = Uuid();\n")]),
    # What a tracker's host has on other providers does not count against its ceiling.
    ("ceiling-at-the-edge", "placement/placement_rules_test", "RulesReportLimits.ADeltaLeavesTheOthersWhatTheyHave", [(
        "placement/commands/report_limits.cc",
        "    if (changed.contains(config.id)) return;\n",
        "    if (MUTANT || changed.contains(config.id)) return;\n")]),
    # What guests of other nodes hold of a pool below a node, or of the disk of its root, is taken for the node's.
    ("pool-on-a-node", "placement/placement_rules_test", "RulesAudit.AShareOfAPoolBelowAnotherNodeIsRight", [(
        "placement/commands/fleet_node.cc",
        "  return place && IsSharedPool(state, place->config()) ? nullptr",
        "  return place && !MUTANT && IsSharedPool(state, place->config()) ? nullptr")]),
    ("shared-disk-on-a-node", "placement/placement_rules_test",
     "RulesFenceInstance.NotForDiskOfARootThatServesOthersToo", [(
         "placement/commands/fleet_node.cc",
         "  return place && IsSharing(state, place->config());\n",
         "  return place && !MUTANT && IsSharing(state, place->config());\n")]),
    ("claim-reads-pool", "placement/placement_rules_test", "FleetVisits.AWriteOfARecordReadsNoGuestsOfASharedPool", [(
        "placement/rules/record_write.cc",
        "    if (foreign != nullptr || IsSharedPool(state, place.config())) return;\n",
        "    if (foreign != nullptr || (!MUTANT && IsSharedPool(state, place.config()))) return;\n")]),
    # Nobody tells or releases what the deletion of an instance leaves, or a new instance's is taken for it.
    ("deletion-leaves-unknown", "placement/placement_rules_test", "RulesAudit.WhatADeletedRecordLeavesIsReleased", [(
        "placement/rules/instance.cc",
        "  owner.type = std::string(kDeletedInstanceType);\n",
        "  if (!MUTANT) owner.type = std::string(kDeletedInstanceType);\n")]),
    ("reused-uuid-is-left", "placement/placement_rules_test", "RulesAudit.WhoeverWritesWhatIsLeftUsesTheUuidAgain", [(
        "placement/claims/plan.cc",
        "  const bool is_reused = finals_ == nullptr &&",
        "  const bool is_reused = !MUTANT && finals_ == nullptr &&")]),
    ("deletion-keeps-all", "placement/placement_rules_test",
     "RulesDelete.AnInstanceIsDeletedWithAllThatItsMoveHolds", [(
         "placement/rules/instance.cc",
         "  } else if (own != nullptr) {\n",
         "  } else if (own != nullptr && !MUTANT) {\n")]),
    ("leftovers-untold", "tracker/tracker_test", "LeftBehindTest.AllocationsOfADeletedRecordAreFoundAtOnce", [(
        "tracker/audit/left_behind.cc",
        "    if (!has_record && deleted.contains(consumer.uuid)) {\n",
        "    if (!MUTANT && !has_record && deleted.contains(consumer.uuid)) {\n")]),
    # A claim takes cells from the record alone, or devices of any provider; a device that is in use changes its class.
    ("cells-of-record-alone", "tracker/tracker_account_test",
     "ClaimInstance.ReadsTheFlavorIfTheRecordDoesNotSayWhatIsWanted", [(
         "tracker/claims/claim.cc",
         "  if (!needs.topology.has_value()) {\n",
         "  if (!MUTANT && !needs.topology.has_value()) {\n")]),
    ("devices-from-anywhere", "tracker/tracker_account_test", "ClaimMove.TakesTheDevicesThatPlacementHasAllocated", [(
        "tracker/claims/choice.cc",
        "  if (allocated.empty()) return table;\n",
        "  if (MUTANT || allocated.empty()) return table;\n")]),
    ("device-changes-class", "tracker/tracker_test", "DeviceChildrenTest.ADeviceKeepsItsClassWhileSomebodyHasIt", [(
        "tracker/audit/device_children.cc",
        "    if (is_placed) {\n",
        "    if (is_placed && !MUTANT) {\n")]),
    # The CPU of an isolated emulator does not count, or counts as a shared one.
    ("emulator-uncounted", "tracker/tracker_test", "Accounting.AnIsolatedEmulatorCountsAsADedicatedCpu", [(
        "tracker/audit/resources.cc",
        "  resources.overheads.isolated_emulator_vcpus = 1;",
        "  resources.overheads.isolated_emulator_vcpus = MUTANT ? 0 : 1;")]),
    ("emulator-shared", "tracker/tracker_test", "Accounting.AnIsolatedEmulatorCountsAsADedicatedCpu", [(
        "tracker/account/holding.cc",
        "  return pinned + std::min(reserved, overhead_vcpus);\n",
        "  return pinned + (MUTANT ? 0 : std::min(reserved, overhead_vcpus));\n")]),
    # A change of the account alone waits for the next pass.
    ("account-waits-for-pass", "tracker/tracker_test", "NodeAuditsTest.AChangeOfTheAccountAloneIsReportedSoon", [(
        "tracker/node/node_reports.cc",
        "    account_due_ = now + kAccountPause;\n",
        "    if (!MUTANT) account_due_ = now + kAccountPause;\n")]),
    ("used-without-dedicated", "tracker/tracker_uplink_test",
     "Messages.AnAccountCountsDedicatedCpusTogetherWithShared", [(
         "tracker/uplink/account_messages.cc",
         "  wire.set_vcpus(amounts.vcpus);\n",
         "  wire.set_vcpus(amounts.vcpus - (MUTANT ? pcpus : 0));\n")]),
    # Nobody says who has a device, for which request, or which devices guests may get.
    ("device-owner-untold", "tracker/tracker_uplink_test", "Messages.AnAccountSaysWhoHasWhichDevice", [(
        "tracker/uplink/account_messages.cc",
        "  if (!accounting.devices.empty()) AddUses(report, &wire);\n",
        "  if (!MUTANT && !accounting.devices.empty()) AddUses(report, &wire);\n")]),
    ("device-request-unknown", "tracker/tracker_account_test", "ClaimInstance.KnowsForWhichRequestADeviceIs", [(
        "tracker/claims/choice.cc",
        "    if (!id.empty()) chosen->request_ids[device.address] = id;\n",
        "    if (!MUTANT && !id.empty()) chosen->request_ids[device.address] = id;\n")]),
    ("device-request-of-before", "services/services_wire_test",
     "RecordWrite.ADeviceIsForTheRequestThatTheTrackerNames", [(
         "placement/records/tracker_edit.cc",
         "    device.set_request_id(std::move(request_id));\n",
         "    if (!MUTANT) device.set_request_id(std::move(request_id));\n")]),
    ("device-tags-untold", "tracker/tracker_uplink_test", "Messages.FactsSayWhichDevicesGuestsMayGet", [(
        "tracker/uplink/facts_messages.cc",
        "    if (tags == facts.device_tags.end()) continue;\n",
        "    if (MUTANT || tags == facts.device_tags.end()) continue;\n")]),
    ("launched-on-untold", "tracker/tracker_uplink_test", "RecordMessages.AnInstanceComesBackAsItWas", [(
        "tracker/uplink/record_messages.cc",
        "  wire.set_launched_on(instance.launched_on);\n",
        "  if (!MUTANT) wire.set_launched_on(instance.launched_on);\n")]),
    ("launched-on-unwritten", "services/services_wire_test", "RecordWrite.KeepsWhichHostWasTheLastToClaimABuild", [(
        "placement/records/tracker_edit.cc",
        "  if (!written.launched_on().empty()) record",
        "  if (!MUTANT && !written.launched_on().empty()) record")]),
    ("one-thread-of-claims", "services/services_tracker_test",
     "ClaimThreads.AClaimDoesNotWaitForTheLockOfAnotherNode", [(
         "services/tracker/claim_calls.cc",
         "    const bool accepted = threads_[i].Submit(",
         "    const bool accepted = threads_[MUTANT ? size_t{0} : i].Submit(")]),
    # The deletion of a service releases what is held on its nodes, whether or not it is asked to.
    ("service-cascade-unasked", "placement/placement_rules_test", "RulesService.ADeletedTrackerTakesItsNodesAlong", [(
        "placement/rules/fleet.cc",
        "CheckRemovable(state, nodes, command.cascade)",
        "CheckRemovable(state, nodes, command.cascade || MUTANT)")]),
    # Nobody is told that the state directory hangs, or a thread that was left behind there goes on.
    ("hung-directory-untold", "services/services_api_test",
     "PositionKeeperTest.ADirectoryThatHangsDoesNotHoldUpTheEnd", [(
         "services/placement/position_keeper.cc",
         "    if (!is_late || std::exchange(work.is_slow, true)) return;\n",
         "    if (MUTANT || !is_late || std::exchange(work.is_slow, true)) return;\n")]),
    ("left-behind-goes-on", "services/services_api_test",
     "PositionKeeperTest.ADirectoryThatHangsDoesNotHoldUpTheEnd", [(
         "services/placement/position_keeper.cc",
         "    work.left_behind = !ended;\n",
         "    work.left_behind = !ended && !MUTANT;\n")]),
    # To look at what is lost changes the database, or reads it anew for each who asks.
    ("look-brings-up-to-date", "placement/placement_ledger_test",
     "LedgerEpoch.ABackupOfAnOlderReleaseIsBroughtUpToDate", [(
         "placement/ledger/ledger.cc",
         "  watch_.Add(database);\n",
         "  watch_.Add(database);\n  if (MUTANT) BERTH_RETURN_IF_ERROR(BringUpToDate(*database));\n")]),
    ("known-loss-read-again", "services/services_api_test", "LostChangesTest.WhatIsKnownIsToldAtOnce", [(
        "services/api/lost_changes.cc",
        "  if (!known.ok() || *known != nullptr) return answer(known);\n",
        "  if (!known.ok() || (!MUTANT && *known != nullptr)) return answer(known);\n")]),
    # What keeps request ids from being rotated is not told.
    ("silent-rotation", "placement/placement_ledger_test", "LedgerRequest.AnOperatorIsToldWhenIdsCannotBeRotated", [(
        "placement/writer/request_rotation.cc",
        "  if (undone.empty()) return;\n",
        "  if (undone.empty() || (MUTANT && status.ok())) return;\n")]),
    # The log gets a line for each failure of a caller, each failure with another text, or each malformed readiness.
    ("failed-calls-unpaced", "services/services_api_test",
     "AccessLogs/CallLogTest.HasOneLineASecondForTheFailuresOfAMethod/*", [(
         "services/api/edge.cc",
         "    if (!pace.Lets(key, placement::BootNow(), &omitted)) return;\n",
         "    if (!pace.Lets(key, placement::BootNow(), &omitted) && !MUTANT) return;\n")]),
    ("failures-without-lid", "services/services_process_test", "StatusTest.NotEachFailureIsALineInTheLog", [(
        "services/process/error.cc",
        "*new LinePace(absl::Seconds(1), kFailureLinesMax);\n",
        "*new LinePace(absl::Seconds(1), MUTANT ? size_t{1'000'000} : kFailureLinesMax);\n")]),
    # All failures with one reason share a line.
    ("failure-hides-another", "services/services_process_test", "StatusTest.NoFailureHidesAnotherInTheLog", [(
        "services/process/error.cc",
        "  const std::string key = absl::StrCat(reason, \" \", status.message());\n",
        "  const std::string key =\n"
        "      MUTANT ? std::string(reason) : absl::StrCat(reason, \" \", status.message());\n")]),
    ("readiness-unpaced", "services/services_streams_test", "SessionFormTest.MalformedReadinessDoesNotFillTheLog", [(
        "services/report/readiness.cc",
        "  if (!pace.Lets(host, placement::BootNow(), &omitted)) return;\n",
        "  if (!pace.Lets(host, placement::BootNow(), &omitted) && !MUTANT) return;\n")]),
    # In both layers: a move that keeps the flavor never switches its instance.
    ("ledger-never-switches", "placement/placement_rules_test", "CountedCases.TheLedgerCountsEachCaseAsItSays", [(
        "placement/commands/node_share.cc",
        "  if (!KeepsFlavor(migration) || held.context == nullptr) return false;\n",
        "  if (MUTANT || !KeepsFlavor(migration) || held.context == nullptr) return false;\n")]),
    ("account-never-switches", "tracker/tracker_account_test", "CountedCases.TheAccountCountsEachCaseAsItSays", [(
        "tracker/account/gates.cc",
        "  if (!keeps_flavor || !instance.context.has_value()) return false;\n",
        "  if (MUTANT || !keeps_flavor || !instance.context.has_value()) return false;\n")]),
    # It is asked whether a CPU is free before it is asked whether the tracker may give it away.
    ("conflict-before-denial", "placement/placement_rules_test", "RulesOwners.AGiftIsDeniedBeforeAConflictIsTold", [(
        "placement/rules/owners.cc",
        "    if (IsOfTracker(write, place)) continue;\n",
        "    if (MUTANT) {\n"
        "      BERTH_RETURN_IF_ERROR(\n"
        "          CheckFree(state, write, place, Minus(CountedAt(after, place), CountedAt(before, place))));\n"
        "    }\n"
        "    if (IsOfTracker(write, place)) continue;\n")]),
    # What a deleted instance holds stops the claims of a node that came from another host.
    ("deleted-stops-claims", "placement/placement_rules_test",
     "RulesRecordWrite.ANodeFromAnotherHostGetsNoClaimsBeforeItsInstancesCame", [(
         "placement/rules/record_write.cc",
         "instance->node == command.node && !IsRemovable(*instance);\n",
         "instance->node == command.node && (MUTANT || !IsRemovable(*instance));\n")]),
    # Exceptions of libpqxx that do not keep their SQLSTATE.
    ("sqlstate-53300", "placement/placement_store_test", "SqlState.IsToldWhicheverWayAStatementTakes", [(
        "placement/store/database.cc",
        "  if (IsThrownAs<pqxx::too_many_connections>(failure)) return",
        "  if (!MUTANT && IsThrownAs<pqxx::too_many_connections>(failure)) return")]),
    ("sqlstate-08000", "placement/placement_store_test", "SqlState.IsToldWhicheverWayAStatementTakes", [(
        "placement/store/database.cc",
        "  if (IsThrownAs<pqxx::broken_connection>(failure)) return",
        "  if (!MUTANT && IsThrownAs<pqxx::broken_connection>(failure)) return")]),
    ("sqlstate-40003", "placement/placement_store_test", "SqlState.IsToldWhicheverWayAStatementTakes", [(
        "placement/store/database.cc",
        "  if (IsThrownAs<pqxx::statement_completion_unknown>(failure)) return",
        "  if (!MUTANT && IsThrownAs<pqxx::statement_completion_unknown>(failure)) return")]),
    ("sqlstate-42501", "placement/placement_store_test", "SqlState.OfAMissingPrivilegeIsTold", [(
        "placement/store/database.cc",
        "  if (IsThrownAs<pqxx::insufficient_privilege>(failure)) return",
        "  if (!MUTANT && IsThrownAs<pqxx::insufficient_privilege>(failure)) return")]),
    # libpqxx waits for the answer, and never frees the result that it gets if the connection breaks meanwhile.
    ("lost-results-stay", "placement/placement_store_test", "Leak.*", [(
        "placement/store/database.cc",
        "    pqxx::nontransaction transaction(*session_);\n",
        "    pqxx::nontransaction transaction(*session_);\n"
        "    if (MUTANT) {\n"
        "      const pqxx::result result = transaction.exec(sql);\n"
        "      if (rows != nullptr) *rows = RowsOf(result);\n"
        "      return End(absl::OkStatus());\n"
        "    }\n")]),
    # A set of CPUs takes memory for all numbers below its largest.
    ("cpu-set-of-all-below", "tracker/tracker_test", "CpuSet.TakesMemoryForItsNumbersAlone", [(
        "tracker/settings/cpu_set.cc",
        "  auto word = std::lower_bound(words_.begin(), words_.end(), cpu / 64,\n",
        "  if (MUTANT) words_.reserve(static_cast<size_t>(kMaxCpu) / 64 + 1);\n"
        "  auto word = std::lower_bound(words_.begin(), words_.end(), cpu / 64,\n")]),
    # A tracker with a certificate takes over a host that is down, takes a tree of operators, or learns of others' records.
    ("identified-takes-over", "placement/placement_rules_test", "RulesIdentifiedReport.*", [(
        "placement/rules/report_plan.cc",
        "  if (report_.identified) return CheckOwnerOfIdentified();\n",
        "  if (report_.identified && !MUTANT) return CheckOwnerOfIdentified();\n")]),
    ("identified-told-of-records", "placement/placement_rules_test",
     "RulesIdentifiedWrite.CannotTellOthersRecordsFromThoseThatDoNotExist", [(
         "placement/rules/instance.cc",
         "  BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, command.record.id));\n",
         "  if (!MUTANT) BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, command.record.id));\n")]),
    ("identified-told-of-nodes", "services/services_streams_test",
     "PushQueueTest.ATrackerWithACertificateIsToldOfItsNodesAlone:"
     "ReportSessionTest.ATrackerWithACertificateTakesNoNodeOver", [(
         "services/report/messages.cc",
         "  if (hello.identified) return false;\n",
         "  if (hello.identified && !MUTANT) return false;\n")]),
    # A server group is compared without the writes of the same batch, those of trackers, or the others of one command; or its
    # maximum is ignored by the search.
    ("group-before-own-claims", "fault/group_kill_test", "GroupKill.*", [
        ("placement/claims/group_check.cc",
         "        .emplace(group.id, GroupTally(after_, group, after_.records().MembersOf(group.id)))\n",
         "        .emplace(group.id, [&] {\n"
         "          if (!MUTANT) return GroupTally(after_, group, after_.records().MembersOf(group.id));\n"
         "          static thread_local State published;\n"
         "          if (!(published.position().revision == before_.position().revision)) published = before_;\n"
         "          GroupTally tally(published, group, published.records().MembersOf(group.id));\n"
         "          for (const InstancePtr& own : after_.records().MembersOf(group.id)) {\n"
         "            const InstancePtr earlier = before_.records().FindInstance(own->id);\n"
         "            const HostNames now = HostsOf(after_, *own);\n"
         "            if (earlier == nullptr || HostsOf(before_, *earlier) != now) tally.Place(own->id, now);\n"
         "          }\n"
         "          return tally;\n"
         "        }())\n"),
        ("placement/claims/group_scopes.cc",
         "    tallies_.emplace(group->id, GroupTally(released, *group, others));\n",
         "    static thread_local State published;\n"
         "    if (!(published.position().revision == released.position().revision)) published = released;\n"
         "    tallies_.emplace(group->id, MUTANT ? GroupTally(published, *group, published.records().MembersOf(group->id))\n"
         "                                       : GroupTally(released, *group, others));\n")]),
    ("group-full-with-one-member", "fault/group_kill_test", "GroupKill.*", [(
        "placement/commands/group_tally.cc",
        "    if (number > 0 && !Allows(member, host)) full.insert(host);\n",
        "    if (number > 0 && (MUTANT || !Allows(member, host))) full.insert(host);\n")]),
    ("tracker-write-not-compared", "placement/placement_claims_test", "RulesServerGroup.ATrackersWriteIsCompared", [(
        "placement/claims/group_check.cc",
        "         std::holds_alternative<WriteRecords>(body) ||\n",
        "         (!MUTANT && std::holds_alternative<WriteRecords>(body)) ||\n")]),
    ("group-members-of-one-command", "placement/placement_claims_test",
     "RulesServerGroup.AClaimFindsAHostThatIsAllowed:RulesServerGroup.AMaximumAllowsSeveralOnAHost", [
         ("placement/claims/group_check.cc",
          "    const GroupTally& tally = TallyOf(*group);\n    if (!stays",
          "    const auto alone = [&]() -> const GroupTally& {\n"
          "      static thread_local std::optional<GroupTally> without;\n"
          "      without.emplace(before_, *group, before_.records().MembersOf(group->id));\n"
          "      without->Place(id, HostsOf(after_, *member));\n"
          "      return *without;\n"
          "    };\n"
          "    const GroupTally& tally = MUTANT ? alone() : TallyOf(*group);\n    if (!stays"),
         ("placement/claims/group_scopes.cc",
          "  if (own.group == nullptr) return;\n",
          "  if (MUTANT || own.group == nullptr) return;\n")]),
]
