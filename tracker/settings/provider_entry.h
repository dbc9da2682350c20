// ProviderEntry: what an operator adds to one provider. Provider configuration files consist of such
// entries.
//
// Plain values.
#ifndef BERTH_TRACKER_SETTINGS_PROVIDER_ENTRY_H_
#define BERTH_TRACKER_SETTINGS_PROVIDER_ENTRY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracker/ground/uuid.h"

namespace berth::tracker {

// The inventory that a file adds for one class. A file need only have the total.
struct AddedInventory {
  int64_t total = 0;
  int64_t reserved = 0;
  int64_t min_unit = 1;
  int64_t max_unit = 2147483647;
  int64_t step_size = 1;
  double allocation_ratio = 1.0;

  friend bool operator==(const AddedInventory&, const AddedInventory&) = default;
};

// One entry of a file: what is added to the provider with this uuid or with this name. If an entry
// has neither, its uuid in the file is `$COMPUTE_NODE`: it is for the root provider of every node
// that no other entry names.
struct ProviderEntry {
  std::string source;  // FILE:LINE, for messages
  Uuid uuid;           // nil: the entry has none
  std::string name;
  std::map<std::string, AddedInventory> inventories;  // by class; every name begins with CUSTOM_
  std::set<std::string> traits;                       // every name begins with CUSTOM_

  bool every_root() const { return IsNil(uuid) && name.empty(); }
};

// The content of all provider configuration files.
struct ProviderFiles {
  std::vector<ProviderEntry> entries;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // no file was found; this may be as it should be
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_PROVIDER_ENTRY_H_
