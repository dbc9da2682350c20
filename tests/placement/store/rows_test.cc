#include "placement/store/rows.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/log/codec.h"
#include "placement/store/rows_load.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/model_state.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

// Writes batches of changes as the ledger does, without its threads.
class Tables {
 public:
  Tables() : database_(ConnectOrDie(NewDatabase())) {
    EXPECT_TRUE(database_->Run(WriterSettingsSql(), nullptr).ok());
    // The random commands do not care for capacity.
    EXPECT_TRUE(
        database_
            ->Run("ALTER TABLE provider DROP CONSTRAINT provider_used_fits; "
                  "CREATE OR REPLACE FUNCTION each_within(used bigint[], capacity bigint[]) "
                  "RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
                  nullptr)
            .ok());
  }

  absl::Status Write(const std::vector<Changes>& batch) {
    const State base = state_;
    Touched touched;
    std::vector<LogCommand> log;
    for (const Changes& changes : batch) {
      state_.Apply(changes);
      touched.Add(changes);
      log.push_back({"tester", "", std::make_shared<const Changes>(changes), ""});
    }
    Position position = base.position();
    position.revision = {1, position.revision.number + 1};
    position.batch = BatchId{Uuid::Random()};
    position.ledger_time = absl::FromUnixMicros(1'763'632'672'123'457);
    position.command_count += static_cast<int64_t>(batch.size());
    position.next_class_id = static_cast<uint32_t>(state_.catalog().classes.NextId());
    position.next_trait_id = static_cast<uint32_t>(state_.catalog().traits.NextId());
    state_.set_position(position);
    BatchRows rows{&base, &state_, &touched, EncodeBatch(log), {}, 1'000'000};
    const absl::StatusOr<LockedHead> locked = LockAndReadHead(*database_, 0, 0, {});
    EXPECT_TRUE(locked.ok()) << locked.status();
    const absl::Status status = database_->RunAndCommit(WriteBatchSql(rows), nullptr);
    if (!status.ok()) {
      EXPECT_TRUE(database_->Run("ROLLBACK", nullptr).ok());
      state_ = base;
    }
    return status;
  }

  const State& state() const { return state_; }
  Database& database() { return *database_; }

 private:
  std::unique_ptr<Database> database_;
  State state_;
};

void ExpectSamePosition(const Position& a, const Position& b) {
  EXPECT_EQ(a.revision, b.revision);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.ledger_time, b.ledger_time);
  EXPECT_EQ(a.command_count, b.command_count);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.next_class_id, b.next_class_id);
  EXPECT_EQ(a.next_trait_id, b.next_trait_id);
  EXPECT_EQ(a.epoch_began_at, b.epoch_began_at);
}

// Whatever commands do, the tables hold it, and so does the log.
TEST(Rows, TablesAndLogTellTheModelsStory) {
  const uint64_t seed = Seed();
  RandomCommands commands(seed, 40, 60);
  Tables tables;
  for (int i = 0; i < 150; ++i) {
    std::vector<Changes> batch;
    for (int k = 0; k <= i % 7; ++k) batch.push_back(commands.Next());
    ASSERT_EQ(tables.Write(batch), absl::OkStatus());
    if (i % 30 != 29) continue;
    const absl::StatusOr<State> loaded = LoadState(tables.database());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ExpectSame(*loaded, commands.model());
    ExpectSamePosition(loaded->position(), tables.state().position());
  }
  State followed;
  while (true) {
    const auto log = ReadLog(tables.database(), followed.position().revision.number, 50);
    ASSERT_TRUE(log.ok()) << log.status();
    int applied = 0;
    for (const LogRow& row : *log) {
      if (row.position.revision.number == followed.position().revision.number) continue;
      EXPECT_EQ(row.previous, followed.position().batch);
      const auto batch = DecodeBatch(row.payload);
      ASSERT_TRUE(batch.ok()) << batch.status();
      for (const LogCommand& command : *batch) followed.Apply(*command.changes);
      followed.set_position(row.position);
      ++applied;
    }
    if (applied == 0) break;
  }
  ExpectSame(followed, commands.model());
  ExpectSamePosition(followed.position(), tables.state().position());
}

TEST(Rows, NamesMayBeSwappedInOneBatch) {
  Tables tables;
  const auto put = [](int id, const char* name, int64_t generation) {
    auto config = std::make_shared<ProviderConfig>();
    config->id = ProviderId{Uuid{0, static_cast<uint64_t>(id)}};
    config->name = name;
    config->generation = Generation{generation};
    return ProviderPut{config};
  };
  ASSERT_EQ(tables.Write({{put(1, "a", 1)}, {put(2, "b", 2)}}), absl::OkStatus());
  ASSERT_EQ(tables.Write({{put(1, "b", 2), put(2, "a", 3)}}), absl::OkStatus());
  EXPECT_EQ(QueryOne(tables.database(), "SELECT string_agg(name, ',' ORDER BY id) FROM provider"),
            "b,a");
}

