#include "tests/worlds/counted_fleet.h"

#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/commands/command.h"
#include "placement/rules/rules.h"
#include "placement/values/fleet.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

InstanceRecord InstanceAt(int host, int number) {
  InstanceRecord record;
  record.id = CountedFleet::InstanceOf(host, number);
  record.name = absl::StrCat("guest ", number);
  record.project = record.user = "any";
  record.host = CountedFleet::HostOf(host);
  record.node = CountedFleet::NodeOf(host);
  record.vm_state = "active";
  record.flavor.vcpus = 1;
  return record;
}

}  // namespace

std::string CountedFleet::HostOf(int host) { return absl::StrCat("h", host); }
std::string CountedFleet::NodeNameOf(int host) { return absl::StrCat("node ", host); }
ProviderId CountedFleet::NodeOf(int host) {
  return ProviderId{Uuid{7, static_cast<uint64_t>(host)}};
}
Uuid CountedFleet::ServiceOf(int host) { return Uuid{8, static_cast<uint64_t>(host)}; }
Uuid CountedFleet::ProcessOf(int host) { return Uuid{9, static_cast<uint64_t>(host)}; }
InstanceId CountedFleet::InstanceOf(int host, int number) {
  // Neighbours in the order of ids are on different hosts.
  return InstanceId{Uuid{1000 + static_cast<uint64_t>(number), static_cast<uint64_t>(host)}};
}

ImportLedger CountedFleet::Import(int hosts, int instances) {
  ImportLedger import;
  RecordNumber record = 0;
  for (int host = 1; host <= hosts; ++host) {
    ImportedProvider& provider = import.providers.emplace_back();
    provider.record = ++record;
    provider.id = NodeOf(host);
    provider.name = NodeNameOf(host);
    provider.inventories.push_back({"VCPU", {.total = 1000}});
    ImportedService& service = import.services.emplace_back();
    service.record = ++record;
    service.service.host = HostOf(host);
    service.service.binary = std::string(kTrackerBinary);
    service.service.id = ServiceOf(host);
    ImportedNode& node = import.nodes.emplace_back();
    node.record = ++record;
    node.node.id = NodeOf(host);
    node.node.name = NodeNameOf(host);
    node.node.host = HostOf(host);
    for (int number = 0; number < instances; ++number) {
      ImportedInstance& instance = import.instances.emplace_back();
      instance.record = ++record;
      instance.instance = InstanceAt(host, number);
      ImportedConsumer& consumer = import.consumers.emplace_back();
      consumer.record = ++record;
      consumer.id = ConsumerId{instance.instance.id.uuid};
      consumer.project = consumer.user = "any";
      consumer.type = "INSTANCE";
      consumer.allocations.push_back({NodeOf(host), {{"VCPU", 1}}});
    }
  }
  return import;
}

Changes CountedFleet::ChangesOf(const ImportLedger& import) {
  Command command;
  command.body = import;
  const RuleContext context{absl::FromUnixSeconds(1'700'000'000), Generation{1}};
  absl::StatusOr<Outcome> outcome = Decide(World().state(), command, context);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? std::move(outcome->changes) : Changes();
}

void CountedFleet::Watch(TouchedRecords* records, Changes* changes) {
  for (Change& change : *changes) {
    if (auto* service = std::get_if<ServicePut>(&change)) {
      service->service = records->Keep(*service->service);
    } else if (auto* node = std::get_if<NodePut>(&change)) {
      node->node = records->Keep(*node->node);
    } else if (auto* instance = std::get_if<InstancePut>(&change)) {
      const bool is_first = instance->instance->id.uuid.high == InstanceOf(1, 0).uuid.high;
      if (is_first) instance->instance = records->Keep(*instance->instance);
    }
  }
}

CountedFleet::CountedFleet(int hosts, int instances)
    : records_(3 * static_cast<size_t>(hosts)), state_(World().state()) {
  Changes changes = ChangesOf(Import(hosts, instances));
  for (Change& change : changes) {
    auto* const service = std::get_if<ServicePut>(&change);
    if (service == nullptr) continue;
    ServiceRecord record = *service->service;
    record.incarnation = ProcessOf(static_cast<int>(record.id.low));
    record.up = true;
    service->service = std::make_shared<const ServiceRecord>(std::move(record));
  }
  Watch(&records_, &changes);
  state_.Apply(changes);
}

}  // namespace berth::placement
