#include "placement/ledger/record_texts.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "placement/ground/sha256.h"

namespace berth::placement {
namespace {

std::string Text(const std::optional<ProviderId>& node) { return node ? node->ToString() : "-"; }

std::string Text(const std::optional<absl::Time>& time) {
  return time ? absl::StrCat(absl::ToUnixMicros(*time)) : "-";
}

std::string Text(const NodeAmounts& amounts) {
  return absl::StrJoin(
      std::make_tuple(amounts.vcpus, amounts.pcpus, amounts.memory_mib, amounts.disk_gib), "|");
}

std::string Text(const std::optional<int64_t>& number) {
  return number ? absl::StrCat(*number) : "-";
}

}  // namespace

RecordTexts NodeTexts(const State& state) {
  RecordTexts texts{
      "a node",
      "SELECT concat_ws('|', id, name, host, retired, incarnation, report_sequence, "
      "encode(digest, 'hex'), coalesce(length(facts), 0), length(account), total_vcpus, "
      "total_pcpus, total_memory_mib, total_disk_gib, used_vcpus, used_pcpus, used_memory_mib, "
      "used_disk_gib, coalesce(disk_available_least_gib::text, '-'), instance_count, task_count, "
      "storage_id) FROM node",
      {}};
  state.nodes().ForEach([&](const ProviderId&, const NodeRecordPtr& node) {
    const NodeSums& sums = node->sums;
    texts.memory.insert(absl::StrJoin(
        std::make_tuple(node->id.ToString(), node->name, node->host, node->retired ? "t" : "f",
                        node->incarnation.ToString(), node->report_sequence,
                        absl::BytesToHexString(node->digest), node->facts ? node->facts->size() : 0,
                        node->account.size(), Text(sums.total), Text(sums.used),
                        Text(sums.disk_available_least_gib), sums.instance_count, sums.task_count,
                        sums.storage_id),
        "|"));
    return true;
  });
  return texts;
}

RecordTexts InstanceTexts(const Records& records) {
  RecordTexts texts{
      "an instance",
      "SELECT concat_ws('|', id, generation, name, project, \"user\", host, "
      "coalesce(node::text, '-'), vm_state, task_state, vcpus, memory_mib, root_disk_gib, "
      "ephemeral_disk_gib, swap_mib, encode(sha256(details), 'hex'), micros_of(created_at), "
      "micros_of(updated_at), coalesce(micros_of(deleted_at)::text, '-')) FROM instance",
      {}};
  records.instances().ForEach([&](InstanceId, const InstancePtr& one) {
    const FlavorAmounts& flavor = one->flavor;
    texts.memory.insert(absl::StrJoin(
        std::make_tuple(one->id.ToString(), one->generation.value, one->name, one->project,
                        one->user, one->host, Text(one->node), one->vm_state, one->task_state,
                        flavor.vcpus, flavor.memory_mib, flavor.root_disk_gib,
                        flavor.ephemeral_disk_gib, flavor.swap_mib,
                        absl::BytesToHexString(Sha256(one->details)), Text(one->created_at),
                        Text(one->updated_at), Text(one->deleted_at)),
        "|"));
  });
  return texts;
}

RecordTexts MigrationTexts(const Records& records) {
  RecordTexts texts{
      "a migration",
      "SELECT concat_ws('|', id, generation, instance, type, status, source_host, "
      "coalesce(source_node::text, '-'), destination_host, coalesce(destination_node::text, '-'), "
      "old_flavor_id, new_flavor_id, micros_of(created_at), micros_of(updated_at)) FROM migration",
      {}};
  records.migrations().ForEach([&](MigrationId, const MigrationPtr& one) {
    texts.memory.insert(absl::StrJoin(
        std::make_tuple(one->id.ToString(), one->generation.value, one->instance.ToString(),
                        static_cast<int>(one->type), one->status, one->source_host,
                        Text(one->source_node), one->destination_host, Text(one->destination_node),
                        one->old_flavor_id, one->new_flavor_id, Text(one->created_at),
                        Text(one->updated_at)),
        "|"));
  });
  return texts;
}

}  // namespace berth::placement
