// What a report has on the wire.
#include "tracker/uplink/messages.h"

#include <gtest/gtest.h>

#include "tests/tracker/node/node_fixture.h"

namespace berth::tracker {
namespace {

std::shared_ptr<const Audit> AuditOf(const Facts& facts) {
  return std::make_shared<const Audit>(*RunAudit({facts,
                                                  nullptr,
                                                  {},
                                                  "11111111-1111-4111-8111-111111111111",
                                                  "node-1",
                                                  {},
                                                  {},
                                                  {},
                                                  absl::UnixEpoch(),
                                                  std::chrono::seconds(5)}));
}

Outbox::Outgoing Delta(std::shared_ptr<const Audit> base, std::shared_ptr<const Audit> audit) {
  Outbox::Outgoing report;
  report.sequence = 2;
  report.digest = Digest(audit->report);
  report.audit = std::move(audit);
  report.base = std::move(base);
  return report;
}

// What placement holds once it has applied the report of `audit`.
Records RecordsAfter(const Audit& audit) {
  Records records;
  for (const WantedProvider& wanted : audit.report.providers) {
    records.tree.push_back({wanted.uuid, wanted.name, wanted.parent_uuid, 1, wanted.inventories,
                            EffectiveTraits({}, wanted.traits)});
  }
  return records;
}

TEST(Messages, ADeltaAboutAGuestHasNoFacts) {
  Facts facts = OrdinaryFacts();
  const std::shared_ptr<const Audit> before = AuditOf(facts);
  // What a guest with a sparse image of 40 GiB changes.
  facts.guests.push_back(RunningGuest("99999999-9999-4999-8999-999999999999", 2, 4096, 40));
  facts.vcpus_used = 2;
  facts.local_disk_used_gib = 13;
  facts.disk_available_least_gib = 2560;
  const std::shared_ptr<const Audit> after = AuditOf(facts);
  ASSERT_NE(Digest(before->report), Digest(after->report));
  const placement::v1::Report delta = WireReport(Delta(before, after), RecordsAfter(*before), {});
  EXPECT_FALSE(delta.has_facts());
  ASSERT_TRUE(delta.has_account());
  EXPECT_EQ(delta.account().disk_available_least_gib(), 2560);
  EXPECT_EQ(delta.observation().vcpus_used(), 2);
  EXPECT_LT(delta.ByteSizeLong(), 512u);
}

TEST(Messages, ADeltaAboutTheHostHasItsFacts) {
  Facts facts = OrdinaryFacts();
  const std::shared_ptr<const Audit> before = AuditOf(facts);
  facts.memory_mib = *facts.memory_mib + 1024;
  const placement::v1::Report delta = WireReport(Delta(before, AuditOf(facts)), std::nullopt, {});
  ASSERT_TRUE(delta.has_facts());
  EXPECT_EQ(delta.facts().memory_mib(), *facts.memory_mib);
}

}  // namespace
}  // namespace berth::tracker
