// WriteRecords: the command with which a tracker writes the records of an instance that it has
// claimed, and of the migration that moves the instance. As values.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "placement/commands/record.h"
#include "placement/values/instance.h"
#include "placement/values/move_end.h"
#include "placement/values/types.h"

namespace berth::placement {

// What a write does to the record of an instance. The ledger keeps most fields of a record as bytes
// that it does not read. So the sender of the command writes these bytes for it. Pure: the same
// record gives the same result each time, and the same refusal.
class InstanceEdit {
 public:
  virtual ~InstanceEdit() = default;
  // The record after the write. Its generation and times are ignored. INVALID_FIELD if the record
  // would be malformed.
  virtual absl::StatusOr<InstanceRecord> Apply(const InstanceRecord& before) const = 0;
};

struct MigrationEdit {
  MigrationId migration;
  Generation expected_generation;
  // The move ends, as with EndMove; then status and destination are not used. None: it goes on.
  std::optional<MoveEnd> end = std::nullopt;
  std::string status;
  std::string destination_host;
  std::optional<ProviderId> destination_node;
};

struct WriteRecords {
  TrackerProcess tracker;
  ProviderId node;  // of the tracker's host
  InstanceId instance;
  Generation expected_generation;
  // Null: withdraws an earlier write with the same generations. The records keep their values and
  // get new generations, so that the earlier write, which may still be on its way, is refused. Of
  // `migration` only the uuid and the generation are used then.
  std::shared_ptr<const InstanceEdit> edit;
  std::optional<MigrationEdit> migration;  // none: only the instance's record is written
  HeldReader read_held = nullptr;          // null: owners are not compared
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_
