// The records of an import between protos and the domain.
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

// ImportRecords: what a stream of entities has brought so far. Not thread-safe.
class ImportRecords {
 public:
  // Takes the next record. INVALID_FIELD, with its number, where it holds U+0000, is of no kind that
  // the ledger keeps, comes after a kind that stands behind it, or does not read.
  absl::Status Add(const pb::Entity& entity);
  int64_t count() const { return count_; }
  // What was taken; nothing is left.
  placement::ImportLedger TakeCommand() { return std::move(command_); }

 private:
  absl::Status Convert(const pb::Entity& entity);
  absl::Status AddProvider(const pb::Provider& from);
  absl::Status AddConsumer(const pb::Consumer& from);
  absl::Status AddService(const pb::Service& from);
  absl::Status AddNode(const pb::Node& from);

  int64_t count_ = 0;
  int rank_ = 0;  // of the last record's kind
  placement::ImportLedger command_;
};

void FillImportLedger(const WriteAnswer& answer, pb::ImportLedgerResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_IMPORT_H_
