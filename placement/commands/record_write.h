// WriteRecords: the command with which a tracker writes the records of an instance that it has
// claimed, and of the migration that moves the instance. As values.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_

#include <memory>
#include <optional>
#include <string>

#include "placement/commands/record.h"
#include "placement/values/instance.h"
#include "placement/values/move_end.h"
#include "placement/values/types.h"

namespace berth::placement {

namespace v1 {
class Instance;
}

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
  // What the tracker says of the instance; records/tracker_edit.h says which fields it decides.
  // Null: withdraws an earlier write with the same generations. The records get new generations and
  // a new updated_at, and keep their other values, so that the earlier write, which may still be on
  // its way, is refused. Of `migration` only the uuid and the generation are used then.
  std::shared_ptr<const v1::Instance> written;
  std::optional<MigrationEdit> migration;  // none: only the instance's record is written
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_WRITE_H_
