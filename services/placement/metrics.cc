#include "services/placement/metrics.h"

#include <map>
#include <memory>
#include <string>

#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/reads/fleet_audit.h"
#include "placement/reads/fleet_sums.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

using placement::State;

struct ClassSum {
  double capacity = 0;
  double used = 0;
  double reserved = 0;
};

using ClassSums = std::map<placement::ClassId, ClassSum>;

void AddTree(const placement::Tree& tree, ClassSums* sums) {
  for (int p = 0; p < tree.size(); ++p) {
    const std::vector<placement::InventoryRow>& rows = tree.config(p).inventories;
    for (size_t row = 0; row < rows.size(); ++row) {
      ClassSum& sum = (*sums)[rows[row].resource_class];
      sum.capacity += static_cast<double>(rows[row].capacity);
      sum.used += static_cast<double>(tree.used_of(p, static_cast<int>(row)));
      sum.reserved += static_cast<double>(rows[row].inventory.reserved);
    }
  }
}

void MeasureBatches(const placement::LedgerHealth& health, Samples* samples) {
  const struct {
    const char* name;
    const char* help;
    int64_t value;
  } counters[] = {
      {"batches_total", "Batches that this process committed.", health.batches},
      {"short_batches_total",
       "Batches that this process committed or answered on the short road: in one round trip.",
       health.short_batches},
      {"ahead_batches_total",
       "Batches that were decided while the batch before them was being committed.",
       health.ahead_batches},
      {"moved_batches_total",
       "Batches that PostgreSQL did not write, because another process had written or because a "
       "request id was used before. Their writes were decided again.",
       health.moved_batches},
      {"dropped_batches_total",
       "Batches that were decided and not sent, because a write was cancelled or too late or "
       "because the batch before failed. Their other writes were decided again.",
       health.dropped_batches},
      {"commands_total", "Writes that were answered after their batch.", health.commands},
      {"refusals_total", "Writes that were refused by a rule.", health.refusals},
      {"command_queue_refusals_total",
       "Writes that were refused because their caller had too many of them waiting.",
       health.refused_by_turn},
      {"db_in_doubt_total",
       "Writes whose batch was lost with the connection, so that its outcome had to be looked up.",
       health.in_doubt},
      {"db_reconnects_total", "Lost connections that left the outcome of no write unknown.",
       health.reconnects},
      {"followed_rows_total", "Log rows of other processes that were applied.",
       health.followed_rows},
      {"reloads_total", "Loads of all tables after the start.", health.reloads}};
  for (const auto& counter : counters) {
    samples->Counter(counter.name, counter.help, static_cast<double>(counter.value));
  }
}

void MeasureLedger(const placement::Ledger& ledger, const State& state, Samples* samples) {
  const placement::LedgerHealth health = ledger.health();
  const placement::Position& position = state.position();
  samples->Gauge("revision", "Number of the newest revision; reads are answered from it.",
                 static_cast<double>(position.revision.number));
  samples->Gauge("epoch", "The ledger's epoch.", static_cast<double>(position.revision.epoch));
  samples->Gauge("writable", "1 while writes are taken.", health.writable ? 1 : 0);
  samples->Gauge("recovery_required", "1 when the database went back in time.",
                 health.recovery_required ? 1 : 0);
  samples->Gauge("staleness_seconds",
                 "Time since the begin of the last successful read of the log.",
                 absl::ToDoubleSeconds(health.staleness));
  samples->Gauge("command_queue_length", "Writes that wait for the ledger.",
                 static_cast<double>(health.queue_length));
  MeasureBatches(health, samples);
  const std::pair<const char*, int64_t> claims[] = {{"done", health.claims_done},
                                                    {"no_room", health.claims_without_room},
                                                    {"refused", health.claims_refused}};
  for (const auto& [result, value] : claims) {
    samples->Counter("claims_total", "Writes that left a consumer with allocations.",
                     static_cast<double>(value), {{"result", result}});
  }
  const std::pair<const char*, int64_t> conflicts[] = {{"provider", health.provider_conflicts},
                                                       {"consumer", health.consumer_conflicts}};
  for (const auto& [kind, value] : conflicts) {
    samples->Counter("generation_conflicts_total",
                     "Writes that were refused because of a stale generation.",
                     static_cast<double>(value), {{"kind", kind}});
  }
}

