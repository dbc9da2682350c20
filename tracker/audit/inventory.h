// Computes the inventory of a node's root provider.
//
// Pure functions.
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

// How much of each resource class placement has to reserve for orphans, in the units of the
// classes.
struct Withheld {
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;
};

// Where an allocation ratio comes from.
enum class RatioSource { kSetting, kPlacement, kInitial, kFixed };

struct RatioChoice {
  double ratio = 1.0;
  RatioSource source = RatioSource::kFixed;

  friend bool operator==(const RatioChoice&, const RatioChoice&) = default;
};

struct RootInventory {
  Inventories inventories;
  std::map<std::string, RatioChoice> ratios;  // by resource class
  std::vector<std::string> problems;  // one text per setting that asks for more than the node has
};

// Computes the inventory of the root (T-200). A class with a total of 0 is left out. If the
// reserved amount is above the total, it is lowered to the total, and `problems` says so (T-204).
// `placed` is the inventory that placement has now. ChooseRatio chooses the ratios. Withheld usage
// raises `reserved` by ceil(usage / ratio), but not above the total.
RootInventory DescribeRootInventory(const Facts& facts, const NodeConfiguration& configuration,
                                    const Inventories& placed, const Withheld& withheld);

// Chooses the allocation ratio of a class, as RatioMode says. A ratio of 0 counts as absent (T-205,
// T-206).
RatioChoice ChooseRatio(RatioMode mode, const std::optional<double>& configured,
                        const std::optional<double>& placed, double initial);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_INVENTORY_H_
