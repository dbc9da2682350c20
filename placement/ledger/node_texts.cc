#include "placement/ledger/node_texts.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::placement {
namespace {

std::string Text(const NodeAmounts& amounts) {
  return absl::StrJoin(
      std::make_tuple(amounts.vcpus, amounts.pcpus, amounts.memory_mib, amounts.disk_gib), "|");
}

std::string Text(const std::optional<int64_t>& number) {
  return number ? absl::StrCat(*number) : "-";
}

}  // namespace

NodeTexts NodeTextsOf(const State& state) {
  NodeTexts texts{
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

}  // namespace berth::placement
