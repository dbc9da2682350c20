#include "tests/fault/hostile_tracker.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "placement/ground/uuid.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kSessionMax = absl::Seconds(30);
constexpr int kMessagesMax = 60;   // of one session
constexpr int kNewClasses = 1000;  // names, of which any report may use one

std::string NewUuid() { return placement::Uuid::Random().ToString(); }

}  // namespace

HostileTracker::HostileTracker(const HostilePlan& plan, int number, uint64_t seed)
    : plan_(plan),
      host_(absl::StrCat("hostile-", number)),
      node_(NewUuid()),
      child_(NewUuid()),
      incarnation_(NewUuid()),
      random_(static_cast<uint32_t>(seed)),
      words_(plan.knowledge->WordsOf({node_, child_, NewUuid()})),
      service_(pb::ReportService::NewStub(plan.site->ConnectToPlacement("tracker/" + host_))) {}

void HostileTracker::Open() {
  context_ = CallWithin(kSessionMax);
  stream_ = service_->Session(context_.get());
}

std::string HostileTracker::Finish() {
  stream_->WritesDone();
  Response rest;
  while (stream_->Read(&rest)) continue;
  const std::string answer = AnswerOf(stream_->Finish());
  stream_.reset();
  return answer == absl::StrCat("code ", grpc::StatusCode::DEADLINE_EXCEEDED) ? kNoAnswer : answer;
}

void HostileTracker::Appear() {
  Open();
  std::string answer;
  for (const Request& request : {MakeHello(), MakeReport()}) {
    EXPECT_TRUE(stream_->Write(request));
    EXPECT_TRUE(AwaitAnswer(request, &answer));
  }
  EXPECT_EQ(answer, "ack");
  EXPECT_EQ(Finish(), "OK");
  consumer_ = plan_.knowledge->AddOnNode(node_, &consumer_generation_);
}

void HostileTracker::Run() {
  while (!plan_.pace->stopped()) Session();
}

void HostileTracker::Session() {
  Open();
  Request hello = MakeHello();
  if (random_() % 16 == 0) hello.mutable_hello()->set_incarnation(NewUuid());
  if (random_() % 4 == 0) mutator_.Spoil(&hello);
  bool open = plan_.pace->Await() && Exchange(hello);
  if (open && hello.has_hello()) incarnation_ = hello.hello().incarnation();
  for (int left = kMessagesMax; open && left > 0; --left) {
    const size_t kind = random_() % 16;
    Request request = kind < 7    ? MakeReport()
                      : kind < 12 ? MakeRecordWrite()
                      : kind < 15 ? MakeOther()
                                  : MakeHello();
    if (Spoiled()) mutator_.Spoil(&request);
    open = plan_.pace->Await() && Exchange(request);
  }
  if (stream_ != nullptr) Finish();
}

bool HostileTracker::Exchange(const Request& request) {
  const pb::SessionRequest::MessageCase kind = request.message_case();
  const auto* const field = Request::descriptor()->FindFieldByNumber(kind);
  std::string answer;
  const bool open = stream_->Write(request) && AwaitAnswer(request, &answer);
  if (!open) answer = Finish();
  plan_.tally->Add(field == nullptr ? "nothing" : field->name(), answer);
  return open;
}

// Returns false if the stream has ended. A message that is not answered counts as `sent`.
bool HostileTracker::AwaitAnswer(const Request& request, std::string* answer) {
  if (!request.has_hello() && !request.has_report() && !request.has_record_write()) {
    *answer = "sent";
    return true;
  }
  Response response;
  while (stream_->Read(&response)) {
    Learn(response);
    const auto kind = response.message_case();
    const bool is_answer = request.has_hello() ? kind == Response::kWelcome
                           : request.has_record_write()
                               ? kind == Response::kRecordAnswer
                               : kind == Response::kAck || kind == Response::kReject ||
                                     kind == Response::kSnapshotOrder;
    if (!is_answer) continue;
    *answer = Response::descriptor()->FindFieldByNumber(kind)->name();
    if (kind == Response::kRecordAnswer) {
      absl::StrAppend(answer, " ", response.record_answer().status().code());
    }
    return true;
  }
  return false;
}

void HostileTracker::Learn(const Response& response) {
  if (response.has_welcome()) {
    sequence_ =
        response.welcome().nodes_size() == 0 ? 0 : response.welcome().nodes(0).last_sequence();
  }
  for (const auto& one : response.ack().generations()) {
    generations_[one.provider_uuid()] = one.generation();
  }
  for (const auto* const list : {&response.reject().providers(), &response.push().providers()}) {
    for (const pb::Provider& one : *list) generations_[one.uuid()] = one.generation();
  }
  for (const std::string& gone : response.push().removed_provider_uuids()) generations_.erase(gone);
  for (const pb::Consumer& consumer : response.push().consumers()) {
    if (consumer.uuid() == consumer_) consumer_generation_ = consumer.generation();
  }
}

