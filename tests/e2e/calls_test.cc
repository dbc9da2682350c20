// placement's calls over real sockets and a real PostgreSQL: all are answered, all errors say why.
#include "tests/e2e/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/audit.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/consumer.pb.h"
#include "berth/placement/v1/error.pb.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "berth/placement/v1/reshape.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/wrappers.pb.h"
#include "services/cli/session/reflection.h"
#include "services/cli/session/session.h"
#include "tests/worlds/candidate_table.h"

namespace berth::e2e {
namespace {

using ::google::protobuf::MethodDescriptor;

// What this release describes and does not do, and why.
const std::map<std::string, const char*> kUnimplemented = {
    {"HostService/ActOnHost", "Berth has no power over hosts"},
};

// Every method of every service. Each file is named by one of its messages, which links it in.
std::vector<const MethodDescriptor*> AllMethods() {
  const google::protobuf::Descriptor* messages[] = {
      pb::SetAllocationsRequest::descriptor(),   pb::GetProviderTraitsRequest::descriptor(),
      pb::AuditAllocationsRequest::descriptor(), pb::FindCandidatesRequest::descriptor(),
      pb::ListTraitsRequest::descriptor(),       pb::SetLeaseRequest::descriptor(),
      pb::ListNodesRequest::descriptor(),        pb::ListHostsRequest::descriptor(),
      pb::ListInstancesRequest::descriptor(),    pb::SetInventoriesRequest::descriptor(),
      pb::GetRevisionRequest::descriptor(),      pb::ListProvidersRequest::descriptor(),
      pb::SessionRequest::descriptor(),          pb::ReshapeRequest::descriptor(),
      pb::GetUsagesRequest::descriptor(),        pb::WatchRequest::descriptor()};
  std::vector<const MethodDescriptor*> methods;
  for (const google::protobuf::Descriptor* message : messages) {
    EXPECT_EQ(message->file()->service_count(), 1) << message->full_name();
    const google::protobuf::ServiceDescriptor* service = message->file()->service(0);
    for (int m = 0; m < service->method_count(); ++m) methods.push_back(service->method(m));
  }
  return methods;
}

TEST_F(CallsTest, EveryRpcIsAnsweredAndEveryErrorSaysWhy) {  // P-235
  auto& prototypes = *google::protobuf::MessageFactory::generated_factory();
  size_t unimplemented = 0;
  for (const MethodDescriptor* method : AllMethods()) {
    const std::string name = absl::StrCat(method->service()->name(), "/", method->name());
    if (name == "WatchService/Watch") continue;  // goes on until somebody ends it: watch_test.cc
    const std::unique_ptr<Message> request(prototypes.GetPrototype(method->input_type())->New());
    const std::unique_ptr<Message> response(prototypes.GetPrototype(method->output_type())->New());
    const grpc::Status status = Invoke(name, *request, response.get());
    const bool undone = status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
    EXPECT_EQ(undone, kUnimplemented.contains(name)) << name << ": " << status.error_message();
    unimplemented += undone ? 1 : 0;
    if (status.ok()) continue;
    const auto infos = InfosOf(status);
    ASSERT_FALSE(infos.empty()) << name << ": " << status.error_message();
    for (const auto& info : infos) {
      EXPECT_EQ(info.domain(), "berth.placement") << name;
      pb::ErrorReason reason;
      EXPECT_TRUE(pb::ErrorReason_Parse("ERROR_REASON_" + info.reason(), &reason)) << info.reason();
    }
  }
  EXPECT_EQ(unimplemented, kUnimplemented.size());
}

// A new request of the method in which only `field` is set.
std::unique_ptr<Message> OnlyWith(const MethodDescriptor* method,
                                  const google::protobuf::FieldDescriptor* field,
                                  const std::string& text) {
  auto& prototypes = *google::protobuf::MessageFactory::generated_factory();
  std::unique_ptr<Message> request(prototypes.GetPrototype(method->input_type())->New());
  if (field->is_repeated()) {
    request->GetReflection()->AddString(request.get(), field, text);
  } else {
    request->GetReflection()->SetString(request.get(), field, text);
  }
  return request;
}

// A refusal repeats the uuid, so it shows whether all spellings mean the same.
TEST_F(CallsTest, EveryCallTakesUuidsInAnySpelling) {  // P-6
  auto& prototypes = *google::protobuf::MessageFactory::generated_factory();
  const std::string lower = "abcdefab-cdef-4abc-8def-abcdefabcdef";
  int refused = 0;
  for (const MethodDescriptor* method : AllMethods()) {
    const std::string name = absl::StrCat(method->service()->name(), "/", method->name());
    for (int f = 0; f < method->input_type()->field_count(); ++f) {
      const google::protobuf::FieldDescriptor* field = method->input_type()->field(f);
      const bool is_uuid =
          field->type() == google::protobuf::FieldDescriptor::TYPE_STRING &&
          (absl::EndsWith(field->name(), "uuid") || absl::EndsWith(field->name(), "uuids"));
      if (!is_uuid || name == "WatchService/Watch") continue;
      const auto call = [&](const std::string& text) {
        const std::unique_ptr<Message> response(
            prototypes.GetPrototype(method->output_type())->New());
        return Invoke(name, *OnlyWith(method, field, text), response.get());
      };
      const grpc::Status first = call(lower);
      for (const std::string& wrong : {"{" + lower + "}", "urn:uuid:" + lower, lower + "0"}) {
        EXPECT_EQ(call(wrong).error_code(), grpc::INVALID_ARGUMENT) << name << " " << wrong;
      }
      if (first.ok()) continue;
      ++refused;
      EXPECT_EQ(call(absl::AsciiStrToUpper(lower)).error_message(), first.error_message()) << name;
      EXPECT_NE(call(placement::Uuid().ToString()).error_code(), grpc::INTERNAL) << name;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(CallsTest, EveryServiceCanBeDescribed) {  // health too
  cli::Session session(&std::cout, &std::cerr);
  session.settings.endpoint = server_->address();
  cli::Reflection reflection(session);
  const auto services = reflection.Services();
  ASSERT_TRUE(services.ok()) << services.status();
  EXPECT_THAT(*services,
              ::testing::IsSupersetOf(
                  {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection",
                   "berth.placement.v1.ReportService", "berth.placement.v1.WatchService"}));
  for (const std::string& name : *services) {
    EXPECT_TRUE(reflection.Load(name).ok()) << name;
    ASSERT_NE(reflection.Service(name), nullptr) << name;
    EXPECT_GT(reflection.Service(name)->method_count(), 0) << name;
  }
}

TEST_F(CallsTest, RefusalsComeWithTheirReasons) {
  const auto [host, generation] = NewHost();
  struct Case {
    pb::SetAllocationsRequest request;
    grpc::StatusCode code;
    const char* reason;
    bool by_rule = true;  // else nothing has reached the ledger
  };
  pb::SetAllocationsRequest stale = ClaimOn(host, 1);
  stale.mutable_consumers(0)->set_generation(7);
  pb::SetAllocationsRequest unknown_class = ClaimOn(host, 1);
  (*unknown_class.mutable_consumers(0)->mutable_allocations(0)->mutable_resources())["CUSTOM_NO"] =
      1;
  pb::SetAllocationsRequest none_of_class = ClaimOn(host, 1);
  (*none_of_class.mutable_consumers(0)->mutable_allocations(0)->mutable_resources())["DISK_GB"] = 1;
  pb::SetAllocationsRequest malformed = ClaimOn("no uuid", 1);
  pb::SetAllocationsRequest silent = ClaimOn(host, 1);
  silent.mutable_consumers(0)->clear_expected();
  const Case cases[] = {
      {ClaimOn(host, 9), grpc::RESOURCE_EXHAUSTED, "CAPACITY_EXCEEDED"},
      {ClaimOn(host, 0), grpc::INVALID_ARGUMENT, "INVALID_FIELD"},
      {ClaimOn(Random(), 1), grpc::NOT_FOUND, "PROVIDER_NOT_FOUND"},
      {stale, grpc::ABORTED, "CONSUMER_GENERATION_CONFLICT"},
      {unknown_class, grpc::NOT_FOUND, "RESOURCE_CLASS_NOT_FOUND"},
      {none_of_class, grpc::FAILED_PRECONDITION, "NO_INVENTORY"},
      {malformed, grpc::INVALID_ARGUMENT, "INVALID_FIELD", false},
      {silent, grpc::INVALID_ARGUMENT, "GENERATION_REQUIRED", false},
  };
  pb::GetRevisionResponse newest;
  Do("LedgerService/GetRevision", pb::GetRevisionRequest(), &newest);
  const std::string now = absl::StrCat(newest.revision().epoch(), ":", newest.revision().number());
  for (const Case& refused : cases) {
    pb::SetAllocationsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = InvokeIn(&context, channel_, "AllocationService/SetAllocations",
                                         refused.request, &response);
    EXPECT_EQ(status.error_code(), refused.code) << status.error_message();
    EXPECT_EQ(ReasonOf(status), refused.reason) << status.error_message();
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto told = trailers.find("berth-revision");
    EXPECT_EQ(told == trailers.end() ? "" : std::string(told->second.begin(), told->second.end()),
              refused.by_rule ? now : "");
  }
  pb::GetInventoriesRequest get;
  get.set_provider_uuid(host);
  pb::GetInventoriesResponse got;
  Do("InventoryService/GetInventories", get, &got);
  EXPECT_EQ(got.generation(), generation);  // no refused write left a trace
  EXPECT_EQ(got.inventories().at("VCPU").used(), 0);
}

// Bytes that are no request are the caller's fault, and no error of the server's.
TEST_F(CallsTest, UnreadableRequestsAreRefusedInWords) {
  google::protobuf::BytesValue bytes;
  bytes.set_value("\xff\xff");  // field 1 of FindCandidatesRequest is a message
  pb::FindCandidatesResponse response;
  const grpc::Status status = Invoke("CandidateService/FindCandidates", bytes, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
  EXPECT_THAT(status.error_message(),
              ::testing::HasSubstr("cannot be read as a FindCandidatesRequest"));
}

TEST_F(CallsTest, AClaimIsSeenByWhoeverAsksForItsRevision) {
  const auto [host, generation] = NewHost();
  const pb::SetAllocationsRequest claim = ClaimOn(host, 5);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  const std::string consumer = claim.consumers(0).consumer_uuid();
  pb::GetAllocationsRequest get;
  get.set_consumer_uuid(consumer);
  *get.mutable_minimum_revision() = claimed.revision();
  pb::GetAllocationsResponse got;
  Do("AllocationService/GetAllocations", get, &got);
  EXPECT_EQ(got.consumer().allocations(0).resources().at("VCPU"), 5);
  EXPECT_EQ(got.consumer().generation(), claimed.consumer_generations().at(consumer));
  pb::FindCandidatesRequest find;
  (*find.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 4;
  find.mutable_query()->mutable_groups(0)->set_in_tree(host);
  pb::FindCandidatesResponse found;
  Do("CandidateService/FindCandidates", find, &found);
  EXPECT_EQ(found.candidates_size(), 0);
  (*find.mutable_query()->mutable_groups(0)->mutable_resources())["VCPU"] = 3;
  Do("CandidateService/FindCandidates", find, &found);
  ASSERT_EQ(found.candidates_size(), 1);
  EXPECT_EQ(found.candidates(0).allocations(0).provider_uuid(), host);
  EXPECT_EQ(found.summaries(0).resources().at("VCPU").used(), 5);
}

TEST_F(CallsTest, CandidatesAreToldInTheFormAskedFor) {
  const auto [host, generation] = NewHost();
  pb::FindCandidatesRequest find;
  (*find.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  find.mutable_query()->mutable_groups(0)->set_in_tree(host);
  pb::FindCandidatesResponse told, table;
  Do("CandidateService/FindCandidates", find, &told);
  find.set_form(pb::CANDIDATE_FORM_TABLE);
  Do("CandidateService/FindCandidates", find, &table);
  EXPECT_EQ(table.candidates_size(), 0);
  EXPECT_EQ(services::Expand(table).ShortDebugString(), told.ShortDebugString());
  find.set_form(static_cast<pb::CandidateForm>(2));
  const grpc::Status refused = Invoke("CandidateService/FindCandidates", find, &table);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(InfosOf(refused).at(0).metadata().at("field"), "form");
}

TEST_F(CallsTest, OfTwoWritesWithOneGenerationExactlyOneSucceeds) {
  const auto [host, generation] = NewHost();
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(host);
  set.set_expected_generation(generation);
  std::vector<std::thread> writers;
  std::atomic<int> succeeded{0}, conflicts{0};
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i, mine = set]() mutable {
      (*mine.mutable_inventories())["VCPU"].set_total(10 + i);
      pb::SetInventoriesResponse response;
      const grpc::Status status = Invoke("InventoryService/SetInventories", mine, &response);
      succeeded += status.ok() ? 1 : 0;
      conflicts += ReasonOf(status) == "PROVIDER_GENERATION_CONFLICT" ? 1 : 0;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(succeeded, 1);
  EXPECT_EQ(conflicts, 7);
}

TEST_F(CallsTest, TheSameRequestGivesTheSameAnswer) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  claim.set_request_id(Random());
  pb::SetAllocationsResponse first, second;
  Do("AllocationService/SetAllocations", claim, &first);
  Do("AllocationService/SetAllocations", claim, &second);
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  pb::GetRequestRequest ask;
  ask.set_request_id(claim.request_id());
  pb::GetRequestResponse answer;
  Do("LedgerService/GetRequest", ask, &answer);
  EXPECT_EQ(answer.outcome(), pb::REQUEST_OUTCOME_APPLIED);
  EXPECT_EQ(answer.applied_revision().number(), first.revision().number());
  (*claim.mutable_consumers(0)->mutable_allocations(0)->mutable_resources())["VCPU"] = 3;
  EXPECT_EQ(ReasonOf(Invoke("AllocationService/SetAllocations", claim, &second)),
            "REQUEST_ID_REUSED");
  ask.set_request_id(Random());
  Do("LedgerService/GetRequest", ask, &answer);
  EXPECT_EQ(answer.outcome(), pb::REQUEST_OUTCOME_ABSENT);
}

TEST_F(CallsTest, ACancelledRequestIsRefusedWhenItComes) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  claim.set_request_id(Random());
  pb::GetRequestRequest ask;
  ask.set_request_id(claim.request_id());
  ask.set_cancel_if_absent(true);
  pb::GetRequestResponse answer;
  for (int twice = 0; twice < 2; ++twice) {
    Do("LedgerService/GetRequest", ask, &answer);
    EXPECT_EQ(answer.outcome(), pb::REQUEST_OUTCOME_CANCELLED);
    EXPECT_FALSE(answer.has_applied_revision());
  }
  pb::SetAllocationsResponse response;
  EXPECT_EQ(ReasonOf(Invoke("AllocationService/SetAllocations", claim, &response)),
            "REQUEST_CANCELLED");
  claim.set_request_id(Random());
  Do("AllocationService/SetAllocations", claim, &response);
  ask.set_request_id(claim.request_id());
  Do("LedgerService/GetRequest", ask, &answer);
  EXPECT_EQ(answer.outcome(), pb::REQUEST_OUTCOME_APPLIED);
  EXPECT_EQ(answer.applied_revision().number(), response.revision().number());
}

TEST_F(CallsTest, DeadlinesAreKept) {
  pb::GetRevisionRequest ahead;
  ahead.mutable_minimum_revision()->set_epoch(1);
  ahead.mutable_minimum_revision()->set_number(1'000'000'000);
  pb::GetRevisionResponse response;
  const absl::Time begun = absl::Now();
  const grpc::Status status =
      Invoke("LedgerService/GetRevision", ahead, &response, absl::Seconds(1));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
}

TEST_F(CallsTest, ListsArePaged) {
  pb::ListTraitsRequest list;
  list.set_page_size(50);
  pb::ListTraitsResponse page;
  std::vector<std::string> names;
  do {
    Do("CatalogService/ListTraits", list, &page);
    for (const pb::Trait& trait : page.traits()) names.push_back(trait.name());
    list.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  EXPECT_GT(names.size(), 300U);  // P-31
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  std::set<std::string> uuids;
  for (int i = 0; i < 5; ++i) uuids.insert(NewHost().first);
  pb::ListProvidersRequest providers;
  providers.set_page_size(2);
  pb::ListProvidersResponse some;
  size_t count = 0;
  do {
    Do("ProviderService/ListProviders", providers, &some);
    EXPECT_LE(some.providers_size(), 2);
    for (const pb::Provider& provider : some.providers()) count += uuids.count(provider.uuid());
    providers.set_page_token(some.next_page_token());
  } while (!some.next_page_token().empty());
  EXPECT_EQ(count, 5U);
}

// The first page may come from another process, which is ahead.
TEST_F(CallsTest, ALaterPageIsNotOlderThanTheFirst) {
  pb::ListTraitsRequest list;
  list.set_page_size(1);
  pb::ListTraitsResponse page;
  Do("CatalogService/ListTraits", list, &page);
  const auto with_first_page_at = [&](absl::string_view revision) {
    std::string token;
    EXPECT_TRUE(absl::WebSafeBase64Unescape(page.next_page_token(), &token));
    // 12 bytes of digest, then EPOCH:NUMBER:KEY
    return absl::WebSafeBase64Escape(
        absl::StrCat(token.substr(0, 12), revision, token.substr(token.rfind(':'))));
  };
  const std::string next = page.next_page_token();
  list.set_page_token(with_first_page_at("2:1"));
  EXPECT_EQ(ReasonOf(Invoke("CatalogService/ListTraits", list, &page)), "EPOCH_UNKNOWN");
  list.set_page_token(with_first_page_at("1:1000000000"));
  EXPECT_EQ(Invoke("CatalogService/ListTraits", list, &page, absl::Milliseconds(300)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  list.set_page_token(next);
  Do("CatalogService/ListTraits", list, &page);
}

TEST_F(CallsTest, TheSelfCheckIsClean) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", ClaimOn(host, 1), &claimed);
  pb::SelfCheckResponse checked;
  Do("LedgerService/SelfCheck", pb::SelfCheckRequest(), &checked);
  EXPECT_TRUE(checked.clean()) << checked.ShortDebugString();
  EXPECT_GT(checked.row_count(), 0);
}

}  // namespace
}  // namespace berth::e2e
