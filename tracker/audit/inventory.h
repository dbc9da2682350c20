// What a node's root provider offers.
//
// Pure functions of values.
#ifndef BERTH_TRACKER_AUDIT_INVENTORY_H_
#define BERTH_TRACKER_AUDIT_INVENTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The inventory of one resource class on one provider, as placement keeps it.
struct Inventory {
  int64_t total = 0;
  int64_t reserved = 0;
  int64_t min_unit = 1;
  int64_t max_unit = 1;
  int64_t step_size = 1;
  double allocation_ratio = 1.0;

  friend bool operator==(const Inventory&, const Inventory&) = default;
};

using Inventories = std::map<std::string, Inventory>;  // by resource class

// Usage that placement cannot know and must not give away, in the units of the classes.
struct Withheld {
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;
};

struct RootInventory {
  Inventories inventories;
  std::vector<std::string> problems;  // an option that was clamped, by name
};

// The root inventory (T-200): classes with a total of zero are left out. A reserve above the total
// is clamped and named (T-204). Ratios follow T-205, with `placed` being what placement has now.
// Withheld usage raises `reserved` by ceil(usage / ratio), up to the total.
RootInventory DescribeRootInventory(const Facts& facts, const NodeConfiguration& configuration,
                                    const Inventories& placed, const Withheld& withheld);

// The ratio for a class: configured and not zero, else placed, else initial (T-205). A node record
// that is read or refreshed follows the same rule with its own last value as `placed` (T-206).
double ChooseRatio(const std::optional<double>& configured, const std::optional<double>& placed,
                   double initial);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_INVENTORY_H_
