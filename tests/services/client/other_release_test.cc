// Servers of another release: answers with fields, values and reasons that this release does not
// know, and methods that the other one does not have.
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/host_state.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/client/cpp/call.h"
#include "services/client/cpp/candidates.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/hosts.h"
#include "services/client/cpp/mirror.h"
#include "services/client/cpp/weighers.h"
#include "tests/services/client/played_watch.h"

namespace berth::client {
namespace {

using google::protobuf::FieldDescriptor;

constexpr absl::Duration kAnswerMax = absl::Seconds(60);  // bounds a failure alone
constexpr int kOfTomorrow = 99;                           // a value of an enum

// Gives the message, and each message in it, a field of each wire type that no release knows.
void AddUnknownFields(google::protobuf::Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    if (!field->is_repeated()) {
      AddUnknownFields(reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      AddUnknownFields(reflection.MutableRepeatedMessage(message, field, i));
    }
  }
  google::protobuf::UnknownFieldSet* unknown = reflection.MutableUnknownFields(message);
  unknown->AddVarint(9001, 1);
  unknown->AddFixed32(9002, 2);
  unknown->AddFixed64(9003, 3);
  unknown->AddLengthDelimited(9004, "of tomorrow");
  unknown->AddGroup(9005)->AddVarint(1, 5);
}

template <typename Answer>
std::string WithoutUnknownFields(Answer answer) {
  EXPECT_FALSE(answer.GetReflection()->GetUnknownFields(answer).empty())
      << "the test has sent none";
  answer.DiscardUnknownFields();
  return answer.DebugString();
}

// What a server of the next release says. An empty function is a method that the server does not
// have.
struct Says {
  std::function<grpc::Status(pb::SetAllocationsResponse*)> set_allocations;
  std::function<grpc::Status(pb::GetRequestResponse*)> get_request;
  std::function<grpc::Status(pb::FindCandidatesResponse*)> find_candidates;
  std::function<grpc::Status(pb::ListHostStatesResponse*)> list_host_states;
};

class OtherPlacement final : public pb::AllocationService::Service,
                             public pb::LedgerService::Service,
                             public pb::CandidateService::Service,
                             public pb::HostStateService::Service {
 public:
  explicit OtherPlacement(Says says) : says_(std::move(says)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<pb::AllocationService::Service*>(this));
    builder.RegisterService(static_cast<pb::LedgerService::Service*>(this));
    builder.RegisterService(static_cast<pb::CandidateService::Service*>(this));
    builder.RegisterService(static_cast<pb::HostStateService::Service*>(this));
    server_ = builder.BuildAndStart();
    endpoints_ =
        std::make_unique<Endpoints>(std::vector<std::string>{absl::StrCat("127.0.0.1:", port)});
  }
  ~OtherPlacement() override { server_->Shutdown(std::chrono::system_clock::now()); }

  Endpoints* endpoints() const { return endpoints_.get(); }
  int calls() const { return calls_; }

  grpc::Status SetAllocations(grpc::ServerContext*, const pb::SetAllocationsRequest*,
                              pb::SetAllocationsResponse* response) override {
    return Answer(says_.set_allocations, response);
  }
  grpc::Status GetRequest(grpc::ServerContext*, const pb::GetRequestRequest*,
                          pb::GetRequestResponse* response) override {
    return Answer(says_.get_request, response);
  }
  grpc::Status FindCandidates(grpc::ServerContext*, const pb::FindCandidatesRequest*,
                              pb::FindCandidatesResponse* response) override {
    return Answer(says_.find_candidates, response);
  }
  grpc::Status ListHostStates(grpc::ServerContext*, const pb::ListHostStatesRequest*,
                              pb::ListHostStatesResponse* response) override {
    return Answer(says_.list_host_states, response);
  }

 private:
  template <typename Response>
  grpc::Status Answer(const std::function<grpc::Status(Response*)>& say, Response* response) {
    ++calls_;
    return say ? say(response) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not here");
  }

