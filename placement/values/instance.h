// Records of instances, which say what should run on which node, and of migrations, which say what
// is being moved.
//
// Both are entities of the ledger. A record is not a consumer: an instance has a record even while
// it holds nothing. The consumer that holds its allocations has the same uuid. The ledger decides
// and filters by the typed fields. It keeps the other fields of an instance as bytes and does not
// interpret them. Times are in whole microseconds.
#ifndef BERTH_PLACEMENT_VALUES_INSTANCE_H_
#define BERTH_PLACEMENT_VALUES_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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

// The amounts that an instance asks for by its flavor (T-113). Each is 0..kAmountMax.
struct FlavorAmounts {
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t root_disk_gib = 0;  // 0: the instance starts from a volume
  int64_t ephemeral_disk_gib = 0;
  int64_t swap_mib = 0;

  friend bool operator==(const FlavorAmounts&, const FlavorAmounts&) = default;
};

struct InstanceRecord {
  InstanceId id;
  Generation generation;
  std::string name;                // at most 255 characters, like each text here
  std::string project;             // not empty
  std::string user;                // not empty
  std::string host;                // of the tracker that claimed the instance; empty: none did
  std::optional<ProviderId> node;  // none: the instance is on no node; given only with a host
  std::string vm_state;            // not empty
  std::string task_state;          // empty: nothing is being done
  FlavorAmounts flavor;
  std::string details;  // all other fields, as an encoded message; at most 64 KiB
  absl::Time created_at;
  absl::Time updated_at;
  std::optional<absl::Time> deleted_at;  // since when vm_state is kDeletedState; none: it is not

  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};
using InstancePtr = std::shared_ptr<const InstanceRecord>;

// Whether the instance uses nothing on the host that its record names: it is deleted, or it was
// taken off its host and is not being started again (T-112).
inline bool IsRemovable(const InstanceRecord& instance) {
  return instance.vm_state == kDeletedState ||
         (instance.vm_state == kOffloadedState && instance.task_state != kSpawningTask);
}

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
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const MigrationRecord&, const MigrationRecord&) = default;
};
using MigrationPtr = std::shared_ptr<const MigrationRecord>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_INSTANCE_H_