void MeasureFleet(const State& state, Samples* samples) {
  double up = 0, down = 0;
  state.services().ForEach([&](const auto&, const auto& service) {
    (placement::HoldsLease(*service) ? up : down) += 1;
  });
  samples->Gauge("trackers", "Services by state.", up, {{"state", "up"}});
  samples->Gauge("trackers", "Services by state.", down, {{"state", "down"}});
  samples->Gauge("providers", "Resource providers.", static_cast<double>(state.provider_count()));
  samples->Gauge("consumers", "Consumers with allocations.",
                 static_cast<double>(state.consumers().size()));
}

void MeasureNodes(const State& state, Samples* samples) {
  const placement::FleetSums sums = placement::SumUpFleet(state);
  samples->Gauge("nodes", "Nodes of enabled services.", static_cast<double>(sums.node_count));
  const std::pair<const char*, const placement::NodeAmounts*> kinds[] = {
      {"total", &sums.total}, {"used", &sums.used}, {"free", &sums.free}};
  for (const auto& [kind, amounts] : kinds) {
    const std::pair<const char*, int64_t> numbers[] = {{"vcpus", amounts->vcpus},
                                                       {"pcpus", amounts->pcpus},
                                                       {"memory_mib", amounts->memory_mib},
                                                       {"disk_gib", amounts->disk_gib}};
    for (const auto& [resource, number] : numbers) {
      samples->Gauge("node_amounts",
                     "What the nodes of enabled services have, what is promised there, and what "
                     "is left. The vcpus of what is promised include the pcpus.",
                     static_cast<double>(number), {{"kind", kind}, {"resource", resource}});
    }
  }
}

void MeasureClasses(const State& state, Samples* samples) {
  ClassSums sums;
  for (const auto& chunk : state.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) AddTree(*chunk->trees[t], &sums);
  }
  for (const auto& [id, sum] : sums) {
    const std::string* name = ClassName(state.catalog(), id);
    if (name == nullptr) continue;
    const Samples::Labels labels = {{"resource_class", *name}};
    samples->Gauge("capacity", "Capacity of all providers, by class.", sum.capacity, labels);
    samples->Gauge("used", "Allocated amounts of all providers, by class.", sum.used, labels);
    samples->Gauge("reserved", "Reserved amounts of all providers, by class.", sum.reserved,
                   labels);
  }
}

// Counts leak candidates, at most once in kLeakAge: that looks at every consumer. Thread-safe.
class LeakCount {
 public:
  int64_t Of(const State& state) {
    placement::MutexLock lock(&mutex_);
    const placement::BootTime now = placement::BootNow();
    if (now - counted_at_ >= kLeakAge) {
      count_ = placement::CountLeakCandidates(state);
      counted_at_ = now;
    }
    return count_;
  }

 private:
  static constexpr absl::Duration kLeakAge = absl::Seconds(30);

  placement::Mutex mutex_;
  placement::BootTime counted_at_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

void MeasurePlacement(const placement::Ledger* ledger, const Workers* workers,
                      const ReportSessions* sessions, absl::Duration stale_age, Metrics* metrics) {
  const auto leaks = std::make_shared<LeakCount>();
  metrics->AddSource([=](Samples* samples) {
    const placement::StatePtr state = ledger->Newest();
    MeasureLedger(*ledger, *state, samples);
    MeasureFleet(*state, samples);
    MeasureNodes(*state, samples);
    samples->Gauge("stale_migrations",
                   "Migrations that may hold resources and do not go on (--stale-migration-age).",
                   static_cast<double>(placement::StaleMigrations(*state, stale_age).size()));
    samples->Gauge("leak_candidates",
                   "Consumers whose records are gone or over; counted every 30 s at most.",
                   static_cast<double>(leaks->Of(*state)));
    MeasureClasses(*state, samples);
    samples->Gauge("worker_queue_length", "Searches and lists that wait for a worker.",
                   workers->queue_length());
    samples->Counter(
        "worker_refusals_total",
        "Work that was refused because too much of its kind waited for a worker: calls of "
        "those with too many waiting, and turns of watches and trackers, which come later.",
        static_cast<double>(workers->refused_count()));
    sessions->Measure(samples);
  });
}

}  // namespace berth::services
