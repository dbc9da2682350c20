#include "placement/reads/fleet_audit.h"

#include <algorithm>
#include <iterator>
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

}  // namespace

AllocationAuditPage AuditAllocations(const State& state, std::optional<AllocationFault> only,
                                     std::optional<ConsumerId> after, int limit) {
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
  AllocationAuditPage page;
  std::merge(std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()),
             std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()),
             std::back_inserter(page.findings),
             [](const AllocationFinding& a, const AllocationFinding& b) {
               return a.consumer < b.consumer;
             });
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