// A row that is not as the batch believes stops the whole batch.
TEST(Rows, GuardsSeeEveryDifference) {
  const uint64_t seed = Seed();
  const char* const corruptions[] = {
      "UPDATE provider SET generation = generation + 1",
      "UPDATE provider SET allocation_generation = allocation_generation + 1",
      "DELETE FROM provider",
      "UPDATE consumer SET generation = generation + 1",
      "DELETE FROM consumer",
  };
  for (const char* corruption : corruptions) {
    RandomCommands commands(seed, 30, 40);
    Tables tables;
    for (int i = 0; i < 5000; ++i) {
      if (commands.model().consumers.size() >= 5 && commands.model().providers.size() >= 5) break;
      ASSERT_EQ(tables.Write({commands.Next()}), absl::OkStatus());
    }
    ASSERT_TRUE(tables.database().Run(corruption, nullptr).ok());
    absl::Status status;
    for (int i = 0; i < 5000 && status.ok(); ++i) status = tables.Write({commands.Next()});
    EXPECT_EQ(SqlStateOf(status), kRowsDiffer) << corruption << ": " << status;
  }
}

TEST(Rows, LoadingRefusesTablesThatContradictThemselves) {
  const uint64_t seed = Seed();
  const char* const corruptions[] = {
      "UPDATE provider SET used[1] = used[1] + 1, overcommitted = true WHERE cardinality(used) > 0",
      "UPDATE consumer SET amount[1] = amount[1] + 1",
      "UPDATE consumer SET class[1] = 9999",
      "UPDATE consumer SET provider[1] = gen_random_uuid()",
      "UPDATE consumer SET amount = amount || 1",
      "UPDATE provider SET parent = gen_random_uuid()",
      "UPDATE provider SET parent = id",
      "DELETE FROM consumer",
      "DELETE FROM record WHERE kind = 1",
      "UPDATE record SET part_of = gen_random_uuid() WHERE kind = 2",
      // The content of an aggregate with the name "plain".
      "INSERT INTO record (id, kind, generation, content) SELECT u::uuid, 4, 1, "
      "'\\x0a24'::bytea || convert_to(u, 'UTF8') || '\\x10011a05706c61696e'::bytea FROM "
      "unnest(ARRAY['00000000-0000-0000-0000-0000000000a1', "
      "'00000000-0000-0000-0000-0000000000a2']) u",
  };
  RandomCommands commands(seed, 30, 40);
  Tables tables;
  for (int i = 0; i < 5000; ++i) {
    if (i > 100 && commands.model().consumers.size() >= 5 && !commands.model().migrations.empty()) {
      break;
    }
    ASSERT_EQ(tables.Write({commands.Next()}), absl::OkStatus());
  }
  ASSERT_NE(QueryOne(tables.database(), "SELECT count(*) FROM consumer"), "0");
  for (const char* corruption : corruptions) {
    ASSERT_EQ(tables.database().Run(absl::StrCat("BEGIN; ", corruption), nullptr),
              absl::OkStatus());
    const absl::StatusOr<State> loaded = LoadTables(tables.database());
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << corruption;
    ASSERT_TRUE(tables.database().Run("ROLLBACK", nullptr).ok());
  }
}

// A row of an instance or a node may have more than 64 KiB.
TEST(Rows, LargeRowsAreReadInSmallPortions) {
  constexpr int kMany = 600;
  Tables tables;
  Changes changes;
  for (uint64_t number = 1; number <= kMany; ++number) {
    auto node = std::make_shared<NodeRecord>();
    node->id = ProviderId{Uuid{number, 2}};
    node->name = node->host = absl::StrCat("h", number);
    changes.push_back(NodePut{std::move(node)});
  }
  for (uint64_t number = 1; number <= kMany; ++number) {
    auto instance = std::make_shared<InstanceRecord>();
    instance->id = InstanceId{Uuid{number, 1}};
    instance->generation = Generation{1};
    changes.push_back(InstancePut{std::move(instance)});
  }
  ASSERT_EQ(tables.Write({changes}), absl::OkStatus());
  // How often this connection has read the two tables since PostgreSQL last added up.
  const auto reads = [&] {
    return std::stoi(
        std::string(QueryOne(tables.database(),
                             "SELECT sum(seq_scan + idx_scan) FROM pg_stat_xact_user_tables "
                             "WHERE relname IN ('record', 'node')")));
  };
  ASSERT_EQ(tables.database().Run("BEGIN", nullptr), absl::OkStatus());
  const int before = reads();
  const absl::StatusOr<State> loaded = LoadTables(tables.database());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->records().instances().size(), kMany);
  EXPECT_EQ(loaded->nodes().size(), kMany);
  EXPECT_EQ(reads() - before, 9);  // three portions of each, and one of each other kind
  ASSERT_EQ(tables.database().Run("ROLLBACK", nullptr), absl::OkStatus());
}

