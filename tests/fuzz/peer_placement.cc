#include "tests/fuzz/peer_placement.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/commands/fleet_node.h"
#include "placement/values/refusal.h"
#include "services/process/error.h"
#include "services/report/push_slice.h"
#include "services/wire/allocation.h"
#include "services/wire/instance.h"
#include "services/wire/record_write.h"
#include "tests/fuzz/peer_names.h"

namespace berth::fuzz {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using placement::ProviderId;

constexpr char kIncarnation[] = "33333333-3333-4333-8333-333333333333";

pb::SessionRequest HelloFrom(const char* host, const char* node) {
  pb::SessionRequest request;
  pb::Hello& hello = *request.mutable_hello();
  hello.set_host(host);
  hello.set_binary("berth-tracker");
  hello.set_incarnation(kIncarnation);
  hello.set_machine_id("machine");
  hello.add_nodes()->set_node_uuid(node);
  return request;
}

pb::SessionRequest ReportOf(const char* host, const char* node) {
  pb::SessionRequest request;
  pb::Report& report = *request.mutable_report();
  report.set_node_uuid(node);
  report.set_node_name(absl::StrCat(host, "-node"));
  report.set_sequence(1);
  report.set_kind(pb::REPORT_KIND_SNAPSHOT);
  report.set_digest("digest");
  report.mutable_facts()->set_vcpus(8);
  report.mutable_audit();
  pb::WantedProvider* const root = report.add_providers();
  root->set_uuid(node);
  root->set_name(absl::StrCat(host, "-node"));
  (*root->mutable_inventories())["VCPU"].set_total(8);
  (*root->mutable_inventories())["PCPU"].set_total(8);
  (*root->mutable_inventories())["MEMORY_MB"].set_total(4096);
  return request;
}

std::string TextOf(const Message& message, const char* name) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) return "";
  return message.GetReflection()->GetString(message, field);
}

}  // namespace

PeerPlacement::PeerPlacement() {
  for (const auto& [host, node] :
       {std::pair(kHonestHost, kHonestNode), std::pair(kHostileHost, kHostileNode)}) {
    for (const pb::SessionRequest& request : {HelloFrom(host, node), ReportOf(host, node)}) {
      const auto answer = Take(host, request);
      EXPECT_TRUE(answer.ok() && !answer->has_reject()) << answer.status();
    }
  }
  for (const char* uuid : {kPlain, kPinned, kAnchor}) Create(uuid, kHonestNode, "");
  Create(kHostile, kHostileNode, "");
  Create(kMoving, kHonestNode, "elsewhere");
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(kMigration);
  create.mutable_migration()->set_instance_uuid(kMoving);
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  Must(services::CreateMigrationCommand(create));
  applied_ = 0;
}

// Makes the record of an instance on `host`, which holds memory of `node`.
void PeerPlacement::Create(const char* uuid, const char* node, const char* host) {
  pb::SetInstanceRequest set;
  pb::Instance& instance = *set.mutable_instance();
  instance.set_uuid(uuid);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_host(host);
  const bool moves = instance.host() != "";
  instance.set_vm_state(moves ? "active" : "building");
  instance.set_task_state(moves ? "resize_prep" : "spawning");
  instance.mutable_flavor()->set_vcpus(1);
  instance.mutable_flavor()->set_memory_mib(64);
  Must(services::SetInstanceCommand(set));
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* const consumer = request.add_consumers();
  consumer->set_consumer_uuid(uuid);
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  consumer->add_allocations()->set_provider_uuid(node);
  (*consumer->mutable_allocations(0)->mutable_resources())["MEMORY_MB"] = 64;
  Must(services::SetAllocationsCommand(request));
}

void PeerPlacement::Must(absl::StatusOr<placement::CommandBody> body) {
  ASSERT_TRUE(body.ok()) << body.status();
  const auto outcome = Decide(*std::move(body));
  EXPECT_TRUE(outcome.ok()) << outcome.status();
}

absl::StatusOr<placement::Outcome> PeerPlacement::Decide(placement::CommandBody body) {
  absl::StatusOr<placement::Outcome> outcome = world_.Do(std::move(body));
  ++(outcome.ok() ? applied_ : refused_);
  if (outcome.ok()) return outcome;
  const auto refusal = placement::RefusalOf(outcome.status());
  EXPECT_TRUE(refusal && !refusal->reason.empty()) << outcome.status();
  EXPECT_NE(outcome.status().message(), "");
  return outcome;
}