  const Says says_;
  std::atomic<int> calls_{0};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Endpoints> endpoints_;
};

Failure SendClaim(const OtherPlacement& server, pb::SetAllocationsResponse* response) {
  pb::SetAllocationsRequest request;
  request.set_request_id("mine");
  return Write(server.endpoints(), &pb::AllocationService::Stub::SetAllocations, request, response,
               {kAnswerMax, kAnswerMax});
}

pb::SetAllocationsResponse Done() {
  pb::SetAllocationsResponse done;
  *done.mutable_revision() = At(7);
  (*done.mutable_consumer_generations())["c"] = 3;
  return done;
}

TEST(OtherReleaseTest, AWritesAnswerMayHaveUnknownFields) {
  Says says;
  says.set_allocations = [](pb::SetAllocationsResponse* response) {
    *response = Done();
    AddUnknownFields(response);
    return grpc::Status::OK;
  };
  const OtherPlacement server(says);
  pb::SetAllocationsResponse response;
  const Failure failure = SendClaim(server, &response);
  EXPECT_TRUE(failure.ok()) << InWords(failure);
  EXPECT_EQ(WithoutUnknownFields(response), Done().DebugString());
  EXPECT_EQ(server.calls(), 1);
}

// The answer got lost, and the ledger has kept it.
TEST(OtherReleaseTest, AKeptAnswerMayHaveUnknownFieldsOrBeOfAnUnknownKind) {
  pb::GetRequestResponse kept;
  Says says;
  says.set_allocations = [](pb::SetAllocationsResponse*) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "lost");
  };
  says.get_request = [&kept](pb::GetRequestResponse* response) {
    *response = kept;
    AddUnknownFields(response);
    return grpc::Status::OK;
  };
  const OtherPlacement server(says);
  kept.set_outcome(pb::REQUEST_OUTCOME_APPLIED);
  pb::SetAllocationsResponse done = Done(), response;
  AddUnknownFields(&done);
  kept.mutable_response()->PackFrom(done);
  EXPECT_TRUE(SendClaim(server, &response).ok());
  EXPECT_EQ(WithoutUnknownFields(response), Done().DebugString());

  // It was done, and nobody here can say what came of it.
  kept.mutable_response()->set_type_url("type.googleapis.com/berth.placement.v2.Claimed");
  Failure failure = SendClaim(server, &response);
  EXPECT_EQ(failure.code, absl::StatusCode::kInternal);
  EXPECT_EQ(failure.reason, "");
  EXPECT_TRUE(absl::StartsWith(failure.message, "the write was done")) << failure.message;
  ASSERT_EQ(failure.items.size(), 1U);
  EXPECT_EQ(failure.items[0].at("request_id"), "mine");

  kept.set_outcome(static_cast<pb::RequestOutcome>(kOfTomorrow));
  failure = SendClaim(server, &response);
  EXPECT_EQ(failure.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(failure.reason, "OUTCOME_UNKNOWN");
  ASSERT_EQ(failure.items.size(), 1U);
  EXPECT_EQ(failure.items[0].at("request_id"), "mine");
}

