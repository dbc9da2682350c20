#include "tests/fault/groups/group_client.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/client_credentials.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::Message;

constexpr absl::Duration kGroupPatience = absl::Seconds(3);
constexpr absl::Duration kGroupAgainAfter = absl::Milliseconds(20);
constexpr absl::Duration kGroupOutcomeMax = absl::Minutes(2);

// The revision at which a write was refused. 0: the refusal does not say.
int64_t RevisionIn(const grpc::ClientContext& context) {
  const auto& told = context.GetServerTrailingMetadata();
  const auto found = told.find("berth-revision");
  if (found == told.end()) return 0;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(absl::string_view(found->second.data(), found->second.size()), ':');
  int64_t number = 0;
  return absl::SimpleAtoi(parts.second, &number) ? number : 0;
}

std::string IdIn(const Message& request) {
  const auto* const field = request.GetDescriptor()->FindFieldByName("request_id");
  return request.GetReflection()->GetString(request, field);
}

void SetNewId(Message* request) {
  const auto* const field = request->GetDescriptor()->FindFieldByName("request_id");
  request->GetReflection()->SetString(request, field, e2e::Random());
}

pb::Instance RecordOf(const std::string& instance, const std::string& group) {
  pb::Instance record;
  record.set_uuid(instance);
  record.set_project_id("p");
  record.set_user_id("u");
  record.set_vm_state("active");
  record.set_group_uuid(group);
  record.mutable_flavor()->set_vcpus(1);
  return record;
}

pb::CandidateQuery QueryOfOne(const std::optional<std::string>& root) {
  pb::CandidateQuery query;
  pb::RequestGroup& group = *query.add_groups();
  (*group.mutable_resources())["VCPU"] = 1;
  if (root) group.set_in_tree(*root);
  return query;
}

}  // namespace

void GroupClient::Connect() {
  const std::string address = AddressIn(work_->plan.address_files[random_() % kGroupServers]);
  if (address.empty() || address == address_) return;
  address_ = address;
  channel_ = testing::OwnChannel(address, work_->credentials);
}

void GroupClient::Run() {
  for (Connect(); channel_ == nullptr && !HasToStop(); Connect()) absl::SleepFor(kGroupAgainAfter);
  const GroupPlan& plan = work_->plan;
  while (!HasToStop() && absl::Now() < plan.until) {
    const int64_t number = work_->progress->next++;
    if (number >= plan.members || !AwaitTurn(number)) return;
    Member member;
    // The members of a group are taken one after the other, so that many clients have the same one.
    const auto of_group = plan.members / static_cast<int64_t>(plan.groups.size());
    member.group = plan.groups[static_cast<size_t>(number / of_group)];
    member.instance = e2e::Random();
    Place(&member);
    if (!member.host.empty() && Chance(30)) Move(&member);
    if (!member.host.empty() && Chance(20)) Release(member);
    ++work_->progress->settled;
    if (Chance(10)) Connect();
  }
}

bool GroupClient::AwaitTurn(int64_t number) const {
  while (number >= work_->progress->allowed) {
    if (HasToStop() || absl::Now() >= work_->plan.until) return false;
    absl::SleepFor(kGroupAgainAfter);
  }
  return true;
}

bool GroupClient::Read(const std::string& method, const Message& request, Message* response) {
  const absl::Time until = absl::Now() + kGroupOutcomeMax;
  while (!HasToStop() && absl::Now() < until) {
    if (e2e::InvokeOn(channel_, method, request, response, kGroupPatience).ok()) return true;
    absl::SleepFor(kGroupAgainAfter);
    Connect();
  }
  if (!HasToStop()) work_->report.Complain("nobody answered " + method);
  return false;
}

std::optional<std::string> GroupClient::Choose(const Member& member) {
  pb::GetServerGroupRequest get;
  get.set_group_uuid(member.group);
  pb::GetServerGroupResponse read;
  if (!Read("ServerGroupService/GetServerGroup", get, &read)) return std::nullopt;
  std::map<std::string, int> members;
  for (const pb::ServerGroupMember& other : read.members()) {
    if (other.instance_uuid() == member.instance) continue;
    for (const std::string& host : other.hosts()) ++members[host];
  }
  pb::FindCandidatesRequest find;
  *find.mutable_query() = QueryOfOne(std::nullopt);
  find.mutable_order()->set_strategy(pb::STRATEGY_RANDOM);
  find.set_omit_summaries(true);
  pb::FindCandidatesResponse found;
  if (!e2e::InvokeOn(channel_, "CandidateService/FindCandidates", find, &found, kGroupPatience)
           .ok()) {
    return std::nullopt;
  }
  const bool together = read.group().policy() == pb::SERVER_GROUP_POLICY_AFFINITY;
  const int max = std::max(read.group().max_server_per_host(), 1);
  for (const pb::Candidate& candidate : found.candidates()) {
    for (const auto& [host, node] : work_->plan.node_of_host) {
      if (node != candidate.root_uuid() || host == member.host) continue;
      const auto here = members.find(host);
      const int others = here == members.end() ? 0 : here->second;
      if (together ? members.empty() || others > 0 : others < max) return host;
    }
  }
  return std::nullopt;
}