// One batch may delete an instance with its migration, and give the uuid of the migration to another.
TEST(Rows, AMigrationMayGoAndComeForAnotherInstanceInOneBatch) {
  Tables tables;
  const auto instance = [](uint64_t number) {
    auto record = std::make_shared<InstanceRecord>();
    record->id = InstanceId{Uuid{11, number}};
    record->generation = Generation{1};
    return InstancePut{record};
  };
  const MigrationId id{Uuid{12, 1}};
  const auto migration = [&](uint64_t number, int64_t generation) {
    auto record = std::make_shared<MigrationRecord>();
    record->id = id;
    record->generation = Generation{generation};
    record->instance = InstanceId{Uuid{11, number}};
    record->source_host = "h1";
    return MigrationPut{record};
  };
  ASSERT_EQ(tables.Write({{instance(1), instance(2), migration(1, 1)}}), absl::OkStatus());
  ASSERT_EQ(tables.Write({{MigrationRemoved{id}, InstanceRemoved{InstanceId{Uuid{11, 1}}}},
                          {migration(2, 5)}}),
            absl::OkStatus());
  const absl::StatusOr<State> loaded = LoadState(tables.database());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->records().FindMigration(id)->instance, (InstanceId{Uuid{11, 2}}));
}

TEST(Rows, TextOfAnyKindSurvives) {
  Tables tables;
  auto service = std::make_shared<ServiceRecord>();
  service->host = "a\"b\\c'd{e},f\n\tNULL ☃";
  service->binary = "NULL";
  service->disabled_reason = "";
  service->version = "\\x00";
  auto node = std::make_shared<NodeRecord>();
  node->id = ProviderId{Uuid{1, 2}};
  node->name = "{}";
  node->digest = std::string("\0\x01\xff\"\\", 5);
  node->facts = std::make_shared<const std::string>(std::string(3, '\0'));
  node->reported = {{ProviderId{Uuid{1, 2}}, Generation{7}}};
  ASSERT_EQ(tables.Write({{ServicePut{service}, NodePut{node}}}), absl::OkStatus());
  const absl::StatusOr<State> loaded = LoadState(tables.database());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto* read = loaded->services().Find(std::make_pair(service->host, service->binary));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(**read, *service);
  const auto* read_node = loaded->nodes().Find(node->id);
  ASSERT_NE(read_node, nullptr);
  EXPECT_EQ((*read_node)->digest, node->digest);
  EXPECT_EQ(*(*read_node)->facts, *node->facts);
  EXPECT_EQ((*read_node)->reported, node->reported);
}

TEST(Rows, RequestsAreFoundByTheirKey) {
  Tables tables;
  State base = tables.state();
  State next = base;
  Position position;
  position.revision = {1, 1};
  position.batch = BatchId{Uuid::Random()};
  position.ledger_time = absl::FromUnixSeconds(1'763'632'672);
  next.set_position(position);
  Touched touched;
  const KeptRequest kept{{"it's \"me\"", "r-1"}, std::string(32, '\xab'), std::string("\0x", 2)};
  BatchRows rows{&base, &next, &touched, "", {kept}, 100};
  ASSERT_TRUE(LockAndReadHead(tables.database(), 0, 0, {}).ok());
  ASSERT_EQ(tables.database().RunAndCommit(WriteBatchSql(rows), nullptr), absl::OkStatus());
  const auto found = LockAndReadHead(tables.database(), 0, 0,
                                     {{"it's \"me\"", "r-2"}, kept.key, {"other", "r-1"}});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->head.has_value());
  ExpectSamePosition(found->head->position, position);
  ASSERT_EQ(found->requests.size(), 1u);
  EXPECT_EQ(found->requests[0].key, kept.key);
  EXPECT_EQ(found->requests[0].body_hash, kept.body_hash);
  EXPECT_EQ(found->requests[0].answer, kept.answer);
}

TEST(Rows, TheLockBringsTheRowsThatTheProcessDoesNotHave) {
  Tables tables;
  const auto missing = [&](int64_t known, int rows_max, const std::vector<RequestKey>& keys) {
    const absl::StatusOr<LockedHead> locked =
        LockAndReadHead(tables.database(), known, rows_max, keys);
    EXPECT_TRUE(locked.ok()) << locked.status();
    EXPECT_TRUE(tables.database().Run("ROLLBACK", nullptr).ok());
    std::vector<int64_t> numbers;
    if (!locked.ok()) return numbers;
    EXPECT_EQ(locked->head->position.revision.number, 3);
    for (const LogRow& row : locked->missing) {
      numbers.push_back(row.position.revision.number);
      EXPECT_TRUE(DecodeBatch(row.payload).ok());
    }
    return numbers;
  };
  for (int i = 1; i <= 3; ++i) {
    Changes changes;
    changes.push_back(ClassPut{ClassId{static_cast<uint32_t>(i)}, absl::StrCat("CUSTOM_", i)});
    ASSERT_EQ(tables.Write({changes}), absl::OkStatus());
  }
  const std::vector<RequestKey> keys = {{"tester", "none"}};
  for (const std::vector<RequestKey>& each : {std::vector<RequestKey>(), keys}) {
    EXPECT_EQ(missing(1, 10, each), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(missing(0, 2, each), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(missing(3, 10, each), std::vector<int64_t>());
  }
}

}  // namespace
}  // namespace berth::placement
