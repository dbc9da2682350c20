// Records of instances, which say what should run on which node, and of migrations, which say what
// is being moved.
//
// Both are entities of the ledger. A record is not a consumer: an instance has a record even while
// it holds nothing. The consumer that holds its allocations has the same uuid.
//
// A record is an index and a body. The index is the typed fields, by which the ledger decides and
// filters. The body is the bytes of a message of record.proto that has all other fields; only
// placement/records reads it. No field is in both. Times are in whole microseconds.
#ifndef BERTH_PLACEMENT_VALUES_INSTANCE_H_
#define BERTH_PLACEMENT_VALUES_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// The vm_state of an instance that was deleted and whose record is kept (T-112).
inline constexpr absl::string_view kDeletedState = "deleted";
// The vm_state of an instance that was taken off its host, and the task_state while it is started
// again (T-112).
inline constexpr absl::string_view kOffloadedState = "shelved_offloaded";
inline constexpr absl::string_view kSpawningTask = "spawning";
// The vm_state of an instance, or the status of a migration, whose stored bytes cannot be read. Of
// such a record only the ids and the generation are known; the next write replaces it.
inline constexpr absl::string_view kUnreadable = "unreadable";

// The amounts that an instance asks for by its flavor (T-113). Each is 0..kAmountMax.
struct FlavorAmounts {
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t root_disk_gib = 0;  // 0: the instance starts from a volume
  int64_t ephemeral_disk_gib = 0;
  int64_t swap_mib = 0;

  int64_t local_disk_gib() const { return root_disk_gib + ephemeral_disk_gib; }  // without swap
  friend bool operator==(const FlavorAmounts&, const FlavorAmounts&) = default;
};
// The amounts, with the names of their fields in message Flavor.
inline constexpr std::pair<const char*, int64_t FlavorAmounts::*> kFlavorAmounts[] = {
    {"vcpus", &FlavorAmounts::vcpus},
    {"memory_mib", &FlavorAmounts::memory_mib},
    {"root_disk_gib", &FlavorAmounts::root_disk_gib},
    {"ephemeral_disk_gib", &FlavorAmounts::ephemeral_disk_gib},
    {"swap_mib", &FlavorAmounts::swap_mib}};

// The names of CPUs, PCI devices and named units of a node. Equal names on one node mean the same
// part: `c<cell>/<CPU>`, `d<address of a PCI device>`, `u<provider>/<class>/<unit>`. One text holds
// all names: as a set of strings, the names of four CPUs would take 200 bytes more.
using PartNameSet = absl::btree_set<std::string>;
class PartNames {
 public:
  PartNames() = default;
  // REQUIRES: no name is empty or contains a NUL.
  explicit PartNames(const PartNameSet& names);

  bool empty() const { return text_.empty(); }
  // All names, ascending.
  std::vector<absl::string_view> List() const;
  PartNameSet ToSet() const;
  const std::string& text() const { return text_; }

  friend bool operator==(const PartNames&, const PartNames&) = default;

 private:
  std::string text_;  // the names, ascending, with a NUL between two
};

// What the record of an instance gives to this instance alone: host CPUs, PCI devices and named
// units. commands/node_share.h says which of these the instance has on which node. Derived from the
// body (records/message.h).
struct HeldParts {
  // The migration context of the record.
  struct Context {
    std::optional<MigrationId> migration;  // none: the context names no migration
    bool has_old_flavor = false;
    bool has_new_flavor = false;
    PartNames before;  // on the source of the migration
    PartNames after;   // on the destination

    friend bool operator==(const Context&, const Context&) = default;
  };
  PartNames own;                           // on the node that the record names
  std::shared_ptr<const Context> context;  // null: the record has none

  friend bool operator==(const HeldParts& a, const HeldParts& b);
};
using HeldPtr = std::shared_ptr<const HeldParts>;

struct InstanceRecord {
  InstanceId id;
  Generation generation;
  std::string name;                    // at most 255 characters, like each text here
  std::string project;                 // not empty
  std::string user;                    // not empty
  std::string host;                    // of the tracker that claimed the instance; empty: none did
  std::optional<ProviderId> node;      // none: the instance is on no node; given only with a host
  std::string vm_state;                // not empty
  std::string task_state;              // empty: nothing is being done
  std::optional<ServerGroupId> group;  // none: the instance is in no server group
  std::string flavor_id;               // empty: not given
  FlavorAmounts flavor;
  HeldPtr held;      // null: no names and no context
  std::string body;  // the other fields; at most 64 KiB
  absl::Time created_at;
  absl::Time updated_at;
  std::optional<absl::Time> deleted_at;  // since when vm_state is kDeletedState; none: it is not

  friend bool operator==(const InstanceRecord& a, const InstanceRecord& b);
};
using InstancePtr = std::shared_ptr<const InstanceRecord>;

// Whether the instance uses nothing on the host that its record names: it is deleted, or it was
// taken off its host and is not being started again (T-112).
inline bool IsRemovable(const InstanceRecord& instance) {
  return instance.vm_state == kDeletedState ||
         (instance.vm_state == kOffloadedState && instance.task_state != kSpawningTask);
}

// The group of which the record makes the instance a member. None: of no group. A deleted instance
// is no member of the group that its record names, and that group need not exist any more.
inline std::optional<ServerGroupId> MemberGroup(const InstanceRecord& instance) {
  return instance.vm_state == kDeletedState ? std::nullopt : instance.group;
}

// What the record gives to the instance alone, which may be nothing.
const HeldParts& HeldOf(const InstanceRecord& instance);

// The kinds of moves (T-128). The numbers are stored.
enum class MigrationType { kCold = 1, kResize = 2, kLive = 3, kEvacuation = 4 };
inline constexpr int kMigrationTypeMax = static_cast<int>(MigrationType::kEvacuation);

// A move of an instance from a source to a destination. The instance has a record.
struct MigrationRecord {
  MigrationId id;
  Generation generation;
  InstanceId instance;
  MigrationType type = MigrationType::kCold;
  std::string status;  // not empty; values/migration_status.h lists the words and their meaning
  std::string source_host;  // not empty
  std::optional<ProviderId> source_node;
  std::string destination_host;                // empty: not known yet
  std::optional<ProviderId> destination_node;  // none: not known yet; given only with a host
  std::string old_flavor_id;                   // empty: not given
  std::string new_flavor_id;
  std::string body;  // fields that this release does not know; at most 64 KiB
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const MigrationRecord&, const MigrationRecord&) = default;
};
using MigrationPtr = std::shared_ptr<const MigrationRecord>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_INSTANCE_H_