// A malformed report or write of records is answered, and the session goes on.
absl::StatusOr<pb::SessionResponse> PeerPlacement::Take(const std::string& host,
                                                        const pb::SessionRequest& request) {
  const absl::Status form = services::CheckText(request);
  if (request.has_hello())
    return form.ok() ? Hello(host, request.hello()) : absl::StatusOr<Response>(form);
  if (hellos_.count(host) == 0) return services::InvalidField("message", "must be hello");
  Response response;
  if (request.has_report()) {
    const auto answer = form.ok() ? Report(host, request.report()) : absl::StatusOr<Response>(form);
    if (answer.ok()) return answer;
    *response.mutable_reject()->mutable_status() = services::PlacementError(answer.status());
  } else if (request.has_record_write()) {
    const auto answer =
        form.ok() ? WriteRecords(host, request.record_write()) : absl::StatusOr<Response>(form);
    if (answer.ok()) return answer;
    *response.mutable_record_answer()->mutable_status() = services::PlacementError(answer.status());
  } else if (request.has_heartbeat()) {
    services::BeatOf(request.heartbeat());
  } else if (request.has_readiness() && form.ok()) {
    RecordReadiness(host, request.readiness());
  }
  return response;
}

absl::StatusOr<pb::SessionResponse> PeerPlacement::Hello(const std::string& host,
                                                         const pb::Hello& hello) {
  BERTH_ASSIGN_OR_RETURN(services::HelloFacts facts, services::HelloOf(hello));
  if (facts.service.host != host) return services::InvalidField("hello.host", "is another host");
  facts.service.id = placement::Uuid{7, static_cast<uint64_t>(world_.commands())};
  BERTH_RETURN_IF_ERROR(Decide(facts.service).status());
  Response response;
  for (const services::HelloNode& node : facts.nodes) {
    const auto record = placement::FindNode(world_.state(), node.id);
    pb::NodeWelcome* const welcome = response.mutable_welcome()->add_nodes();
    welcome->set_node_uuid(node.id.ToString());
    if (record == nullptr) continue;
    services::FillRecordedNode(*record, welcome->mutable_recorded());
    services::IsKnown(world_.state(), *record, node.digest);
    services::MayReport(world_.state(), facts, node.id);
  }
  for (const ProviderId id : facts.retired) {
    const auto record = placement::FindNode(world_.state(), id);
    if (record == nullptr || record->host != host || record->retired) continue;
    Decide(placement::RetireNode{id, true}).status().IgnoreError();
  }
  hellos_[host] = std::move(facts);
  return response;
}

absl::StatusOr<pb::SessionResponse> PeerPlacement::Report(const std::string& host,
                                                          const pb::Report& report) {
  const services::HelloFacts& hello = hellos_[host];
  BERTH_ASSIGN_OR_RETURN(placement::ApplyReport command,
                         services::ApplyReportOf(world_.state(), hello, report));
  const ProviderId node = command.node;
  bool is_named = false;
  for (const services::HelloNode& one : hello.nodes) is_named = is_named || one.id == node;
  if (!is_named) return services::InvalidField("report.node_uuid", "is not in the hello");
  const auto outcome = Decide(std::move(command));
  Response response;
  if (outcome.ok()) {
    placement::Decision decision;
    decision.result = outcome->result;
    services::FillAck(world_.state(), node, report, decision, response.mutable_ack());
  } else {
    services::FillReject(world_.state(), node, report, outcome.status(), response.mutable_reject());
  }
  return response;
}

