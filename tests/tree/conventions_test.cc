// The conventions that the protos keep as one face, over their descriptors: what no linter knows.

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "berth/access/v1/access.pb.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/audit.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/consumer.pb.h"
#include "berth/placement/v1/error.pb.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "berth/placement/v1/reshape.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

namespace pb = google::protobuf;

std::vector<const pb::MethodDescriptor*> MethodsOf(
    std::initializer_list<const pb::FileDescriptor*> files) {
  std::vector<const pb::MethodDescriptor*> methods;
  for (const pb::FileDescriptor* file : files) {
    EXPECT_EQ(file->service_count(), 1) << file->name() << ": one file, one service";
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.push_back(file->service(i)->method(j));
      }
    }
  }
  return methods;
}

std::vector<const pb::MethodDescriptor*> PlacementMethods() {
  using namespace placement::
      v1;  // NOLINT(google-build-using-namespace): sixteen files of one package
  return MethodsOf(
      {SetAllocationsRequest::descriptor()->file(), SetProviderTraitsRequest::descriptor()->file(),
       FindCandidatesRequest::descriptor()->file(), CreateClassRequest::descriptor()->file(),
       ListConsumersRequest::descriptor()->file(), ListServicesRequest::descriptor()->file(),
       ListHostsRequest::descriptor()->file(), ListInstancesRequest::descriptor()->file(),
       SetInventoriesRequest::descriptor()->file(), GetRevisionRequest::descriptor()->file(),
       CreateProviderRequest::descriptor()->file(), SessionRequest::descriptor()->file(),
       ReshapeRequest::descriptor()->file(), GetUsagesRequest::descriptor()->file(),
       WatchRequest::descriptor()->file()});
}

TEST(Conventions, EveryAnswerOfPlacementBeginsWithItsRevision) {
  for (const pb::MethodDescriptor* method : PlacementMethods()) {
    const pb::FieldDescriptor* first = method->output_type()->FindFieldByNumber(1);
    ASSERT_NE(first, nullptr) << method->full_name();
    EXPECT_EQ(first->name(), "revision") << method->full_name();
    ASSERT_NE(first->message_type(), nullptr) << method->full_name();
    EXPECT_EQ(first->message_type()->full_name(), "berth.placement.v1.Revision");
  }
}

TEST(Conventions, ARequestReadsFromARevisionOrWritesUnderAnId) {
  // Streams have a word of their own for where they begin; the others neither read the state nor
  // write to the ledger.
  const std::set<std::string> neither = {"berth.placement.v1.ReportService.Session",
                                         "berth.placement.v1.WatchService.Watch",
                                         "berth.placement.v1.LedgerService.SelfCheck",
                                         "berth.placement.v1.LedgerService.ListLostChanges",
                                         "berth.placement.v1.FleetService.AuditNode",
                                         "berth.placement.v1.HostService.ActOnHost"};
  for (const pb::MethodDescriptor* method : PlacementMethods()) {
    if (neither.contains(method->full_name())) continue;
    const pb::FieldDescriptor* first = method->input_type()->FindFieldByNumber(1);
    ASSERT_NE(first, nullptr) << method->full_name();
    if (first->name() == "request_id") {
      EXPECT_EQ(first->type(), pb::FieldDescriptor::TYPE_STRING) << method->full_name();
      continue;
    }
    EXPECT_EQ(first->name(), "minimum_revision") << method->full_name();
    ASSERT_NE(first->message_type(), nullptr) << method->full_name();
    EXPECT_EQ(first->message_type()->full_name(), "berth.placement.v1.Revision");
  }
}

TEST(Conventions, EveryCallSaysWhoMayCallIt) {
  std::vector<const pb::MethodDescriptor*> methods = PlacementMethods();
  for (const pb::MethodDescriptor* method :
       MethodsOf({placement::v1::AuditAllocationsRequest::descriptor()->file(),
                  tracker::v1::AuditNowRequest::descriptor()->file()})) {
    methods.push_back(method);
  }
  for (const pb::MethodDescriptor* method : methods) {
    const access::v1::Access& access = method->options().GetExtension(access::v1::access);
    EXPECT_GT(access.roles_size(), 0) << method->full_name();
    std::set<int> roles(access.roles().begin(), access.roles().end());
    EXPECT_EQ(roles.size(), static_cast<size_t>(access.roles_size())) << method->full_name();
    EXPECT_FALSE(roles.contains(access::v1::ROLE_PLACEMENT)) << method->full_name();
    // Who may do less than another may call nothing that the other may not.
    const int ascending[] = {access::v1::ROLE_READER, access::v1::ROLE_SCHEDULER,
                             access::v1::ROLE_OPERATOR, access::v1::ROLE_ADMIN};
    for (int i = 0; i < 3; ++i) {
      if (roles.contains(ascending[i])) {
        EXPECT_TRUE(roles.contains(ascending[i + 1])) << method->full_name();
      }
    }
    for (const std::string& field : access.admin_fields()) {
      EXPECT_NE(method->input_type()->FindFieldByName(field), nullptr) << method->full_name();
    }
  }
}

TEST(Conventions, ListsPage) {
  int lists = 0;
  for (const pb::MethodDescriptor* method : PlacementMethods()) {
    if (!method->name().starts_with("List")) continue;
    ++lists;
    EXPECT_NE(method->input_type()->FindFieldByName("page_size"), nullptr) << method->full_name();
    EXPECT_NE(method->input_type()->FindFieldByName("page_token"), nullptr) << method->full_name();
    EXPECT_NE(method->output_type()->FindFieldByName("next_page_token"), nullptr)
        << method->full_name();
  }
  EXPECT_GE(lists, 11);
}

