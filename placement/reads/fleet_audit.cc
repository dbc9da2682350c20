#include "placement/reads/fleet_audit.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "placement/ground/check.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

// Collects the first findings of one walk: one more than the page has, to know whether more follow.
class FirstFindings {
 public:
  FirstFindings(const State& state, std::optional<AllocationFault> only, int limit)
      : state_(state), only_(only), limit_(static_cast<size_t>(limit) + 1) {}

  // Returns false if no further finding is needed.
  bool Look(ConsumerId consumer) {
    std::optional<AllocationFinding> finding = AuditConsumer(state_, consumer);
    if (finding && (!only_ || finding->fault == *only_)) findings_.push_back(*std::move(finding));
    return findings_.size() < limit_;
  }
  std::vector<AllocationFinding> Take() { return std::move(findings_); }

 private:
  const State& state_;
  const std::optional<AllocationFault> only_;
  const size_t limit_;
  std::vector<AllocationFinding> findings_;
};

bool ByConsumer(const AllocationFinding& a, const AllocationFinding& b) {
  return a.consumer < b.consumer;
}

// The findings about orphans after `after` about which AuditConsumer finds nothing, one for each
// guest.
std::vector<AllocationFinding> OrphanFindings(const State& state,
                                              std::optional<AllocationFault> only,
                                              std::optional<ConsumerId> after,
                                              std::vector<ReportedOrphan> orphans) {
  std::sort(orphans.begin(), orphans.end(), [](const ReportedOrphan& a, const ReportedOrphan& b) {
    return std::tie(a.guest, a.node) < std::tie(b.guest, b.node);
  });
  std::vector<AllocationFinding> findings;
  for (const ReportedOrphan& orphan : orphans) {
    if (after && orphan.guest <= *after) continue;
    if (!findings.empty() && findings.back().consumer == orphan.guest) continue;
    if (AuditConsumer(state, orphan.guest)) continue;
    std::optional<AllocationFinding> finding = AuditOrphan(state, orphan);
    if (finding && (!only || finding->fault == *only)) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace

int64_t CountLeakCandidates(const State& state) {
  int64_t count = 0;
  state.consumers().ForEach([&](ConsumerId, const ConsumerPtr& consumer) {
    count += IsLeakCandidate(state, *consumer) ? 1 : 0;
    return true;
  });
  return count;
}

AllocationAuditPage AuditAllocations(const State& state, std::optional<AllocationFault> only,
                                     std::optional<ConsumerId> after, int limit,
                                     std::vector<ReportedOrphan> orphans) {
  // Page::limit is 1 to 1000.
  BERTH_CHECK(limit > 0);
  const Records& records = state.records();
  FirstFindings instances(state, only, limit);
  const auto instance = [&](InstanceId id, const InstancePtr&) {
    return instances.Look(ConsumerId{id.uuid});
  };
  after ? records.instances().ForEachFrom(InstanceId{after->uuid}, instance)
        : records.instances().ForEach(instance);
  FirstFindings others(state, only, limit);
  const auto other = [&](ConsumerId id, const ConsumerPtr&) {
    return records.FindInstance(InstanceId{id.uuid}) != nullptr || others.Look(id);
  };
  after ? state.consumers().ForEachFrom(*after, other) : state.consumers().ForEach(other);
  std::vector<AllocationFinding> first = instances.Take(), second = others.Take();
  const std::vector<AllocationFinding> guests =
      OrphanFindings(state, only, after, std::move(orphans));
  second.insert(second.end(), guests.begin(), guests.end());
  std::sort(second.begin(), second.end(), ByConsumer);
  AllocationAuditPage page;
  std::merge(std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()),
             std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()),
             std::back_inserter(page.findings), ByConsumer);
  page.more = page.findings.size() > static_cast<size_t>(limit);
  if (page.more) page.findings.resize(limit);
  return page;
}

std::vector<MigrationPtr> StaleMigrations(const State& state, absl::Duration age) {
  const absl::Time until = state.position().ledger_time - age;
  std::vector<MigrationPtr> stale = state.records().Moves();
  std::erase_if(stale, [until](const MigrationPtr& move) {
    return move->status == kFinishedStatus || move->updated_at > until;
  });
  std::sort(stale.begin(), stale.end(),
            [](const MigrationPtr& a, const MigrationPtr& b) { return a->id < b->id; });
  return stale;
}

}  // namespace berth::placement
