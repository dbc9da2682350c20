// Reads uuids and times from the rows of a query.
#ifndef BERTH_PLACEMENT_STORE_ROW_VALUES_H_
#define BERTH_PLACEMENT_STORE_ROW_VALUES_H_

#include <optional>

#include "absl/time/time.h"
#include "placement/ground/check.h"
#include "placement/ground/uuid.h"
#include "placement/store/database.h"

namespace berth::placement {

// REQUIRES: the column has the type uuid and is not null.
inline Uuid UuidAt(const QueryRows& rows, int row, int column) {
  const std::optional<Uuid> uuid = Uuid::Parse(rows.Text(row, column));
  BERTH_CHECK(uuid.has_value());
  return *uuid;
}

// REQUIRES: the column holds microseconds since 1970, and is not null.
inline absl::Time TimeAt(const QueryRows& rows, int row, int column) {
  return absl::FromUnixMicros(rows.Int(row, column));
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROW_VALUES_H_
