#include "placement/log/node_messages.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "placement/log/id_messages.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

using Numbers = google::protobuf::RepeatedField<int64_t>;

void EncodeAmounts(const NodeAmounts& amounts, Numbers* out) {
  out->Add(amounts.vcpus);
  out->Add(amounts.pcpus);
  out->Add(amounts.memory_mib);
  out->Add(amounts.disk_gib);
}

NodeAmounts DecodeAmounts(const Numbers& in) {
  if (in.size() != 4) return NodeAmounts();
  return {in[0], in[1], in[2], in[3]};
}

void EncodeSums(const NodeSums& sums, pb::NodeSums* out) {
  EncodeAmounts(sums.total, out->mutable_total());
  EncodeAmounts(sums.used, out->mutable_used());
  if (sums.disk_available_least_gib) {
    out->set_disk_available_least_gib(*sums.disk_available_least_gib);
  }
  out->set_instance_count(sums.instance_count);
  out->set_task_count(sums.task_count);
  out->set_storage_id(sums.storage_id);
}

NodeSums DecodeSums(const pb::NodeSums& in) {
  NodeSums sums;
  sums.total = DecodeAmounts(in.total());
  sums.used = DecodeAmounts(in.used());
  if (in.has_disk_available_least_gib()) {
    sums.disk_available_least_gib = in.disk_available_least_gib();
  }
  sums.instance_count = in.instance_count();
  sums.task_count = in.task_count();
  sums.storage_id = in.storage_id();
  return sums;
}

}  // namespace

void EncodeNode(const NodeRecord& node, pb::Node* out) {
  EncodeId(node.id.uuid, out->mutable_id());
  out->set_name(node.name);
  out->set_host(node.host);
  out->set_retired(node.retired);
  EncodeId(node.incarnation, out->mutable_incarnation());
  out->set_report_sequence(node.report_sequence);
  out->set_digest(node.digest);
  for (const auto& [provider, generation] : node.reported) {
    EncodeHalves(provider.uuid, out->mutable_reported());
    out->add_reported_generations(generation.value);
  }
  if (node.facts) out->set_facts(*node.facts);
  out->set_account(node.account);
  EncodeSums(node.sums, out->mutable_sums());
  out->set_created_at_us(absl::ToUnixMicros(node.created_at));
  out->set_updated_at_us(absl::ToUnixMicros(node.updated_at));
}

NodeRecordPtr DecodeNode(const pb::Node& in) {
  auto node = std::make_shared<NodeRecord>();
  node->id = ProviderId{DecodeId(in.id())};
  node->name = in.name();
  node->host = in.host();
  node->retired = in.retired();
  node->incarnation = DecodeId(in.incarnation());
  node->report_sequence = in.report_sequence();
  node->digest = in.digest();
  for (int i = 0; i < std::min(in.reported_size() / 2, in.reported_generations_size()); ++i) {
    node->reported.emplace_back(ProviderId{DecodeHalves(in.reported(), i)},
                                Generation{in.reported_generations(i)});
  }
  if (in.has_facts()) node->facts = std::make_shared<const std::string>(in.facts());
  node->account = in.account();
  node->sums = DecodeSums(in.sums());
  node->created_at = absl::FromUnixMicros(in.created_at_us());
  node->updated_at = absl::FromUnixMicros(in.updated_at_us());
  return node;
}

}  // namespace berth::placement
