// Details of a record that tests read: names of CPUs, separated by blanks. First come those that
// the instance has on its node, then behind `new` those on the destinations of its migrations, and
// behind `old` those on their sources. The flavors are always there, and none has an id.
#ifndef BERTH_TESTS_PLACEMENT_RULES_CPU_DETAILS_H_
#define BERTH_TESTS_PLACEMENT_RULES_CPU_DETAILS_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "placement/commands/record_write.h"

namespace berth::placement {

// The placement::HeldReader of these details.
inline HeldParts ReadCpus(const InstanceRecord& record) {
  HeldParts held;
  HeldParts::Names* names = &held.own;
  for (const absl::string_view word : absl::StrSplit(record.details, ' ', absl::SkipEmpty())) {
    if (word == "new" || word == "old") {
      if (!held.context) held.context = HeldParts::Context{std::nullopt, true, true, {}, {}};
      names = word == "new" ? &held.context->after : &held.context->before;
    } else {
      names->insert(std::string(word));
    }
  }
  return held;
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