void GroupClient::Place(Member* member) {
  std::optional<std::string> host;
  if (Chance(50)) host = Choose(*member);
  pb::ClaimRequest request;
  pb::ClaimConsumer& consumer = *request.mutable_consumer();
  consumer.set_consumer_uuid(member->instance);
  consumer.mutable_new_consumer();
  consumer.set_project_id("p");
  consumer.set_user_id("u");
  consumer.set_consumer_type("INSTANCE");
  *consumer.mutable_instance() = RecordOf(member->instance, member->group);
  *request.mutable_query() =
      QueryOfOne(host ? std::optional(work_->plan.node_of_host.at(*host)) : std::nullopt);
  if (Chance(50)) request.mutable_order()->set_strategy(pb::STRATEGY_RANDOM);
  pb::ClaimResponse response;
  GroupRefusal refusal{"a claim", "", member->instance, member->group, host, 0, 0};
  if (!Write("CandidateService/Claim", &request, &response, refusal)) {
    work_->report.NotPlaced(member->instance);
    if (!host && reason_ == "SERVER_GROUP_POLICY_VIOLATED") {
      work_->report.Complain("a claim that named no host got one that is forbidden: " + message_);
    }
    return;
  }
  for (const auto& [name, node] : work_->plan.node_of_host) {
    if (node == response.candidate().root_uuid()) member->host = name;
  }
  work_->report.Placed({member->instance, member->group, member->host});
  member->generation = response.instance_generation();
  member->consumer_generation = response.generation();
}

// A cold migration to a host that the client chooses, which is confirmed or given up.
void GroupClient::Move(Member* member) {
  GroupRefusal refusal{"a move", "", member->instance, member->group, member->host, 0, 0};
  pb::SetInstanceRequest set;
  *set.mutable_instance() = RecordOf(member->instance, member->group);
  PutOn(member->host, set.mutable_instance());
  set.set_expected_generation(member->generation);
  pb::SetInstanceResponse was_set;
  if (!Write("InstanceService/SetInstance", &set, &was_set, refusal)) return;
  pb::CreateMigrationRequest create;
  pb::Migration& move = *create.mutable_migration();
  move.set_uuid(e2e::Random());
  move.set_instance_uuid(member->instance);
  move.set_type(pb::MIGRATION_TYPE_COLD);
  move.set_source_host(member->host);
  pb::CreateMigrationResponse created;
  if (!Write("InstanceService/CreateMigration", &create, &created, refusal)) return;
  const std::optional<std::string> host = Choose(*member);
  pb::Migration last = created.migration();
  const bool goes = host && Carry(*member, *host, &last) && Chance(80);
  pb::EndMoveRequest end;
  end.set_migration_uuid(last.uuid());
  end.set_end(goes ? pb::MOVE_END_CONFIRMED : pb::MOVE_END_FAILED);
  end.set_expected_generation(last.generation());
  end.set_expected_instance_generation(was_set.instance().generation());
  *end.mutable_instance() = was_set.instance();
  PutOn(goes ? *host : member->host, end.mutable_instance());
  pb::EndMoveResponse ended;
  refusal.host = end.instance().host();
  if (!Write("InstanceService/EndMove", &end, &ended, refusal)) return;
  member->host = end.instance().host();
  work_->report.Moved({member->instance, member->group, member->host});
}

void GroupClient::PutOn(const std::string& host, pb::Instance* instance) const {
  instance->set_host(host);
  instance->set_node_uuid(work_->plan.node_of_host.at(host));
}

