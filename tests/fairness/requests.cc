#include "tests/fairness/requests.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace berth::fairness {

namespace pb = berth::placement::v1;

namespace {

constexpr int kNearMisses = 100;
constexpr int64_t kTooMuch = 100'000;

template <typename Map>
void AddAmounts(Map* to) {
  (*to)["VCPU"] = 1;
  (*to)["MEMORY_MB"] = 256;
  (*to)["DISK_GB"] = 1;
}

template <typename Consumer>
void Fill(const std::string& uuid, Consumer* consumer) {
  consumer->set_consumer_uuid(uuid);
  consumer->mutable_new_consumer();
  consumer->set_project_id("fairness");
  consumer->set_user_id("fairness");
  consumer->set_consumer_type("INSTANCE");
}

std::string NodeName(int tracker, int node) { return absl::StrCat("node-", node, "-of-", tracker); }

}  // namespace

pb::ClaimRequest ClaimOfOne(const std::string& consumer) {
  pb::ClaimRequest request;
  Fill(consumer, request.mutable_consumer());
  AddAmounts(request.mutable_query()->add_groups()->mutable_resources());
  return request;
}

pb::SetAllocationsRequest ClaimOn(const std::string& host, const std::string& consumer) {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* const one = request.add_consumers();
  Fill(consumer, one);
  pb::ProviderAllocation* const allocation = one->add_allocations();
  allocation->set_provider_uuid(host);
  AddAmounts(allocation->mutable_resources());
  return request;
}

pb::ExplainRequest ExplanationOfAll() {
  pb::ExplainRequest request;
  request.set_near_miss_limit(kNearMisses);
  auto& resources = *request.mutable_query()->add_groups()->mutable_resources();
  AddAmounts(&resources);
  resources["VCPU"] = kTooMuch;
  return request;
}

std::string NodeUuid(int tracker, int node, int of) {
  return absl::StrFormat("%08x-%04x-4000-8000-%012x", 0xfa100000 + tracker, node, of);
}

pb::SessionRequest HelloOf(const std::string& host, const std::string& incarnation, int tracker,
                           int first, int count) {
  pb::SessionRequest request;
  pb::Hello& hello = *request.mutable_hello();
  hello.set_host(host);
  hello.set_binary("berth-tracker");
  hello.set_incarnation(incarnation);
  hello.set_machine_id(host);
  for (int i = first; i < first + count; ++i) {
    pb::NodeDigest* const node = hello.add_nodes();
    node->set_node_uuid(NodeUuid(tracker, i));
    node->set_node_name(NodeName(tracker, i));
  }
  return request;
}

pb::SessionRequest SnapshotOf(int tracker, int node, int children, int64_t amount) {
  pb::SessionRequest request;
  pb::Report& report = *request.mutable_report();
  report.set_node_uuid(NodeUuid(tracker, node));
  report.set_node_name(NodeName(tracker, node));
  report.set_kind(pb::REPORT_KIND_SNAPSHOT);
  report.set_digest(absl::StrCat("digest-", amount));
  report.mutable_facts()->set_vcpus(8);
  report.mutable_account();
  report.mutable_audit();
  for (int i = 0; i <= children; ++i) {
    pb::WantedProvider* const provider = report.add_providers();
    provider->set_uuid(NodeUuid(tracker, node, i));
    provider->set_name(NodeName(tracker, node) + (i == 0 ? "" : absl::StrCat("-", i)));
    if (i > 0) provider->set_parent_uuid(NodeUuid(tracker, node));
    (*provider->mutable_inventories())["CUSTOM_FAIRNESS"].set_total(amount);
  }
  return request;
}

}  // namespace berth::fairness
