#include "tracker/account/ownership.h"

#include <utility>

namespace berth::tracker {
namespace {

std::vector<const Assigned*> PartsOf(const InstanceEntry& entry) {
  std::vector<const Assigned*> parts;
  if (entry.own.has_value()) parts.push_back(&entry.own->assigned);
  if (entry.held.has_value()) parts.push_back(&entry.held->assigned);
  return parts;
}

}  // namespace

// Whether the entry of another instance may get or lose something with this one.
bool Ownership::IsContested(const Uuid& instance_uuid, const InstanceEntry& entry) const {
  if (faults_.empty()) return false;
  if (faults_.contains(instance_uuid)) return true;
  for (const Assigned* const assigned : PartsOf(entry)) {
    if (owners_.IsContested(*assigned)) return true;
  }
  return false;
}

void Ownership::Add(const Uuid& instance_uuid, const InstanceEntry& entry) {
  counted_ = counted_ && !IsContested(instance_uuid, entry);
  if (!counted_) return;
  for (const Assigned* const assigned : PartsOf(entry)) {
    // What is left out here makes a new conflict, in which the uuids decide.
    if (!owners_.Take(instance_uuid, *assigned).empty()) counted_ = false;
  }
}

void Ownership::Remove(const Uuid& instance_uuid, const InstanceEntry& entry) {
  counted_ = counted_ && !IsContested(instance_uuid, entry);
  if (!counted_) return;
  for (const Assigned* const assigned : PartsOf(entry)) {
    owners_.GiveBack(instance_uuid, *assigned);
  }
}

void Ownership::Count(const std::optional<NumaTopology>& topology,
                      const std::map<Uuid, InstanceEntry>& entries) {
  if (counted_) return;
  owners_ = Owners(topology);
  faults_.clear();
  for (const auto& [uuid, entry] : entries) {
    for (const Assigned* const assigned : PartsOf(entry)) {
      for (std::string& text : owners_.Take(uuid, *assigned)) {
        faults_[uuid].push_back(std::move(text));
      }
    }
  }
  counted_ = true;
}

}  // namespace berth::tracker
