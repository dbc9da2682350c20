// Conversion of the records of an import from proto messages to domain types.
#ifndef BERTH_SERVICES_WIRE_IMPORT_H_
#define BERTH_SERVICES_WIRE_IMPORT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "berth/placement/v1/entity.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "placement/commands/command.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

// ImportRecords: collects the entities that arrive on a stream into one command. Not thread-safe.
class ImportRecords {
 public:
  // Adds the next record to the command. Fails with INVALID_FIELD and the number of the record in
  // four cases: the record contains U+0000, its kind cannot be imported, a record of a later kind
  // came before it, or one of its fields is invalid.
  absl::Status Add(const pb::Entity& entity);
  int64_t count() const { return count_; }
  // Hands over the command. No other call may follow.
  placement::ImportLedger TakeCommand() { return std::move(command_); }

 private:
  absl::Status Convert(const pb::Entity& entity);
  absl::Status AddProvider(const pb::Provider& from);
  absl::Status AddConsumer(const pb::Consumer& from);
  absl::Status AddService(const pb::Service& from);
  absl::Status AddNode(pb::Node from);
  absl::Status AddAggregate(const pb::Aggregate& from);
  absl::Status AddServerGroup(const pb::ServerGroup& from);
  absl::Status AddInstance(const pb::Instance& from);
  absl::Status AddMigration(const pb::Migration& from);

  int64_t count_ = 0;
  pb::Entity::EntityCase last_ = pb::Entity::ENTITY_NOT_SET;  // the kind of the last record
  placement::ImportLedger command_;
};

void FillImportLedger(const WriteAnswer& answer, pb::ImportLedgerResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_IMPORT_H_
