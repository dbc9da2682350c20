"""The mutants in which one caller takes from others: turns in a queue, a waiting room, places, slots, days. And those in which one is
where he may not be. More: mutations_of_parts.py."""

# (name, program below build/dev/tests, which of its tests, [(file, what stands there once, what stands there instead)])
TURNS = [
    ("turns-ignore-owners", "placement/placement_values_test",
     "FairQueueTest.WhoFillsItIsServedInTurnWithWhoComesLater", [(
         "placement/ground/fair_line.h",
         "    Owner* const owner = FindOrAdd(name);\n",
         "    Owner* const owner = FindOrAdd(MUTANT ? absl::string_view(\"one\") : name);\n")]),
    ("process-is-put-out", "placement/placement_values_test", "FairQueueTest.TheProcessItselfHasRoomOfItsOwn", [(
        "placement/ground/fair_line.h",
        "    bool is_own() const { return self->first.empty(); }\n",
        "    bool is_own() const { return self->first.empty() && !MUTANT; }\n")]),
    ("turn-is-an-entry", "placement/placement_values_test", "FairQueueTest.ATurnIsAQuantumOfWork", [(
        "placement/ground/fair_queue.h",
        ".Push(flow.owner, flow.weight,\n",
        ".Push(flow.owner, MUTANT ? 1 : flow.weight,\n")]),
    ("priority-by-entries", "placement/placement_values_test",
     "FairQueueTest.WorsePrioritiesGetTheirShareOfTheWork", [(
         "placement/ground/fair_queue.h",
         "      Note(priority, next->weight);\n",
         "      Note(priority, MUTANT ? 1 : next->weight);\n")]),
    ("worse-priority-starves", "placement/placement_values_test", "FairQueueTest.AWorsePriorityGetsEveryNinthTurn", [(
        "placement/ground/fair_queue.h",
        "    return ahead_[priority] < kShare || !WorseWaits(priority);\n",
        "    return MUTANT || ahead_[priority] < kShare || !WorseWaits(priority);\n")]),
    ("sessions-beside-claims", "placement/placement_writer_test", "CommandQueueTest.SessionsComeAfterOtherWrites", [(
        "placement/writer/command_queue.cc",
        "    return {command.session_owner, Priority::kSessions, pending.weight};\n",
        "    const Priority sessions = MUTANT ? Priority::kFirst : Priority::kSessions;\n"
        "    return {command.session_owner, sessions, pending.weight};\n")]),
    ("invented-host-is-owner", "services/services_streams_test", "ReportSessionTest.AnInventedHostIsNoOwner", [(
        "services/report/tracker_identity.cc",
        "{ return identified() ? Actor() : \"anonymous\"; }\n",
        "{\n  return MUTANT || identified() ? Actor() : \"anonymous\";\n}\n")]),
    ("calls-in-one-turn", "services/services_api_test", "TurnsOfCallersTest.AReadIsNextButOne", [(
        "services/api/edge.cc",
        "  const bool taken = workers_->Submit({call->owner(), priority}, std::move(work),\n",
        "  const std::string owner = MUTANT ? std::string(\"reader/flood\") : call->owner();\n"
        "  const bool taken = workers_->Submit({owner, priority}, std::move(work),\n")]),
    ("claims-beside-reads", "services/services_api_test", "TurnsOfCallersTest.AClaimComesBeforeAllReads", [(
        "services/api/candidate_service.cc",
        "    edge_->OnWorker(call, placement::Priority::kFirst, search_and_write);\n",
        "    edge_->OnWorker(call, MUTANT ? placement::Priority::kReads : placement::Priority::kFirst,\n"
        "                    search_and_write);\n")]),
    ("commands-in-one-turn", "placement/placement_ledger_test", "LedgerTurns.WhoFillsTheQueueKeepsNobodyOut", [(
        "placement/writer/command_queue.cc",
        "  const absl::string_view actor = command.actor;\n",
        "  const absl::string_view actor = MUTANT ? absl::string_view(\"one\") : command.actor;\n")]),
    ("room-without-share", "placement/placement_ledger_test",
     "AwaitingTest.TenThousandReadersOfTheFutureKeepNobodyWaiting", [(
         "placement/publish/waiting_room.cc",
         "  return count != counts_.end() && count->second >= std::max(share_, FreePlaces() / 2);\n",
         "  return !MUTANT && count != counts_.end() && count->second >= std::max(share_, FreePlaces() / 2);\n")]),
    ("empty-room-in-tenths", "placement/placement_writer_test", "WaitingRoomTest.OneOwnerHasMoreOfAnEmptyRoom", [(
        "placement/publish/waiting_room.cc",
        "count->second >= std::max(share_, FreePlaces() / 2);\n",
        "count->second >= (MUTANT ? share_ : std::max(share_, FreePlaces() / 2));\n")]),
    ("yard-cleared-at-once", "placement/placement_ledger_test",
     "AwaitingTest.TenThousandReadersOfTheFutureKeepNobodyWaiting", [(
         "placement/publish/waiting_room.cc",
         "  for (int i = 0; i < count && !yard_.empty(); ++i) {\n",
         "  for (int i = 0; (MUTANT || i < count) && !yard_.empty(); ++i) {\n")]),
    ("address-without-share", "services/services_process_test",
     "AcceptorTest.OneAddressDoesNotTakeTheConnectionsOfOthers", [(
         "services/process/open_connections.cc",
         "  return count != counts_.end() && count->second >= std::max(share_, 2 * (places_max_ - size_));\n",
         "  return !MUTANT && count != counts_.end() &&\n"
         "         count->second >= std::max(share_, 2 * (places_max_ - size_));\n")]),
    ("slow-handshake-keeps-its-place", "services/services_process_test",
     "OpenConnectionsTest.WhoTakesLongLosesItsPlaceOnlyIfOthersWait", [(
         "services/process/open_connections.cc",
         "    at = is_over || makes_way ? Settle(at) : std::next(at);\n",
         "    at = is_over || (makes_way && !MUTANT) ? Settle(at) : std::next(at);\n")]),
    ("answers-in-one-turn", "placement/placement_writer_test", "AnswererTest.OwnersTakeTurns", [(
        "placement/publish/answerer.cc",
        "    const std::string owner = answer.owner;\n",
        "    const std::string owner = MUTANT ? std::string(\"one\") : answer.owner;\n")]),
    ("large-batches-beside-others", "placement/placement_writer_test",
     "CommandQueueTest.BatchesAreSmallBesideAFlood", [(
         "placement/writer/command_queue.cc",
         "  const bool is_shared = now - std::min(caller_changed_, flooded_) < kSharedFor;\n",
         "  const bool is_shared = !MUTANT && now - std::min(caller_changed_, flooded_) < kSharedFor;\n")]),
    ("cancelled-reader-waits", "placement/placement_ledger_test", "AwaitingTest.WhoIsCancelledLeaves", [(
        "placement/publish/publisher.cc",
        "      if (waiter.call.cancelled && *waiter.call.cancelled) {\n",
        "      if (!MUTANT && waiter.call.cancelled && *waiter.call.cancelled) {\n")]),
    ("slots-without-share", "services/services_streams_test",
     "ReportSessionTest.InventedNodesDoNotTakeTheSlotsOfOthers", [(
         "services/report/snapshot_slots.cc",
         "  if (slots_.size() < slots_max_ && of_host < host_max_ && turns_.empty()) {\n",
         "  if (slots_.size() < slots_max_ && (MUTANT || of_host < host_max_) && turns_.empty()) {\n")]),
    ("work-in-one-line", "services/services_api_test", "TurnsOfCallersTest.AClaimComesBeforeAllReads", [(
        "services/process/workers.cc",
        "    auto pushed = share.queue.Push(flow, std::move(added));\n",
        "    auto pushed = share.queue.Push(MUTANT ? placement::Flow{\"one\"} : flow, std::move(added));\n")]),
    ("no-urgent-workers", "services/services_process_test", "WorkersTest.UrgentWorkHasAThreadOfItsOwn", [(
        "services/process/workers.cc",
        "  return has_urgent_ && priority <= placement::Priority::kSessions ? urgent_ : other_;\n",
        "  return !MUTANT && has_urgent_ && priority <= placement::Priority::kSessions ? urgent_ : other_;\n")]),
    ("exports-without-share", "services/services_api_test", "ExportPlacesTest.OneIdentityHasTwoAndAllHaveEight", [(
        "services/api/export_places.cc",
        "  if (of_owner >= kOwnerMax || exports_.size() >= kExportsMax) return 0;\n",
        "  if ((of_owner >= kOwnerMax && !MUTANT) || exports_.size() >= kExportsMax) return 0;\n")]),
    ("export-without-end", "services/services_api_test", "SlowExportTest.WhoDoesNotReadKeepsNeitherStateNorPlace", [(
        "services/api/export_places.cc",
        "      const bool is_late = at->second.waits_since &&",
        "      const bool is_late = !MUTANT && at->second.waits_since &&")]),
    ("turns-count-as-reading", "services/services_api_test", "ExportPlacesTest.OnlyReadingCounts", [(
        "services/api/export_places.cc",
        "    running->second.read_for += now - *since;\n",
        "    running->second.read_for += now - (MUTANT ? running->second.begun_at : *since);\n")]),
    ("one-reader-asks-for-all", "services/services_api_test",
     "LostChangesTest.OneReaderDoesNotTakeThePlacesOfOthers", [(
         "services/api/lost_changes.cc",
         "waiting_.try_emplace(owner, answer).second;\n",
         "waiting_.try_emplace(MUTANT ? owner + std::to_string(waiting_.size()) : owner, answer).second;\n")]),
    ("allowance-not-charged", "services/services_streams_test",
     "DailyLimitSessionTest.NewNamesAreChargedOnceAndARefusalLeavesTheStreamOpen", [(
         "services/report/tracker_day.cc",
         "    if (is_name) ++brought.names;\n",
         "    if (is_name && !MUTANT) ++brought.names;\n")]),
    # Callers who may not be here.
    ("denied-stream-stays", "services/services_process_test", "LapseTest.OpenCallsEndWhenTheirIdentityIsDenied", [(
        "services/process/server.cc",
        "    const bool all = std::exchange(version_, version) != version;\n",
        "    const bool all = std::exchange(version_, version) != version && !MUTANT;\n")]),
    ("removed-ca-stays", "services/services_process_test", "LapseTest.OpenCallsEndWhenTheirCaIsTakenAway", [(
        "services/process/admission.cc",
        "  if (connection == nullptr || tls_ == nullptr || tls_->ca_changes() == 0) return absl::OkStatus();\n",
        "  if (MUTANT || connection == nullptr || tls_ == nullptr || tls_->ca_changes() == 0) return absl::OkStatus();\n")]),
    ("rpc-open-to-one-more", "refusals/every_pair_test", "EveryPair.OfARoleAndAnRpcIsAsAgreed", [(
        "services/access/table.cc",
        "  if (role != acl::ROLE_UNSPECIFIED && roles.Has(role)) return absl::OkStatus();\n",
        "  if (role != acl::ROLE_UNSPECIFIED && roles.Has(role)) return absl::OkStatus();\n"
        "  if (MUTANT && role == acl::ROLE_READER && absl::EndsWith(method, \"/GetChannel\")) return absl::OkStatus();\n")]),
    ("reasons-hide-each-other", "services/services_process_test",
     "RefusalLogTest.HasOneLineASecondForEachCallerAndReason", [(
         "services/log/refusal_log.cc",
         "  if (!pace_.Lets(absl::StrCat(call.caller, \" \", call.reason), now, &omitted)) return;\n",
         "  const std::string key = absl::StrCat(call.caller, \" \", MUTANT ? absl::string_view() : call.reason);\n"
         "  if (!pace_.Lets(key, now, &omitted)) return;\n")]),
]
