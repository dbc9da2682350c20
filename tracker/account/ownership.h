// Ownership: who owns what the entries of a node's account name, while the entries change.
//
// A plain value. The entries stay with the caller, who tells of each change of them.
//
// Invariant: after Count, the owners are those that taking the parts of all entries gives, in the
// order of the uuids. So of two instances that name one part, the one with the lower uuid has it.
#ifndef BERTH_TRACKER_ACCOUNT_OWNERSHIP_H_
#define BERTH_TRACKER_ACCOUNT_OWNERSHIP_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracker/account/holding.h"
#include "tracker/account/owners.h"
#include "tracker/facts/numa.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

class Ownership {
 public:
  // Of no entries. `topology` is what the host offers.
  explicit Ownership(const std::optional<NumaTopology>& topology) : owners_(topology) {}

  // To be called when the entry of an instance came or went. What touches no conflict between
  // entries is taken or given back at once. Any other change makes the next Count look at all
  // entries: however many such changes there are, it looks at each entry once.
  void Add(const Uuid& instance_uuid, const InstanceEntry& entry);
  void Remove(const Uuid& instance_uuid, const InstanceEntry& entry);
  // To be called when the host offers something else.
  void Forget() { counted_ = false; }
  // Counts the owners anew if a change made that necessary.
  void Count(const std::optional<NumaTopology>& topology,
             const std::map<Uuid, InstanceEntry>& entries);

  // REQUIRES: Count was called after the last change. The same holds for faults().
  const Owners& owners() const { return owners_; }
  // The texts of Owners::Take about what could not be owned, by instance.
  const std::map<Uuid, std::vector<std::string>>& faults() const { return faults_; }

 private:
  bool IsContested(const Uuid& instance_uuid, const InstanceEntry& entry) const;

  Owners owners_;
  std::map<Uuid, std::vector<std::string>> faults_;
  bool counted_ = true;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_OWNERSHIP_H_