TEST(OtherReleaseTest, AReadsAnswerMayHaveUnknownFieldsAndValues) {
  pb::FindCandidatesResponse found;
  pb::CandidateTable& table = *found.mutable_table();
  table.set_provider_uuids(std::string(16, '\x11'));
  pb::CandidateShape& shape = *table.add_shapes();
  (*shape.add_allocations()->mutable_resources())["CUSTOM_OF_TOMORROW"] = 2;
  for (const uint32_t provider : {0, 0}) table.add_candidate_providers(provider);
  table.add_candidate_shapes(0);
  pb::ListHostStatesResponse states;
  pb::HostState& state = *states.add_states();
  state.mutable_node()->set_uuid("n");
  state.mutable_node()->set_host("h");
  state.mutable_node()->mutable_updated_at()->set_seconds(1);
  state.mutable_node()->mutable_facts()->set_memory_mib(64);
  state.mutable_node()->mutable_account()->mutable_used()->set_memory_mib(24);
  state.mutable_service()->set_state(static_cast<pb::ServiceState>(kOfTomorrow));
  (*state.mutable_stats())["num_of_tomorrow"] = "7";
  (*state.mutable_stats())["io_workload"] = "a number of tomorrow";
  Says says;
  says.find_candidates = [&found](pb::FindCandidatesResponse* response) {
    *response = found;
    AddUnknownFields(response);
    return grpc::Status::OK;
  };
  says.list_host_states = [&states](pb::ListHostStatesResponse* response) {
    *response = states;
    AddUnknownFields(response);
    return grpc::Status::OK;
  };
  const OtherPlacement server(says);
  pb::FindCandidatesResponse told;
  ASSERT_TRUE(
      Read(server.endpoints(), &pb::CandidateService::Stub::FindCandidates, {}, &told).ok());
  EXPECT_EQ(WithoutUnknownFields(told), found.DebugString());
  const auto candidates = Candidates::Of(told.table());
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  ASSERT_EQ(candidates->roots().size(), 1U);
  EXPECT_EQ(candidates->BestOf(candidates->roots()[0])->allocations(0).resources().begin()->first,
            "CUSTOM_OF_TOMORROW");
  pb::ListHostStatesResponse listed;
  ASSERT_TRUE(
      Read(server.endpoints(), &pb::HostStateService::Stub::ListHostStates, {}, &listed).ok());
  EXPECT_EQ(WithoutUnknownFields(listed), states.DebugString());
  HostView view;
  EXPECT_TRUE(UpdateHostView(PartsOf(listed.states(0)), &view));
  EXPECT_EQ(view.free_memory_mib, 40);
  EXPECT_EQ(view.stats.at("num_of_tomorrow"), "7");
  EXPECT_EQ(view.io_operation_count, 0);
  for (const HostFilter& filter : HostFilters()) {
    // A service that is in an unknown state is not one that is up.
    EXPECT_EQ(filter.passes(view, {}, {}), filter.name != "ComputeFilter") << filter.name;
  }
}

TEST(OtherReleaseTest, AMethodThatTheServerDoesNotHaveIsToldAtOnce) {
  const OtherPlacement server({});
  pb::ListHostStatesResponse states;
  const Failure read =
      Read(server.endpoints(), &pb::HostStateService::Stub::ListHostStates, {}, &states);
  pb::SetAllocationsResponse response;
  const Failure written = SendClaim(server, &response);
  for (const Failure& failure : {read, written}) {
    EXPECT_EQ(failure.code, absl::StatusCode::kUnimplemented);
    EXPECT_EQ(failure.reason, "");
    EXPECT_EQ(failure.message, "not here");
  }
  EXPECT_EQ(server.calls(), 2) << "and the write is known not to be done";
  EXPECT_EQ(response.DebugString(), "");
}

// A mirror goes on to the next process, because that may be of this release, and keeps its view.
TEST(OtherReleaseTest, AMirrorSurvivesAServerWithoutWatchAndUnknownReasons) {
  std::vector<std::string> interrupted;
  bool anew = false;
  MirrorListener listener;
  listener.interrupted = [&](const Failure& failure) { interrupted.push_back(InWords(failure)); };
  listener.begins_anew = [&](const Failure&) { anew = true; };
  const auto ends_with = [](grpc::StatusCode code, const std::string& reason) {
    google::rpc::ErrorInfo info;
    info.set_domain("berth.placement");
    info.set_reason(reason);
    (*info.mutable_metadata())["of_tomorrow"] = "x";
    AddUnknownFields(&info);
    google::rpc::Status details;
    if (!reason.empty()) details.add_details()->PackFrom(info);
    AddUnknownFields(&details);
    return grpc::Status(code, "said so", details.SerializeAsString());
  };
  PlayedWatch server({
      [&](const auto& request, auto*, auto*) {
        EXPECT_TRUE(request.has_snapshot());
        return ends_with(grpc::StatusCode::UNIMPLEMENTED, "");
      },
      [&](const auto& request, auto*, auto* writer) {
        EXPECT_TRUE(request.has_snapshot());
        writer->Write(PlayedWatch::Complete(5, true));
        return ends_with(grpc::StatusCode::OUT_OF_RANGE, "REASON_OF_TOMORROW");
      },
      [&](const auto& request, auto* context, auto* writer) {
        EXPECT_EQ(request.after_revision().number(), 5);
        writer->Write(PlayedWatch::Complete(6, false));
        return PlayedWatch::Silence(context);
      },
  });
  {
    Mirror mirror(server.endpoints(), {}, listener);
    ASSERT_NE(mirror.Await(At(6), kAnswerMax), nullptr);
    EXPECT_EQ(mirror.status().failure.reason, "REASON_OF_TOMORROW");
    EXPECT_EQ(mirror.status().failure.items.at(0).at("of_tomorrow"), "x");
  }
  EXPECT_EQ(interrupted, (std::vector<std::string>{"UNIMPLEMENTED: said so",
                                                   "OUT_OF_RANGE / REASON_OF_TOMORROW: said so"}));
  EXPECT_FALSE(anew);
}

