#include "placement/reads/record_query.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/touched_records.h"

namespace berth::placement {
namespace {

InstanceId InstanceNumber(uint64_t number) { return InstanceId{Uuid{11, number}}; }
ProviderId NodeNumber(uint64_t number) { return ProviderId{Uuid{7, number}}; }

// Instances 0 to 9: on host 0 or 1 and the node of the same number, of project 0, 1 or 2, in state 0
// to 4; number 9 is deleted. Migrations 0 to 9 of instance number / 2, from host 0; the even ones go
// to host 1 and are over.
Records SomeRecords() {
  Records records;
  for (uint64_t i = 0; i < 10; ++i) {
    auto instance = std::make_shared<InstanceRecord>();
    instance->id = InstanceNumber(i);
    instance->host = absl::StrCat("host ", i % 2);
    instance->node = NodeNumber(i % 2);
    instance->project = absl::StrCat("project ", i % 3);
    instance->vm_state = absl::StrCat("state ", i / 2);
    if (i == 9) instance->deleted_at = absl::UnixEpoch();
    records.Put(InstancePtr(std::move(instance)));
  }
  for (uint64_t i = 0; i < 10; ++i) {
    auto migration = std::make_shared<MigrationRecord>();
    migration->id = MigrationId{Uuid{12, i}};
    migration->instance = InstanceNumber(i / 2);
    migration->source_host = "host 0";
    migration->source_node = NodeNumber(0);
    if (i % 2 == 0) migration->destination_host = "host 1";
    if (i % 2 == 0) migration->destination_node = NodeNumber(1);
    migration->status = i % 2 == 0 ? "error" : "running";
    records.Put(MigrationPtr(std::move(migration)));
  }
  return records;
}

template <typename Pointer>
std::vector<uint64_t> Numbers(const RecordPage<Pointer>& page) {
  std::vector<uint64_t> numbers;
  for (const auto& record : page.records) numbers.push_back(record->id.uuid.low);
  if (page.more) numbers.push_back(999);
  return numbers;
}

using Listed = std::vector<uint64_t>;

TEST(RecordQuery, InstancesPassEveryGivenFilter) {
  const Records records = SomeRecords();
  const auto list = [&](const InstanceFilter& filter) {
    return Numbers(ListInstances(records, filter, std::nullopt, 100));
  };
  EXPECT_EQ(list({}), (Listed{0, 1, 2, 3, 4, 5, 6, 7, 8}));  // none that is deleted
  EXPECT_EQ(list({.include_deleted = true}).size(), 10u);
  EXPECT_EQ(list({.host = "host 1"}), (Listed{1, 3, 5, 7}));
  EXPECT_EQ(list({.host = "host 1", .include_deleted = true}), (Listed{1, 3, 5, 7, 9}));
  EXPECT_EQ(list({.host = "host 1", .project = "project 1"}), (Listed{1, 7}));
  EXPECT_EQ(list({.host = ""}), Listed{});
  EXPECT_EQ(list({.vm_states = {"state 0", "state 4"}}), (Listed{0, 1, 8}));
  EXPECT_EQ(list({.host = "host 1", .vm_states = {"state 4"}, .include_deleted = true}), Listed{9});
  EXPECT_EQ(list({.node = NodeNumber(0)}), (Listed{0, 2, 4, 6, 8}));
  EXPECT_EQ(list({.host = "host 1", .node = NodeNumber(0)}), Listed{});
}

TEST(RecordQuery, MigrationsPassEveryGivenFilter) {
  const Records records = SomeRecords();
  const auto list = [&](const MigrationFilter& filter) {
    return Numbers(ListMigrations(records, filter, std::nullopt, 100));
  };
  EXPECT_EQ(list({}).size(), 10u);
  EXPECT_EQ(list({.host = "host 0"}).size(), 10u);
  EXPECT_EQ(list({.host = "host 1", .in_progress = true}), Listed{});
  EXPECT_EQ(list({.host = "host 0", .in_progress = true}), (Listed{1, 3, 5, 7, 9}));
  EXPECT_EQ(list({.host = ""}), (Listed{1, 3, 5, 7, 9}));  // their destination is not known
  EXPECT_EQ(list({.host = "host 1"}), (Listed{0, 2, 4, 6, 8}));
  EXPECT_EQ(list({.node = NodeNumber(1)}), (Listed{0, 2, 4, 6, 8}));
  EXPECT_EQ(list({.instance = InstanceNumber(2)}), (Listed{4, 5}));
  EXPECT_EQ(list({.instance = InstanceNumber(2), .in_progress = true}), Listed{5});
  EXPECT_EQ(list({.in_progress = true}), (Listed{1, 3, 5, 7, 9}));   // T-123
  EXPECT_EQ(list({.in_progress = false}), (Listed{0, 2, 4, 6, 8}));  // T-123: error is over
  EXPECT_EQ(list({.statuses = {"running", "done"}}), (Listed{1, 3, 5, 7, 9}));
  EXPECT_EQ(list({.statuses = {"running"}, .in_progress = false}), Listed{});
}

TEST(RecordQuery, AFilterHasAtMost64Words) {
  const std::vector<std::string> most(64, "");
  std::vector<std::string> words = most;
  EXPECT_TRUE(CheckSize(InstanceFilter{.vm_states = most}).ok());
  EXPECT_TRUE(CheckSize(MigrationFilter{.statuses = most}).ok());
  words.emplace_back();
  for (const absl::Status& status : {CheckSize(InstanceFilter{.vm_states = words}),
                                     CheckSize(MigrationFilter{.statuses = words})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(RefusalOf(status)->reason, "INVALID_FIELD");
  }
}

TEST(RecordQuery, AFilterForAHostReadsItsMigrationsAlone) {
  constexpr uint64_t kHosts = 500;
  TouchedRecords kept(2 * kHosts);
  Records records;
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceNumber(1);
  records.Put(InstancePtr(std::move(instance)));
  for (uint64_t i = 0; i < 2 * kHosts; ++i) {  // of each host one that moves and one that is over
    MigrationRecord migration;
    migration.id = MigrationId{Uuid{12, i}};
    migration.instance = InstanceNumber(1);
    migration.source_host = absl::StrCat("host ", i % kHosts);
    migration.status = i < kHosts ? "done" : "running";
    records.Put(MigrationPtr(kept.Keep(std::move(migration))));
  }
  RecordPage<MigrationPtr> page;
  const auto reads = [&](const MigrationFilter& filter) {
    return kept.Count([&] { page = ListMigrations(records, filter, std::nullopt, 100); });
  };
  EXPECT_EQ(reads({.host = "host 7"}), 2);
  EXPECT_EQ(Numbers(page), (Listed{7, 507}));
  EXPECT_EQ(reads({.host = "host 7", .in_progress = true}), 1);
  EXPECT_EQ(Numbers(page), Listed{507});
}

TEST(RecordQuery, PagesFollowEachOther) {
  const Records records = SomeRecords();
  for (const InstanceFilter& filter : {InstanceFilter{}, InstanceFilter{.host = "host 0"}}) {
    const auto all = Numbers(ListInstances(records, filter, std::nullopt, 100));
    std::vector<uint64_t> paged;
    std::optional<InstanceId> after;
    bool more = true;
    while (more) {
      const auto page = ListInstances(records, filter, after, 2);
      more = page.more;
      ASSERT_FALSE(page.records.empty());
      for (const InstancePtr& record : page.records) paged.push_back(record->id.uuid.low);
      after = page.records.back()->id;
    }
    EXPECT_EQ(paged, all);
  }
  EXPECT_EQ(Numbers(ListMigrations(records, {}, MigrationId{Uuid{12, 6}}, 2)), (Listed{7, 8, 999}));
}

}  // namespace
}  // namespace berth::placement
