// RequestRotation: drops the request ids that are too old.
//
// Belongs to the writer's thread. Invariant: in each hour of ledger time one attempt is made. If it
// fails, the ids are dropped with those of the next hour.
#ifndef BERTH_PLACEMENT_WRITER_REQUEST_ROTATION_H_
#define BERTH_PLACEMENT_WRITER_REQUEST_ROTATION_H_

#include <cstdint>

#include "absl/time/time.h"
#include "placement/publish/health.h"
#include "placement/publish/options.h"
#include "placement/writer/writer_connection.h"

namespace berth::placement {

class RequestRotation {
 public:
  // All of these must outlive the object.
  RequestRotation(const LedgerOptions& options, WriterConnection* connection, Health* health)
      : options_(options), connection_(connection), health_(health) {}

  // Whether no attempt was made in the hour of `ledger_time`.
  bool IsDue(absl::Time ledger_time) const;
  // Makes the attempt of this hour. Tells the operator what PostgreSQL could not do. REQUIRES:
  // IsDue(`ledger_time`), and no transaction is open.
  void Rotate(absl::Time ledger_time);

 private:
  const LedgerOptions& options_;
  WriterConnection* const connection_;
  Health* const health_;
  int64_t rotated_hour_ = -1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_REQUEST_ROTATION_H_
