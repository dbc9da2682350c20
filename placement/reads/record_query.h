// Lists of instances and migrations, with filters. Pure.
#ifndef BERTH_PLACEMENT_READS_RECORD_QUERY_H_
#define BERTH_PLACEMENT_READS_RECORD_QUERY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/state/records.h"

namespace berth::placement {

// A record passes if it meets every condition that is given.
struct InstanceFilter {
  std::optional<std::string> host = std::nullopt;
  std::optional<ProviderId> node = std::nullopt;
  std::optional<std::string> project = std::nullopt;
  std::vector<std::string> vm_states = {};  // empty: any
  bool include_deleted = false;
};
struct MigrationFilter {
  std::optional<std::string> host = std::nullopt;  // its source or its destination
  std::optional<ProviderId> node = std::nullopt;   // its source or its destination
  std::optional<InstanceId> instance = std::nullopt;
  std::vector<std::string> statuses = {};  // empty: any
  std::optional<bool> in_progress = std::nullopt;
};

template <typename Pointer>
struct RecordPage {
  std::vector<Pointer> records;  // in order of id
  bool more = false;             // whether other records follow
};

// INVALID_ARGUMENT / INVALID_FIELD if the filter has more than kTermsMax words: each record is
// compared with all of them.
absl::Status CheckSize(const InstanceFilter& filter);
absl::Status CheckSize(const MigrationFilter& filter);

// The first `limit` records that pass the filter and have ids greater than `after`. If the filter
// names a host or, for migrations, an instance, only the records of this host or instance are read.
RecordPage<InstancePtr> ListInstances(const Records& records, const InstanceFilter& filter,
                                      std::optional<InstanceId> after, int limit);
RecordPage<MigrationPtr> ListMigrations(const Records& records, const MigrationFilter& filter,
                                        std::optional<MigrationId> after, int limit);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_RECORD_QUERY_H_