bool GroupClient::Carry(const Member& member, const std::string& host, pb::Migration* move) {
  GroupRefusal refusal{"a move", "", member.instance, member.group, host, 0, 0};
  pb::UpdateMigrationRequest update;
  update.set_migration_uuid(move->uuid());
  update.set_expected_status(move->status());
  update.set_status("migrating");
  update.set_destination_host(host);
  pb::UpdateMigrationResponse updated;
  if (!Write("InstanceService/UpdateMigration", &update, &updated, refusal)) return false;
  *move = updated.migration();
  // The migration gets what was held on the source, and the instance holds on the destination.
  pb::SetAllocationsRequest swap;
  const auto add = [&](const std::string& uuid, const std::string& on) {
    pb::ConsumerAllocations& consumer = *swap.add_consumers();
    consumer.set_consumer_uuid(uuid);
    consumer.set_project_id("p");
    consumer.set_user_id("u");
    pb::ProviderAllocation& row = *consumer.add_allocations();
    row.set_provider_uuid(work_->plan.node_of_host.at(on));
    (*row.mutable_resources())["VCPU"] = 1;
    return &consumer;
  };
  pb::ConsumerAllocations* const source = add(move->uuid(), member.host);
  source->mutable_new_consumer();
  source->set_consumer_type("MIGRATION");
  pb::ConsumerAllocations* const destination = add(member.instance, host);
  destination->set_generation(member.consumer_generation);
  destination->set_consumer_type("INSTANCE");
  pb::SetAllocationsResponse swapped;
  return Write("AllocationService/SetAllocations", &swap, &swapped, refusal);
}

void GroupClient::Release(const Member& member) {
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(member.instance);
  request.set_release(true);
  pb::DeleteInstanceResponse response;
  GroupRefusal refusal{"a release", "", member.instance, member.group, member.host, 0, 0};
  if (!Write("InstanceService/DeleteInstance", &request, &response, refusal)) return;
  work_->report.Released(member.instance);
}

bool GroupClient::Write(const std::string& method, Message* request, Message* response,
                        GroupRefusal refusal) {
  SetNewId(request);
  const absl::Time until = absl::Now() + kGroupOutcomeMax;
  const std::string id = IdIn(*request);
  bool was_open = false;
  Outcome outcome = Send(method, *request, response);
  while (outcome == Outcome::kOpen && absl::Now() < until && !HasToStop()) {
    was_open = true;
    work_->report.LeftOpen();
    absl::SleepFor(kGroupAgainAfter);
    Connect();
    outcome = Chance(50) ? Send(method, *request, response) : Ask(id, false, response);
  }
  // What was sent earlier may be decided after the refusal.
  if (outcome == Outcome::kRefused && was_open && Ask(id, true, response) == Outcome::kDone) {
    outcome = Outcome::kDone;
  }
  if (outcome == Outcome::kDone) return true;
  if (outcome == Outcome::kRefused) {
    Note(method, std::move(refusal));
  } else if (!HasToStop()) {
    work_->report.Complain("nobody could tell what became of " + method);
  }
  return false;
}

void GroupClient::Note(const std::string& method, GroupRefusal refusal) {
  refusal.reason = reason_;
  if (reason_ != "NO_CANDIDATE" && reason_ != "SERVER_GROUP_POLICY_VIOLATED" &&
      reason_ != "CAPACITY_EXCEEDED") {
    work_->report.Complain(absl::StrCat(method, ": ", reason_, ": ", message_));
    return;
  }
  if (revision_ == 0) work_->report.Complain(method + " was refused without a revision");
  // Decided before, between or after the commands of this revision.
  refusal.from = revision_ - 1;
  refusal.to = revision_;
  work_->report.Refused(refusal);
}

GroupClient::Outcome GroupClient::Send(const std::string& method, const Message& request,
                                       Message* response) {
  grpc::ClientContext context;
  const grpc::Status status =
      e2e::InvokeIn(&context, channel_, method, request, response, kGroupPatience);
  if (status.ok()) return Outcome::kDone;
  reason_ = e2e::ReasonOf(status);
  message_ = status.error_message();
  revision_ = RevisionIn(context);
  const bool passes = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return reason_.empty() || passes ? Outcome::kOpen : Outcome::kRefused;
}

GroupClient::Outcome GroupClient::Ask(const std::string& id, bool cancels, Message* response) {
  pb::GetRequestRequest request;
  request.set_request_id(id);
  request.set_cancel_if_absent(cancels);
  pb::GetRequestResponse found;
  if (!Read("LedgerService/GetRequest", request, &found)) return Outcome::kOpen;
  return found.response().UnpackTo(response) ? Outcome::kDone : Outcome::kOpen;
}

}  // namespace berth::fault