pb::WatchResponse SnapshotOfTomorrow() {
  pb::WatchResponse message = PlayedWatch::Complete(5, true);
  const auto add = [&message] { return message.add_changes()->mutable_present(); };
  pb::Service& service = *add()->mutable_service();
  service.set_uuid("s");
  service.set_host("h");
  service.set_binary("berth-tracker");
  service.set_state(static_cast<pb::ServiceState>(kOfTomorrow));
  pb::Node& node = *add()->mutable_node();
  node.set_uuid("n");
  node.set_host("h");
  node.set_name("name");
  node.mutable_account();
  pb::Instance& instance = *add()->mutable_instance();
  instance.set_uuid("i");
  instance.set_host("h");
  instance.set_node_uuid("n");
  instance.set_group_uuid("g");
  instance.set_vm_state("a state of tomorrow");
  pb::ServerGroup& group = *add()->mutable_server_group();
  group.set_uuid("g");
  group.set_policy(static_cast<pb::ServerGroupPolicy>(kOfTomorrow));
  pb::Migration& move = *add()->mutable_migration();
  move.set_uuid("m");
  move.set_type(static_cast<pb::MigrationType>(kOfTomorrow));
  message.add_changes()->mutable_removed()->set_kind(static_cast<pb::EntityKind>(kOfTomorrow));
  AddUnknownFields(&message);
  return message;
}

TEST(OtherReleaseTest, AMirrorKeepsWhatItDoesNotKnowAndViewsDoWithoutIt) {
  PlayedWatch server({[](const auto&, auto* context, auto* writer) {
    writer->Write(SnapshotOfTomorrow());
    return PlayedWatch::Silence(context);
  }});
  Hosts hosts;
  Mirror mirror(server.endpoints(), {},
                {[&hosts](const ViewChange& change) { hosts.Follow(change); }});
  const auto view = mirror.Await(At(5), kAnswerMax);
  ASSERT_NE(view, nullptr);
  const auto group = view->server_groups.Find("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(static_cast<int>(group->policy()), kOfTomorrow);
  EXPECT_EQ(group->GetReflection()->GetUnknownFields(*group).field_count(), 5);
  EXPECT_EQ(static_cast<int>(view->migrations.Find("m")->type()), kOfTomorrow);
  const Hosts::Views views = hosts.ViewsOf({"n"}, "g");
  ASSERT_EQ(views.hosts.size(), 1U);
  EXPECT_EQ(views.warnings, std::vector<std::string>{"h:name is stale"});  // T-341: it is not up
  ASSERT_TRUE(views.group.has_value());
  EXPECT_EQ(views.group->policy, "");  // placement itself judges the claim
  EXPECT_EQ(views.group->members, std::set<std::string>{"i"});
  HostRequest request;
  request.group = views.group;
  for (const HostFilter& filter : HostFilters()) {
    EXPECT_EQ(filter.passes(*views.hosts[0], request, {}), filter.name != "ComputeFilter")
        << filter.name;
  }
}

}  // namespace
}  // namespace berth::client
