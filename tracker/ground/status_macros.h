// BERTH_RETURN_IF_ERROR and BERTH_ASSIGN_OR_RETURN end the calling function if a call failed.
//
// The calling function must return an absl::Status or an absl::StatusOr.
#ifndef BERTH_TRACKER_GROUND_STATUS_MACROS_H_
#define BERTH_TRACKER_GROUND_STATUS_MACROS_H_

#include <utility>

#include "absl/status/statusor.h"

// If the status of `expression` is not OK, the calling function returns it.
#define BERTH_RETURN_IF_ERROR(expression)                                   \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// Evaluates an expression, the arguments after the first, that yields an absl::StatusOr. If it is
// not OK, the calling function returns its status. Otherwise its value initializes `declaration`:
//   BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, "provider_uuid", uuid));
#define BERTH_ASSIGN_OR_RETURN(declaration, ...) \
  BERTH_ASSIGN_OR_RETURN_AS(BERTH_JOIN(status_or_, __LINE__), declaration, __VA_ARGS__)
#define BERTH_ASSIGN_OR_RETURN_AS(held, declaration, ...) \
  auto held = __VA_ARGS__;                                \
  if (!held.ok()) return held.status();                   \
  declaration = *std::move(held)
#define BERTH_JOIN(left, right) BERTH_JOIN_EXPANDED(left, right)
#define BERTH_JOIN_EXPANDED(left, right) left##right

#endif  // BERTH_TRACKER_GROUND_STATUS_MACROS_H_
