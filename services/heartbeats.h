// Heartbeats: which services the other placement processes hear, as they write it down.
//
// Each call has a connection of its own and blocks: for a worker. Thread-safe.
#ifndef BERTH_SERVICES_HEARTBEATS_H_
#define BERTH_SERVICES_HEARTBEATS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::services {

class Heartbeats {
 public:
  // `process` names this one's own row.
  Heartbeats(const std::string& database_url, const std::string& process)
      : database_url_(database_url), process_(process) {}

  // When the others last heard each service ("HOST/BINARY"), as far as it is after `since`.
  absl::StatusOr<std::map<std::string, absl::Time>> HeardElsewhere(absl::Time since) const;
  // Removes this process's row, and rows that nobody has written for a day.
  absl::Status RemoveOwn() const;

 private:
  const std::string database_url_;
  const std::string process_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_HEARTBEATS_H_
