// RequestRotation: deletes old request ids with their answers, and makes the partitions of the
// table that new ones need (SQL: rotate_requests). Deletes no id whose age is below requests_kept.
//
// Belongs to the writer's thread. Invariant: an attempt is made only when ledger time has come to
// another hour than that of the last attempt. What one attempt could not do is left to the next
// one.
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

  // Whether the last attempt was made in another hour than that of `ledger_time`, or none was made.
  bool IsDue(absl::Time ledger_time) const;
  // Makes the attempt of this hour, under the ledger's lock. Tells the operator what PostgreSQL
  // could not do. Closes a broken connection. REQUIRES: IsDue(`ledger_time`), the connection is
  // open, and no transaction is open.
  void Rotate(absl::Time ledger_time);

 private:
  const LedgerOptions& options_;
  WriterConnection* const connection_;
  Health* const health_;
  int64_t rotated_hour_ = -1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_REQUEST_ROTATION_H_