HostileTracker::Request HostileTracker::MakeHello() {
  Request request;
  pb::Hello& hello = *request.mutable_hello();
  hello.set_host(host_);
  hello.set_binary("berth-tracker");
  hello.set_incarnation(incarnation_);
  hello.set_machine_id(host_);
  hello.set_zone("zone");
  pb::NodeDigest* const node = hello.add_nodes();
  node->set_node_uuid(node_);
  node->set_node_name("node-of-" + host_);
  return request;
}

pb::WantedProvider HostileTracker::MakeProvider(const std::string& uuid) {
  pb::WantedProvider provider;
  provider.set_uuid(uuid);
  const bool is_root = uuid == node_;
  provider.set_name(absl::StrCat(is_root ? "node-of-" : "card-of-", host_));
  if (!is_root) provider.set_parent_uuid(node_);
  const auto known = generations_.find(uuid);
  if (known != generations_.end()) provider.set_base_generation(known->second);
  auto& inventories = *provider.mutable_inventories();
  if (is_root) {
    inventories["VCPU"].set_total(8);
    inventories["MEMORY_MB"].set_total(4096);
  } else {
    inventories[absl::StrCat("CUSTOM_HOSTILE_", random_() % kNewClasses)].set_total(2);
  }
  provider.add_traits_present(is_root ? "COMPUTE_NODE" : "CUSTOM_HOSTILE");
  return provider;
}

HostileTracker::Request HostileTracker::MakeReport() {
  Request request;
  pb::Report& report = *request.mutable_report();
  const bool is_snapshot = sequence_ == 0 || random_() % 2 == 0;
  report.set_node_uuid(node_);
  report.set_node_name("node-of-" + host_);
  report.set_sequence(++sequence_);
  report.set_kind(is_snapshot ? pb::REPORT_KIND_SNAPSHOT : pb::REPORT_KIND_DELTA);
  report.set_digest(absl::StrCat("digest-", sequence_));
  report.mutable_facts()->set_vcpus(8);
  report.mutable_facts()->add_pci_devices()->set_address("0000:81:00.0");
  report.mutable_facts()->add_numa_cells()->add_dedicated_cpus(2);
  report.mutable_account()->mutable_used()->set_memory_mib(64);
  (*report.mutable_account()->mutable_counters())["num_instances"] = 1;
  report.mutable_audit();
  *report.add_providers() = MakeProvider(node_);
  *report.add_providers() = MakeProvider(child_);
  if (random_() % 4 == 0) report.mutable_orphans()->add_orphans()->set_uuid(NewUuid());
  if (consumer_.empty() || random_() % 2 == 0) return request;
  pb::HeldAllocations* const held = report.add_allocations();
  held->set_consumer_uuid(consumer_);
  held->set_generation(consumer_generation_);
  held->add_allocations()->set_provider_uuid(node_);
  (*held->mutable_allocations(0)->mutable_resources())["MEMORY_MB"] = 64;
  return request;
}

HostileTracker::Request HostileTracker::MakeRecordWrite() {
  Request request;
  pb::RecordWrite& write = *request.mutable_record_write();
  write.set_write_id(static_cast<int64_t>(random_() % 1000));
  write.set_node_uuid(node_);
  if (random_() % 3 == 0) {
    const auto [instance, migration] = plan_.knowledge->Moving(&random_);
    *write.mutable_instance() = instance;
    *write.mutable_migration() = migration;
    write.mutable_migration()->set_destination_host(host_);
    write.mutable_migration()->set_destination_node_uuid(node_);
    write.mutable_instance()->mutable_migration_context()->set_migration_uuid(migration.uuid());
    if (random_() % 4 == 0) write.set_end(static_cast<pb::MoveEnd>(random_() % 7));
  } else {
    *write.mutable_instance() = plan_.knowledge->Any(&random_);
    write.mutable_instance()->set_claimed_generation(write.instance().generation());
    if (random_() % 2 == 0) {
      write.mutable_instance()->set_host(host_);
      write.mutable_instance()->set_node_uuid(node_);
    }
  }
  const auto* const withdraw = pb::RecordWrite::descriptor()->FindFieldByName("withdraw");
  if (withdraw != nullptr && random_() % 3 == 0) {
    write.GetReflection()->SetBool(&write, withdraw, true);
  }
  return request;
}

HostileTracker::Request HostileTracker::MakeOther() {
  Request request;
  if (random_() % 3 == 0) {
    request.mutable_readiness()->set_ready(random_() % 2 == 0);
    request.mutable_readiness()->set_reason("hostile");
  } else if (random_() % 2 == 0) {
    request.mutable_audit_done()->set_order_id(NewUuid());
    (*request.mutable_audit_done()->mutable_audits())[node_].set_message("done");
  } else {
    request.mutable_heartbeat()->set_count(1);
    pb::NodeBeat* const beat = request.mutable_heartbeat()->add_nodes();
    beat->set_node_uuid(node_);
    beat->mutable_placement_lag()->set_seconds(1);
  }
  return request;
}

}  // namespace berth::fault
