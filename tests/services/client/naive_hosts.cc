#include "tests/services/client/naive_hosts.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::client {
namespace {

bool IsGone(const pb::Instance& one) {
  const bool offloaded = one.vm_state() == "shelved_offloaded" && one.task_state() != "spawning";
  return one.vm_state() == "deleted" || offloaded;
}

std::string AggregatesInWords(const Ledger& ledger, const std::string& node) {
  std::vector<std::string> texts;
  const auto provider = ledger.providers.find(node);
  if (provider == ledger.providers.end()) return "";
  for (const std::string& uuid : provider->second.aggregate_uuids()) {
    const auto named = ledger.aggregates.find(uuid);
    const bool is_named = named != ledger.aggregates.end();
    texts.push_back(absl::StrCat(uuid, "/", is_named ? named->second.name() : "", "/",
                                 is_named ? "key=" + named->second.metadata().at("key") : ""));
  }
  return absl::StrJoin(texts, " ");
}

}  // namespace

std::string InWords(const HostView& host) {
  std::vector<std::string> aggregates;
  for (const auto& one : host.aggregates) {
    const std::map<std::string, std::string> sorted(one->metadata().begin(), one->metadata().end());
    aggregates.push_back(absl::StrCat(one->uuid(), "/", one->name(), "/",
                                      absl::StrJoin(sorted, "+", absl::PairFormatter("="))));
  }
  const auto& node = *host.node;
  return absl::StrCat(node.host(), ":", node.name(), " sequence ", node.sequence(), " memory ",
                      host.free_memory_mib, " disk ", host.free_disk_mib, " of ",
                      host.used_disk_mib, " vcpus ", host.used_vcpus, " instances ",
                      host.instance_count, "{", absl::StrJoin(host.instances, " "), "} operations ",
                      host.io_operation_count, " failed ", host.failed_build_count, " service ",
                      host.service == nullptr ? "none" : host.service->zone(), " aggregates [",
                      absl::StrJoin(aggregates, " "), "] stale ", host.stale);
}

std::string InWords(const std::optional<HostGroup>& group) {
  if (!group) return "none";
  return absl::StrCat(group->policy, " ", group->max_server_per_host.value_or(0), " {",
                      absl::StrJoin(group->members, " "), "} on {",
                      absl::StrJoin(group->hosts, " "), "}");
}

const pb::Service* ServiceOf(const Ledger& ledger, const std::string& host) {
  for (const auto& [uuid, service] : ledger.services) {
    if (service.host() == host && service.binary() == "berth-tracker") return &service;
  }
  return nullptr;
}

std::string Naive(const Ledger& ledger, const std::string& uuid) {
  const auto now = ledger.nodes.find(uuid);
  if (now == ledger.nodes.end() || now->second.retired()) return "";
  const pb::Service* const service = ServiceOf(ledger, now->second.host());
  const pb::Node& record = ledger.records.at(uuid);
  const bool audited = record.has_account();
  const pb::Amounts& used = record.account().used();
  int64_t memory = audited ? record.facts().memory_mib() - used.memory_mib() : 0;
  int64_t disk = audited ? record.facts().disk_gib() - used.disk_gib() : 0;
  if (audited && record.account().has_disk_available_least_gib()) {
    disk = std::min(disk, record.account().disk_available_least_gib());  // T-333
  }
  const auto counter = [&](const std::string& name) {
    const auto found = record.account().counters().find(name);
    return audited && found != record.account().counters().end() ? found->second : 0;
  };
  int64_t vcpus = audited ? used.vcpus() : 0, taken = 0;
  for (const HostDemand& demand : ledger.consumed.at(uuid)) {
    memory -= demand.memory_mib;
    disk -= demand.disk_gib;
    vcpus += demand.vcpus;
    ++taken;
  }
  std::set<std::string> instances;
  for (const auto& [id, one] : ledger.instances) {
    const bool is_there = one.node_uuid() == uuid && one.host() == now->second.host();
    if (is_there && !IsGone(one)) instances.insert(id);
  }
  for (const auto& [id, promise] : ledger.promises) {
    if (promise.node == uuid) instances.insert(id);
  }
  const bool up = service != nullptr && service->state() == pb::SERVICE_STATE_UP;
  return absl::StrCat(
      record.host(), ":", record.name(), " sequence ", record.sequence(), " memory ", memory,
      " disk ", disk * 1024, " of ", audited ? used.disk_gib() * 1024 : 0, " vcpus ", vcpus,
      " instances ", counter("num_instances") + taken, "{", absl::StrJoin(instances, " "),
      "} operations ", counter("io_workload") + taken, " failed ", counter("failed_builds"),
      " service ", service == nullptr ? "none" : service->zone(), " aggregates [",
      AggregatesInWords(ledger, uuid), "] stale ", !up || !now->second.has_account());
}

std::string NaiveGroup(const Ledger& ledger, const std::string& uuid) {
  const auto found = ledger.groups.find(uuid);
  if (found == ledger.groups.end()) return "none";
  std::vector<std::string> members;
  std::set<std::string> hosts;
  for (const auto& [id, one] : ledger.instances) {
    if (one.group_uuid() != uuid || one.vm_state() == "deleted") continue;
    members.push_back(id);
    if (!one.host().empty() && !IsGone(one)) hosts.insert(one.host());
    const auto promise = ledger.promises.find(id);
    if (promise != ledger.promises.end()) hosts.insert(promise->second.host);
  }
  static const char* const kPolicies[] = {"", "affinity", "anti-affinity", "soft-affinity",
                                          "soft-anti-affinity"};
  return absl::StrCat(kPolicies[found->second.policy()], " ", found->second.max_server_per_host(),
                      " {", absl::StrJoin(members, " "), "} on {", absl::StrJoin(hosts, " "), "}");
}

}  // namespace berth::client
