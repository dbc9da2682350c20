// NaiveAccount: the account of a node, computed from all records at once and in the plainest way.
//
// Tests compare the product's account with it. It uses the types of records and none of the
// product's rules.
#ifndef BERTH_TESTS_COUNTED_NAIVE_ACCOUNT_H_
#define BERTH_TESTS_COUNTED_NAIVE_ACCOUNT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracker/account/account.h"

namespace berth::tracker {

struct NaiveCell {
  int64_t shared_cpus = 0;
  int64_t memory_mib = 0;
  std::set<int> pinned_cpus;
  std::map<int64_t, int64_t> pages;  // every size of the cell
  friend bool operator==(const NaiveCell&, const NaiveCell&) = default;
};

struct NaiveAccount {
  int64_t vcpus_used = 0;
  int64_t memory_mib_used = 0;
  int64_t disk_mib_used = 0;
  int64_t current_workload = 0;
  std::map<std::string, int64_t> counters;  // without 0
  std::map<int, NaiveCell> cells;
  std::map<std::string, Uuid> device_owners;
  std::map<NamedUnit, Uuid> unit_owners;
  std::set<Uuid> tracked_instances;
  std::map<Uuid, Uuid> tracked_migrations;
  std::set<Uuid> stale_migrations;
  int conflicts = 0;  // CPUs, devices and units that would have a second owner
};

// `instances` by uuid.
NaiveAccount CountNaively(const HostAndNode& self, const NodeResources& resources,
                          const std::map<Uuid, Instance>& instances,
                          const std::vector<Migration>& migrations);

}  // namespace berth::tracker

#endif  // BERTH_TESTS_COUNTED_NAIVE_ACCOUNT_H_
