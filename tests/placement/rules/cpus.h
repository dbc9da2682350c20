// What tests say of the CPUs in a record: their numbers in cell 0, separated by blanks. First come
// those that the instance has on its node, then behind `new` those on the destinations of its
// migrations, and behind `old` those on their sources. The context has both flavors, without ids.
#ifndef BERTH_TESTS_PLACEMENT_RULES_CPUS_H_
#define BERTH_TESTS_PLACEMENT_RULES_CPUS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/records/message.h"
#include "placement/values/instance.h"

namespace berth::placement {

// The message with which a tracker puts an instance with these CPUs on a node.
inline std::shared_ptr<const v1::Instance> CpuWrite(const std::string& host,
                                                    const std::optional<ProviderId>& node,
                                                    const std::string& cpus) {
  auto written = std::make_shared<v1::Instance>();
  written->set_host(host);
  if (node) written->set_node_uuid(node->ToString());
  auto* cells = written->mutable_numa_cells();
  for (const absl::string_view word : absl::StrSplit(cpus, ' ', absl::SkipEmpty())) {
    if (word == "new" || word == "old") {
      v1::MigrationContext& context = *written->mutable_migration_context();
      context.mutable_old_flavor();
      context.mutable_new_flavor();
      cells = word == "new" ? context.mutable_new_numa_cells() : context.mutable_old_numa_cells();
      continue;
    }
    if (cells->empty()) cells->Add()->set_host_cell(0);
    int cpu = 0;
    if (absl::SimpleAtoi(word, &cpu)) cells->Mutable(0)->add_reserved_cpus(cpu);
  }
  return written;
}

// What a record with these CPUs gives to its instance.
inline HeldPtr Cpus(const std::string& cpus) {
  v1::Instance message = *CpuWrite("", std::nullopt, cpus);
  message.set_uuid(Uuid{1, 1}.ToString());
  return InstanceFrom(message).held;
}

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_RULES_CPUS_H_
