// Details of a record that tests read: names of CPUs, separated by blanks. First come those that
// the instance has on its node, then behind `new` those on the destinations of its migrations, and
// behind `old` those on their sources.
#ifndef BERTH_TESTS_PLACEMENT_RULES_CPU_DETAILS_H_
#define BERTH_TESTS_PLACEMENT_RULES_CPU_DETAILS_H_

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "placement/commands/record_write.h"

namespace berth::placement {

// The placement::HeldReader of these details.
inline std::set<std::string> ReadCpus(const InstanceRecord& record,
                                      const std::vector<MigrationPtr>& migrations,
                                      const std::string& host, ProviderId node) {
  const auto is_here = [&](const std::string& its_host, const std::optional<ProviderId>& its) {
    return its_host == host && (!its || *its == node);
  };
  bool here = is_here(record.host, record.node);
  std::set<std::string> names;
  for (const absl::string_view word : absl::StrSplit(record.details, ' ', absl::SkipEmpty())) {
    if (word == "new" || word == "old") {
      here = false;
      for (const MigrationPtr& move : migrations) {
        here = here || (word == "new" ? is_here(move->destination_host, move->destination_node)
                                      : is_here(move->source_host, move->source_node));
      }
    } else if (here) {
      names.insert(std::string(word));
    }
  }
  return names;
}

// Puts the instance on a node with the details `details`.
class CpuEdit final : public InstanceEdit {
 public:
  CpuEdit(std::string host, std::optional<ProviderId> node, std::string details)
      : host_(std::move(host)), node_(node), details_(std::move(details)) {}

  absl::StatusOr<InstanceRecord> Apply(const InstanceRecord& before) const override {
    InstanceRecord after = before;
    after.host = host_;
    after.node = node_;
    after.details = details_;
    return after;
  }

 private:
  const std::string host_;
  const std::optional<ProviderId> node_;
  const std::string details_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_RULES_CPU_DETAILS_H_
