// The commands about the records of instances and migrations, as values.
#ifndef BERTH_PLACEMENT_COMMANDS_RECORD_H_
#define BERTH_PLACEMENT_COMMANDS_RECORD_H_

#include <optional>
#include <string>

#include "placement/values/instance.h"
#include "placement/values/move_end.h"
#include "placement/values/types.h"

namespace berth::placement {

// The tracker process that sends a command. A command without one comes from another caller, for
// example a scheduler. rules/fence.h says what a tracker may write.
struct TrackerProcess {
  std::string host;
  Uuid incarnation;
  // The caller has a certificate, and the certificate names this host. False: nobody has checked
  // who the caller is. The services set this; no request contains it.
  bool identified = false;
};

// Creates the record of an instance, or replaces the whole record. The generation and the times of
// `record` are ignored.
struct SetInstance {
  InstanceRecord record;
  std::optional<Generation> expected_generation;  // none: there must be no record yet
  std::optional<TrackerProcess> tracker = std::nullopt;
  std::string reason = {};  // for the log; empty: none is given
};
// Removes the record of an instance and the records of all its migrations. What the consumer of the
// instance holds stays, and the consumer gets the type kDeletedInstanceType.
struct DeleteInstance {
  InstanceId instance;
  std::optional<Generation> expected_generation;  // none: any
  std::string reason = {};                        // as in SetInstance
  // The consumers of the instance and of its migrations release all that they hold.
  bool release = false;
};
// Creates the record of a migration. The generation and the times of `record` are ignored.
struct CreateMigration {
  MigrationRecord record;  // an empty status means accepted
  std::optional<TrackerProcess> tracker = std::nullopt;
  std::string reason = {};  // as in SetInstance
};
struct UpdateMigration {
  MigrationId migration;
  std::string expected_status;
  std::string status;                           // empty: keeps its status
  std::optional<std::string> destination_host;  // none: keeps its destination
  std::optional<std::optional<ProviderId>> destination_node;
  std::optional<TrackerProcess> tracker = std::nullopt;
  std::string reason = {};  // as in SetInstance
};
// Ends a move: changes the migration, its instance, and what the consumers of both hold, together.
struct EndMove {
  MigrationId migration;
  MoveEnd end{};
  // Both generations are required, since the caller decided upon the records as it had read them.
  std::optional<Generation> expected_generation;           // of the migration's record
  std::optional<Generation> expected_instance_generation;  // of the instance's record
  // The instance's record afterwards. Its generation and times are ignored. Null: the record stays.
  InstancePtr instance;
  // The generations of the consumers as the caller last read them. 0: the consumer held nothing.
  // None: not compared.
  std::optional<Generation> expected_instance_consumer = std::nullopt;
  std::optional<Generation> expected_migration_consumer = std::nullopt;
  std::optional<TrackerProcess> tracker = std::nullopt;
  std::string reason = {};  // as in SetInstance
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_RECORD_H_
