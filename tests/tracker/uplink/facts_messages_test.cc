// The facts of a node on the wire.
#include "tracker/uplink/facts_messages.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/processes/short_uuid.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/uplink/messages.h"

namespace berth::tracker {
namespace {

std::shared_ptr<const Audit> AuditWith(const NodeConfiguration& configuration,
                                       const Records* records = nullptr) {
  return std::make_shared<const Audit>(
      *RunAudit({.facts = std::make_shared<const Facts>(OrdinaryFacts()),
                 .records = records,
                 .configuration = configuration,
                 .node_uuid = "node-1"_uuid,
                 .node_name = "node-1"}));
}

TEST(FactsMessages, HaveTheRatiosOfTheReport) {
  NodeConfiguration configuration;
  configuration.ram_allocation_ratio = 1.5;
  const std::shared_ptr<const Audit> audit = AuditWith(configuration);
  const auto tell = [](const std::shared_ptr<const Audit>& base,
                       const std::shared_ptr<const Audit>& after) {
    Outbox::Outgoing report;
    report.audit = after;
    report.base = base;
    return WireReport(report, std::nullopt, {});
  };
  const placement::v1::NodeFacts first = tell(nullptr, audit).facts();
  EXPECT_EQ(first.cpu_allocation_ratio(), 4);       // T-205: the initial one
  EXPECT_EQ(first.memory_allocation_ratio(), 1.5);  // T-205: the configured one
  EXPECT_EQ(first.disk_allocation_ratio(), 1);

  // Somebody has changed the ratios in placement.
  Records records;
  KnownProvider& root = records.tree.emplace_back();
  root.uuid = audit->report.node_uuid;
  root.inventories = audit->report.providers[0].inventories;
  root.inventories["VCPU"].allocation_ratio = 2;
  root.inventories["MEMORY_MB"].allocation_ratio = 2;
  const std::shared_ptr<const Audit> changed = AuditWith(configuration, &records);
  const placement::v1::Report delta = tell(audit, changed);
  ASSERT_TRUE(delta.has_facts());
  EXPECT_EQ(delta.facts().cpu_allocation_ratio(), 2);       // T-205
  EXPECT_EQ(delta.facts().memory_allocation_ratio(), 1.5);  // T-205
  EXPECT_FALSE(tell(changed, changed).has_facts());

  // The operator has set another ratio.
  configuration.cpu_allocation_ratio = 8;
  const std::shared_ptr<const Audit> set = AuditWith(configuration, &records);
  EXPECT_NE(set->digest.but_accounting, changed->digest.but_accounting);
  EXPECT_EQ(tell(changed, set).facts().cpu_allocation_ratio(), 8);  // T-205

  // The disk belongs to a provider that several hosts share.
  configuration.shared_disk_provider = true;
  const std::shared_ptr<const Audit> shared = AuditWith(configuration, &records);
  ASSERT_TRUE(tell(set, shared).has_facts());
  EXPECT_EQ(tell(set, shared).facts().disk_allocation_ratio(), 0);
}

}  // namespace
}  // namespace berth::tracker
