#include "placement/store/node_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "placement/store/row_values.h"

namespace berth::placement {
namespace {

// The columns of NodeSums. The number of its first column is the same in write_nodes and in
// kSelectNodes.
constexpr int kFirstSum = 13;
constexpr int kAvailableLeast = kFirstSum + 8;

void AddAmounts(SqlCall& call, int column, const NodeAmounts& amounts) {
  call.Column(column).AddInt(amounts.vcpus);
  call.Column(column + 1).AddInt(amounts.pcpus);
  call.Column(column + 2).AddInt(amounts.memory_mib);
  call.Column(column + 3).AddInt(amounts.disk_gib);
}

NodeAmounts AmountsAt(const QueryRows& rows, int row, int column) {
  return {rows.Int(row, column), rows.Int(row, column + 1), rows.Int(row, column + 2),
          rows.Int(row, column + 3)};
}

void AddSums(SqlCall& call, const NodeSums& sums) {
  AddAmounts(call, kFirstSum, sums.total);
  AddAmounts(call, kFirstSum + 4, sums.used);
  if (sums.disk_available_least_gib) {
    call.Column(kAvailableLeast).AddInt(*sums.disk_available_least_gib);
  } else {
    call.Column(kAvailableLeast).AddNull();
  }
  call.Column(kAvailableLeast + 1).AddInt(sums.instance_count);
  call.Column(kAvailableLeast + 2).AddInt(sums.task_count);
  call.Column(kAvailableLeast + 3).AddText(sums.storage_id);
}

NodeSums SumsAt(const QueryRows& rows, int row) {
  NodeSums sums;
  sums.total = AmountsAt(rows, row, kFirstSum);
  sums.used = AmountsAt(rows, row, kFirstSum + 4);
  if (!rows.IsNull(row, kAvailableLeast)) {
    sums.disk_available_least_gib = rows.Int(row, kAvailableLeast);
  }
  sums.instance_count = rows.Int(row, kAvailableLeast + 1);
  sums.task_count = rows.Int(row, kAvailableLeast + 2);
  sums.storage_id = std::string(rows.Text(row, kAvailableLeast + 3));
  return sums;
}

}  // namespace

void AddNode(SqlCall& call, const NodeRecord& node, bool keeps_facts) {
  call.Column(0).AddUuid(node.id.uuid);
  call.Column(1).AddText(node.name);
  call.Column(2).AddText(node.host);
  call.Column(3).AddBool(node.retired);
  call.Column(4).AddUuid(node.incarnation);
  call.Column(5).AddInt(node.report_sequence);
  call.Column(6).AddBytes(node.digest);
  call.Column(7).Begin();
  for (const auto& [provider, _] : node.reported) call.Column(7).AddUuid(provider.uuid);
  call.Column(7).End();
  call.Column(8).Begin();
  for (const auto& [_, generation] : node.reported) call.Column(8).AddInt(generation.value);
  call.Column(8).End();
  if (keeps_facts) {
    call.Column(9).AddNull();
  } else {
    call.Column(9).AddBytes(node.facts == nullptr ? "" : *node.facts);
  }
  call.Column(10).AddBytes(node.account);
  call.Column(11).AddInt(absl::ToUnixMicros(node.created_at));
  call.Column(12).AddInt(absl::ToUnixMicros(node.updated_at));
  AddSums(call, node.sums);
}

std::shared_ptr<NodeRecord> ReadNode(const QueryRows& rows, int row) {
  auto node = std::make_shared<NodeRecord>();
  node->id = ProviderId{UuidAt(rows, row, 0)};
  node->name = std::string(rows.Text(row, 1));
  node->host = std::string(rows.Text(row, 2));
  node->retired = rows.Bool(row, 3);
  node->incarnation = UuidAt(rows, row, 4);
  node->report_sequence = rows.Int(row, 5);
  node->digest = rows.Bytes(row, 6);
  const std::vector<Uuid> reported = UuidArray(rows.Text(row, 7));
  const std::vector<int64_t> generations = IntArray(rows.Text(row, 8));
  if (reported.size() != generations.size()) return nullptr;
  for (size_t i = 0; i < reported.size(); ++i) {
    node->reported.emplace_back(ProviderId{reported[i]}, Generation{generations[i]});
  }
  std::string facts = rows.Bytes(row, 9);
  if (!facts.empty()) node->facts = std::make_shared<const std::string>(std::move(facts));
  node->account = rows.Bytes(row, 10);
  node->created_at = TimeAt(rows, row, 11);
  node->updated_at = TimeAt(rows, row, 12);
  node->sums = SumsAt(rows, row);
  return node;
}

}  // namespace berth::placement