absl::StatusOr<pb::SessionResponse> PeerPlacement::WriteRecords(const std::string& host,
                                                                const pb::RecordWrite& write) {
  const services::HelloFacts& hello = hellos_[host];
  BERTH_ASSIGN_OR_RETURN(
      placement::WriteRecords command,
      services::WriteRecordsOf(write, {hello.service.host, hello.service.incarnation}));
  const ProviderId node = command.node;
  services::PushScope names;
  names.instances.insert(command.instance);
  if (command.migration) names.migrations.insert(command.migration->migration);
  const auto outcome = Decide(std::move(command));
  Response response;
  pb::RecordAnswer* const answer = response.mutable_record_answer();
  *answer->mutable_status() = services::PlacementError(outcome.status());
  pb::Push records;
  services::FillSlice(world_.state(), host, node, &names, &records);
  *answer->mutable_instances() = records.instances();
  *answer->mutable_removed_instance_uuids() = records.removed_instance_uuids();
  *answer->mutable_migrations() = records.migrations();
  *answer->mutable_removed_migration_uuids() = records.removed_migration_uuids();
  return response;
}

void PeerPlacement::RecordReadiness(const std::string& host, const pb::Readiness& readiness) {
  placement::UpdateService command;
  command.host = host;
  command.binary = hellos_[host].service.binary;
  command.disabled = !readiness.ready();
  command.automatic = true;
  if (!readiness.ready()) {
    command.disabled_reason = placement::kAutomaticReason + readiness.reason();
  }
  Decide(std::move(command)).status().IgnoreError();
}

pb::Push PeerPlacement::PushFor(const std::string& host, const std::string& node) const {
  const ProviderId id = *ProviderId::Parse(node);
  services::PushScope rest;
  rest.complete = true;
  services::NameAll(world_.state(), host, id, &rest);
  pb::Push all;
  bool more = true;
  while (more) {
    pb::Push slice;
    services::FillSlice(world_.state(), host, id, &rest, &slice);
    more = slice.more();
    all.MergeFrom(slice);
  }
  all.set_more(false);
  return all;
}

pb::Instance PeerPlacement::Instance(const std::string& uuid) const {
  pb::Instance instance;
  const auto id = placement::InstanceId::Parse(uuid);
  const auto record = id ? world_.state().records().FindInstance(*id) : nullptr;
  if (record != nullptr) services::FillInstance(*record, &instance);
  return instance;
}

pb::Migration PeerPlacement::Migration(const std::string& uuid) const {
  pb::Migration migration;
  const auto id = placement::MigrationId::Parse(uuid);
  const auto record = id ? world_.state().records().FindMigration(*id) : nullptr;
  if (record != nullptr) services::FillMigration(*record, &migration);
  return migration;
}

// The present value of the field of a message that is about something; 0 if there is none.
int64_t PeerPlacement::PresentOf(const Message& message, const std::string& field) const {
  if (field == "sequence") {
    const auto id = ProviderId::Parse(TextOf(message, "node_uuid"));
    const auto node = id ? placement::FindNode(world_.state(), *id) : nullptr;
    return node == nullptr ? 1 : node->report_sequence + 1;
  }
  const std::string uuid = TextOf(message, "uuid");
  if (field == "base_generation") {
    const auto id = ProviderId::Parse(uuid);
    const auto place = id ? world_.state().FindProvider(*id) : std::nullopt;
    return place ? place->config().generation.value : 0;
  }
  if (message.GetDescriptor() == pb::HeldAllocations::descriptor()) {
    const auto id = placement::ConsumerId::Parse(TextOf(message, "consumer_uuid"));
    const auto consumer = id ? world_.state().FindConsumer(*id) : nullptr;
    return consumer == nullptr ? 0 : consumer->generation.value;
  }
  const int64_t moves = Migration(uuid).generation();
  return moves != 0 ? moves : Instance(uuid).generation();
}

void PeerPlacement::FillIn(Message* message) const {
  const auto* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection->ListFields(*message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int size = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < size; ++i) {
        FillIn(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                    : reflection->MutableMessage(message, field));
      }
    } else if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
               reflection->GetInt64(*message, field) == kPresent) {
      const int64_t value = PresentOf(*message, field->name());
      reflection->SetInt64(message, field, value);
      if (value == 0) reflection->ClearField(message, field);
    } else if (field->name() == "claim_id") {
      const std::string end = absl::StrCat("/", kPresent);
      std::string id = reflection->GetString(*message, field);
      if (!absl::EndsWith(id, end)) continue;
      id.resize(id.size() - end.size());
      reflection->SetString(message, field,
                            absl::StrCat(id, "/", Instance(id).claimed_generation()));
    }
  }
}

}  // namespace berth::fuzz