TEST(Conventions, AnExpectedGenerationCanBeAbsent) {
  for (const pb::MethodDescriptor* method : PlacementMethods()) {
    const pb::Descriptor* request = method->input_type();
    for (int i = 0; i < request->field_count(); ++i) {
      const pb::FieldDescriptor* field = request->field(i);
      if (!field->name().ends_with("expected_generation")) continue;
      EXPECT_TRUE(field->has_optional_keyword()) << field->full_name();  // P-96: missing is not 0
      EXPECT_EQ(field->type(), pb::FieldDescriptor::TYPE_INT64) << field->full_name();
    }
  }
}

TEST(Conventions, WhatIsNotOffered) {
  std::set<std::string> calls;
  const pb::ServiceDescriptor* catalog =
      placement::v1::CreateClassRequest::descriptor()->file()->service(0);
  for (int i = 0; i < catalog->method_count(); ++i) calls.insert(catalog->method(i)->name());
  EXPECT_EQ(calls, (std::set<std::string>{"CreateClass", "EnsureClass", "GetClass", "ListClasses",
                                          "DeleteClass", "EnsureTrait", "GetTrait", "ListTraits",
                                          "DeleteTrait"}));  // P-39: nobody renames a class
  const auto fields_of = [](const pb::Descriptor* message) {
    std::set<std::string> names;
    for (int i = 0; i < message->field_count(); ++i) names.insert(message->field(i)->name());
    return names;
  };
  EXPECT_EQ(fields_of(placement::v1::DeleteProviderRequest::descriptor()),
            (std::set<std::string>{"request_id", "provider_uuid"}));  // P-63: no generation
  EXPECT_EQ(fields_of(placement::v1::ProviderInventories::descriptor()),
            (std::set<std::string>{"provider_uuid", "expected_generation",
                                   "expected_allocation_generation", "inventories"}));  // P-234
}

TEST(Conventions, TheExpectationOfAConsumerCannotBeForgotten) {
  for (const pb::Descriptor* message : {placement::v1::ConsumerAllocations::descriptor(),
                                        placement::v1::ClaimConsumer::descriptor()}) {
    const pb::OneofDescriptor* expected = message->FindOneofByName("expected");
    ASSERT_NE(expected, nullptr) << message->full_name();  // P-113
    EXPECT_EQ(expected->field_count(), 2);
    EXPECT_NE(message->FindFieldByName("new_consumer")->containing_oneof(), nullptr);
    EXPECT_NE(message->FindFieldByName("generation")->containing_oneof(), nullptr);
  }
}

TEST(Conventions, EveryReasonIsListed) {
  const char* const reasons[] = {"INVALID_FIELD",
                                 "GENERATION_REQUIRED",
                                 "PROVIDER_NOT_FOUND",
                                 "PARENT_NOT_FOUND",
                                 "SELF_PARENT",
                                 "PROVIDER_LOOP",
                                 "RESOURCE_CLASS_NOT_FOUND",
                                 "RESOURCE_CLASS_EXISTS",
                                 "RESOURCE_CLASS_IN_USE",
                                 "STANDARD_IMMUTABLE",
                                 "INVALID_NAME",
                                 "CONCURRENT_UPDATE",
                                 "TRAIT_NOT_FOUND",
                                 "TRAIT_IN_USE",
                                 "INVENTORY_NOT_FOUND",
                                 "INVENTORY_EXISTS",
                                 "INVALID_INVENTORY",
                                 "INVENTORY_IN_USE",
                                 "PROVIDER_GENERATION_CONFLICT",
                                 "CONSUMER_GENERATION_CONFLICT",
                                 "NO_INVENTORY",
                                 "UNIT_CONSTRAINT_VIOLATED",
                                 "CAPACITY_EXCEEDED",
                                 "CONSUMER_NOT_FOUND",
                                 "GROUP_POLICY_REQUIRED",
                                 "CONFLICTING_TRAITS",
                                 "DUPLICATE_PARAMETER",
                                 "POLICY_DENIED",
                                 "UNAUTHENTICATED",
                                 "SEARCH_BUDGET_EXCEEDED",
                                 "STORE_UNAVAILABLE",
                                 "DUPLICATE_PROVIDER",
                                 "PROVIDER_IN_USE",
                                 "PROVIDER_HAS_CHILDREN",
                                 "UNKNOWN_SUFFIX",
                                 "RESOURCELESS_GROUP",
                                 "NO_RESOURCES_REQUESTED"};
  for (const char* reason : reasons) {
    placement::v1::ErrorReason parsed;
    EXPECT_TRUE(placement::v1::ErrorReason_Parse(std::string("ERROR_REASON_") + reason, &parsed))
        << reason;
  }
}

TEST(Conventions, ErrorDetailsAreThoseThatEveryClientKnows) {
  google::rpc::Status status;
  status.set_code(5);
  status.set_message("m");
  EXPECT_EQ(status.SerializeAsString(), std::string("\x08\x05\x12\x01m"));
  google::rpc::ErrorInfo info;
  info.set_reason("R");
  info.set_domain("d");
  (*info.mutable_metadata())["k"] = "v";
  EXPECT_EQ(info.SerializeAsString(), std::string("\x0a\x01R\x12\x01"
                                                  "d\x1a\x06\x0a\x01k\x12\x01v"));
  status.add_details()->PackFrom(info);
  EXPECT_EQ(status.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(google::rpc::Status::descriptor()->FindFieldByNumber(3)->name(), "details");
}

}  // namespace
}  // namespace berth
