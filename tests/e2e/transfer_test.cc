// A whole ledger out of one placement and into another, over real sockets and a real PostgreSQL.
#include <csignal>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "tests/e2e/calls.h"
#include "tests/e2e/random_ledger.h"
#include "tests/processes/identity.h"
#include "tests/worlds/seed.h"

namespace berth::e2e {
namespace {

constexpr size_t kEntitiesInMessage = 100;

// A placement with a database that nobody has used.
class Place {
 public:
  Place() : url_(placement::NewDatabase()) { Start(); }

  void Start() {
    server_.reset();
    server_ = StartAt(scratch_.path(), url_);
    Connect(*server_);
  }
  // Another process on the same database takes the calls.
  std::unique_ptr<PlacementServer> StartBeside(const std::string& directory) {
    auto beside = StartAt(directory, url_);
    Connect(*beside);
    return beside;
  }
  void Kill() {
    server_->Signal(SIGKILL);
    server_->AwaitEnd(absl::Seconds(30));
  }
  pb::LedgerService::Stub& ledger() { return *stub_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

  // Everything, without what an import draws anew.
  std::vector<std::string> Export(pb::Revision* revision = nullptr) {
    grpc::ClientContext context;
    auto reader = stub_->ExportLedger(&context, pb::ExportLedgerRequest());
    std::vector<std::string> entities;
    pb::ExportLedgerResponse message;
    int64_t total = -1;
    while (reader->Read(&message)) {
      EXPECT_TRUE(total < 0 || message.revision().number() == at_.number());
      at_ = message.revision();
      total = message.total_count();
      for (const pb::Entity& entity : message.entities()) entities.push_back(Lasting(entity));
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(total, static_cast<int64_t>(entities.size()));
    if (revision != nullptr) *revision = at_;
    return entities;
  }

  // What is the same in every ledger that has the entity.
  static std::string Lasting(pb::Entity entity) {
    if (entity.has_provider()) {
      entity.mutable_provider()->clear_generation();
      // These follow from the rest.
      entity.mutable_provider()->clear_root_uuid();
      for (auto& [_, inventory] : *entity.mutable_provider()->mutable_inventories()) {
        inventory.clear_capacity();
      }
    }
    if (entity.has_consumer()) entity.mutable_consumer()->clear_generation();
    if (entity.has_aggregate()) entity.mutable_aggregate()->clear_generation();
    if (entity.has_instance()) entity.mutable_instance()->clear_generation();
    if (entity.has_migration()) entity.mutable_migration()->clear_generation();
    if (entity.has_service()) entity.mutable_service()->clear_state();
    return entity.DebugString();
  }

  // `first` says what only the first message does; it gets the number of entities.
  grpc::Status Import(const std::vector<pb::Entity>& entities, pb::ImportLedgerRequest first = {},
                      pb::ImportLedgerResponse* response = nullptr) {
    pb::ImportLedgerResponse unused;
    grpc::ClientContext context;
    auto writer = stub_->ImportLedger(&context, response == nullptr ? &unused : response);
    if (!first.has_total_count()) first.set_total_count(static_cast<int64_t>(entities.size()));
    pb::ImportLedgerRequest message = first;
    for (size_t i = 0; i < entities.size(); ++i) {
      *message.add_entities() = entities[i];
      if (static_cast<size_t>(message.entities_size()) < kEntitiesInMessage) continue;
      if (!writer->Write(message)) break;
      message.Clear();
    }
    writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }

  void ExpectClean() {
    grpc::ClientContext context;
    pb::SelfCheckResponse checked;
    EXPECT_TRUE(stub_->SelfCheck(&context, pb::SelfCheckRequest(), &checked).ok());
    EXPECT_TRUE(checked.clean()) << checked.ShortDebugString();
  }

 private:
  void Connect(const PlacementServer& server) {
    channel_ = grpc::CreateChannel(server.address(), CredentialsOf());
    stub_ = pb::LedgerService::NewStub(channel_);
  }

  const std::string url_;
  placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::LedgerService::Stub> stub_;
  pb::Revision at_;
};

std::vector<pb::Entity> SomeLedger(int providers = 120, int consumers = 200) {
  return RandomLedger(placement::Seed()).Make(providers, consumers);
}

// A fault's reason, and the record it lies in.
std::string FaultOf(const grpc::Status& status) {
  if (status.ok()) return "OK";
  const auto infos = InfosOf(status);
  if (infos.empty()) return "?";
  const auto record = infos[0].metadata().find("record");
  return record == infos[0].metadata().end() ? infos[0].reason()
                                             : absl::StrCat(infos[0].reason(), " ", record->second);
}

std::vector<pb::Entity> Read(Place& place) {
  grpc::ClientContext context;
  auto reader = place.ledger().ExportLedger(&context, pb::ExportLedgerRequest());
  std::vector<pb::Entity> entities;
  pb::ExportLedgerResponse message;
  while (reader->Read(&message)) {
    entities.insert(entities.end(), message.entities().begin(), message.entities().end());
  }
  EXPECT_TRUE(reader->Finish().ok());
  return entities;
}

TEST(Transfer, ARandomLedgerIsTheSameElsewhere) {
  Place first, second;
  EXPECT_TRUE(first.Export().empty());
  const std::vector<pb::Entity> entities = SomeLedger();
  pb::ImportLedgerRequest head;
  head.set_require_empty(true);
  head.set_request_id("move-1");
  pb::ImportLedgerResponse response;
  const grpc::Status imported = first.Import(entities, head, &response);
  ASSERT_TRUE(imported.ok()) << imported.error_message();
  EXPECT_EQ(response.entity_count(), static_cast<int64_t>(entities.size()));
  EXPECT_GT(response.overcommitted_size(), 0);
  first.ExpectClean();
  const std::vector<std::string> exported = first.Export();
  std::set<std::string> given;
  for (const pb::Entity& entity : entities) given.insert(Place::Lasting(entity));
  EXPECT_EQ(std::set<std::string>(exported.begin(), exported.end()), given);

  ASSERT_TRUE(second.Import(Read(first)).ok());
  EXPECT_EQ(second.Export(), exported);
  second.ExpectClean();

  // The same id and the same records answer the same, however they are cut into messages; other
  // records do not.
  pb::ImportLedgerResponse again;
  ASSERT_TRUE(first.Import(entities, head, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), response.SerializeAsString());
  std::vector<pb::Entity> fewer = entities;
  fewer.pop_back();
  EXPECT_EQ(FaultOf(first.Import(fewer, head)), "REQUEST_ID_REUSED");
  head.clear_request_id();
  EXPECT_EQ(FaultOf(first.Import(entities, head)), "WRONG_LEDGER_STATE");
  EXPECT_EQ(FaultOf(first.Import(entities)), "DUPLICATE_PROVIDER 9");
  EXPECT_EQ(first.Export(), exported);

  // The other processes of the database have it too.
  placement::ScratchDirectory scratch;
  const auto beside = second.StartBeside(scratch.path());
  EXPECT_EQ(second.Export(), exported);
}

TEST(Transfer, WhoeverWatchesSeesAllOfItInOneRevision) {
  Place place;
  pb::Revision before;
  place.Export(&before);
  const std::vector<pb::Entity> entities = SomeLedger();
  pb::ImportLedgerResponse response;
  ASSERT_TRUE(place.Import(entities, {}, &response).ok());
  pb::WatchRequest request;
  *request.mutable_after_revision() = before;
  grpc::ClientContext context;
  auto reader = pb::WatchService::NewStub(place.channel())->Watch(&context, request);
  pb::WatchResponse told;
  std::set<std::string> keys;
  while (reader->Read(&told)) {
    for (const pb::Change& change : told.changes()) {
      if (!change.present().has_provider_usage()) keys.insert(Place::Lasting(change.present()));
    }
    if (told.complete()) break;
  }
  EXPECT_EQ(told.revision().number(), response.revision().number());
  const std::vector<std::string> exported = place.Export();
  EXPECT_EQ(keys, std::set<std::string>(exported.begin(), exported.end()));
  context.TryCancel();
}

TEST(Transfer, AMigrationIsOneOfAnInstanceThatHasARecord) {
  Place place;
  using Entities = std::vector<pb::Entity>;
  const Entities right = SomeLedger(20, 20);  // the last records are 4 instances and 4 migrations
  const std::string last = absl::StrCat(" ", right.size());
  const struct {
    std::string fault;
    std::function<void(Entities&)> spoil;
  } cases[] = {
      {"INVALID_FIELD" + last,
       [](Entities& e) { e.back().mutable_migration()->set_source_host(""); }},
      {"INSTANCE_NOT_FOUND" + last,
       [](Entities& e) { e.back().mutable_migration()->set_instance_uuid(Random()); }},
      {"DUPLICATE_PARAMETER" + last, [](Entities& e) { e.back() = e[e.size() - 2]; }},
      {"INVALID_FIELD" + last,  // an instance after a migration
       [](Entities& e) { e.back() = e[e.size() - 5]; }},
  };
  for (const auto& one : cases) {
    Entities entities = right;
    one.spoil(entities);
    EXPECT_EQ(FaultOf(place.Import(entities)), one.fault);
  }
  EXPECT_TRUE(place.Export().empty());
}

TEST(Transfer, WhatIsWrongIsRefusedAndLeavesNothing) {
  Place place;
  const std::vector<pb::Entity> right = SomeLedger(20, 20);
  const auto count = static_cast<int64_t>(right.size());
  using Entities = std::vector<pb::Entity>;
  // Records: 3 classes, 5 traits, 20 providers, consumers, and 4 each of services, nodes, instances
  // and migrations.
  const struct {
    const char* fault;
    std::function<void(Entities&)> spoil;
  } cases[] = {
      {"INVALID_FIELD 4", [](Entities& e) { e[3].Clear(); }},
      {"INVALID_FIELD 2", [](Entities& e) { e[1].mutable_instance()->set_uuid(Random()); }},
      {"INVALID_FIELD 2", [](Entities& e) { e[1].mutable_provider_usage(); }},
      {"INVALID_FIELD 9", [](Entities& e) { e[8].mutable_provider()->set_uuid("no uuid"); }},
      {"INVALID_FIELD 9",
       [](Entities& e) { e[8].mutable_provider()->set_name(std::string("a\0b", 3)); }},
      {"INVALID_FIELD 9",
       [](Entities& e) { e[8].mutable_provider()->mutable_created_at()->set_nanos(-1); }},
      {"INVALID_FIELD 9",
       [](Entities& e) { e[8].mutable_provider()->mutable_updated_at()->set_seconds(1LL << 40); }},
      {"INVALID_FIELD 9", [](Entities& e) { std::swap(e[7], e[8]); }},
      {"DUPLICATE_PARAMETER 10", [](Entities& e) { e[9] = e[8]; }},
      {"SELF_PARENT 9",
       [](Entities& e) { e[8].mutable_provider()->set_parent_uuid(e[8].provider().uuid()); }},
      {"PARENT_NOT_FOUND 9",
       [](Entities& e) { e[8].mutable_provider()->set_parent_uuid(Random()); }},
      {"TRAIT_NOT_FOUND 9", [](Entities& e) { e[8].mutable_provider()->add_traits("CUSTOM_NO"); }},
      {"PROVIDER_NOT_FOUND 29",
       [](Entities& e) {
         e[28].mutable_consumer()->mutable_allocations(0)->set_provider_uuid(Random());
       }},
      {"NO_INVENTORY 29",
       [](Entities& e) {
         (*e[28].mutable_consumer()->mutable_allocations(0)->mutable_resources())["PCPU"] = 1;
       }},
      {"INVALID_FIELD",  // the number of entities is not what was said
       [](Entities& e) { e.pop_back(); }},
  };
  for (const auto& one : cases) {
    Entities entities = right;
    one.spoil(entities);
    pb::ImportLedgerRequest head;
    head.set_total_count(count);
    head.set_request_id("spoiled");
    EXPECT_EQ(FaultOf(place.Import(entities, head)), one.fault);
  }
  pb::ImportLedgerRequest head;
  head.set_validate_only(true);
  pb::ImportLedgerResponse response;
  EXPECT_TRUE(place.Import(right, head, &response).ok());
  EXPECT_EQ(response.entity_count(), count);
  EXPECT_TRUE(place.Export().empty());
  // A stream that its caller gave up before the last entity. (With the last one it may be imported:
  // the caller gave up too late.)
  {
    grpc::ClientContext context;
    auto writer = place.ledger().ImportLedger(&context, &response);
    pb::ImportLedgerRequest message;
    message.set_total_count(2);
    *message.add_entities() = right[0];
    writer->Write(message);
    context.TryCancel();
    writer->Finish();
  }
  EXPECT_TRUE(place.Export().empty());
  place.ExpectClean();
}

TEST(Transfer, AKillLeavesNothingOrAll) {
  std::mt19937_64 random(placement::Seed());
  Place place;
  const std::vector<pb::Entity> entities = SomeLedger(600, 1'200);
  pb::ImportLedgerRequest head;
  head.set_request_id("kill-1");
  int whole = 0, nothing = 0;
  for (int round = 0; round < 6; ++round) {
    const absl::Duration after = absl::Milliseconds(random() % 250);
    grpc::Status status;
    std::thread caller([&] { status = place.Import(entities, head); });
    absl::SleepFor(after);  // any moment is as good as another
    place.Kill();
    caller.join();
    place.Start();
    const size_t there = place.Export().size();
    EXPECT_TRUE(there == 0 || there == entities.size()) << there << " after " << after;
    EXPECT_TRUE(!status.ok() || there == entities.size());
    ++(there == 0 ? nothing : whole);
    place.ExpectClean();
    if (there > 0) break;
  }
  std::cout << nothing << " times nothing, " << whole << " times all\n";
  const grpc::Status again = place.Import(entities, head);
  EXPECT_TRUE(again.ok()) << again.error_message();
  EXPECT_EQ(place.Export().size(), entities.size());
}

}  // namespace
}  // namespace berth::e2e
