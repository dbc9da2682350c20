// Conversion between messages and domain types: refusals, values that are kept, page tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "services/api/page.h"
#include "services/process/digest.h"
#include "services/report/messages.h"
#include "services/wire/allocation.h"
#include "services/wire/candidate.h"
#include "services/wire/catalog.h"
#include "services/wire/form.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"
#include "services/wire/reshape.h"

namespace berth::services {
namespace {

constexpr char kUuid[] = "0a1b2c3d-0000-4000-8000-00000000000f";
constexpr char kBadUuid[] = "{0a1b2c3d-0000-4000-8000-00000000000f}";

std::string ReasonOf(const absl::Status& status) {
  const auto refusal = placement::RefusalOf(status);
  return refusal ? refusal->reason : "";
}

std::string FieldOf(const absl::Status& status) {
  const auto refusal = placement::RefusalOf(status);
  if (!refusal || refusal->items.empty()) return "";
  const auto field = refusal->items[0].find("field");
  return field == refusal->items[0].end() ? "" : field->second;
}

template <typename Command>
const Command& As(const absl::StatusOr<placement::CommandBody>& body) {
  EXPECT_TRUE(body.ok()) << body.status();
  return std::get<Command>(*body);
}

TEST(WireTest, UuidsAreReadInAnySpelling) {  // P-6, D-14
  pb::DeleteProviderRequest request;
  for (const char* spelling :
       {kUuid, "0A1B2C3D-0000-4000-8000-00000000000F", "0a1b2c3d00004000800000000000000f"}) {
    request.set_provider_uuid(spelling);
    EXPECT_EQ(As<placement::DeleteProvider>(DeleteProviderCommand(request)).id.ToString(), kUuid);
  }
  for (const char* spelling :
       {"", "x", kBadUuid, "urn:uuid:0a1b2c3d-0000-4000-8000-00000000000f"}) {
    request.set_provider_uuid(spelling);
    const absl::Status status = DeleteProviderCommand(request).status();
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
    EXPECT_EQ(FieldOf(status), "provider_uuid");
  }
}

TEST(WireTest, ACreatedProviderGetsAUuidBeforeItIsQueued) {  // P-12
  const auto first = CreateProviderCommand(pb::CreateProviderRequest());
  const auto second = CreateProviderCommand(pb::CreateProviderRequest());
  EXPECT_NE(As<placement::CreateProvider>(first).id, As<placement::CreateProvider>(second).id);
}

TEST(WireTest, UpdateTellsAbsentParentFromNone) {  // P-51
  pb::UpdateProviderRequest request;
  request.set_provider_uuid(kUuid);
  EXPECT_FALSE(As<placement::UpdateProvider>(UpdateProviderCommand(request)).parent.has_value());
  request.mutable_no_parent();
  EXPECT_FALSE(As<placement::UpdateProvider>(UpdateProviderCommand(request)).parent->has_value());
  request.set_parent_uuid(kUuid);
  EXPECT_TRUE(As<placement::UpdateProvider>(UpdateProviderCommand(request)).parent->has_value());
}

TEST(WireTest, OmittedInventoryFieldsTakeTheirDefaults) {  // P-14
  pb::Inventory from;
  from.set_total(8);
  const placement::Inventory inventory = InventoryOf(from);
  EXPECT_EQ(inventory.min_unit, 1);
  EXPECT_EQ(inventory.max_unit, placement::kAmountMax);
  EXPECT_EQ(inventory.step_size, 1);
  EXPECT_EQ(inventory.allocation_ratio, 1.0);
  from.set_allocation_ratio(0);  // given, not left out: the rule refuses it
  EXPECT_EQ(InventoryOf(from).allocation_ratio, 0.0);
}

TEST(WireTest, FaultsOfAllocationsSayWhere) {
  struct Case {
    void (*change)(pb::ConsumerAllocations*);
    const char* reason;
    const char* field;
  };
  const Case cases[] = {
      {[](auto* c) { c->set_consumer_uuid("x"); }, "INVALID_FIELD", "consumers[1].consumer_uuid"},
      {[](auto* c) { c->clear_expected(); }, "GENERATION_REQUIRED", "consumers[1].generation"},
      {[](auto* c) { c->mutable_allocations(0)->set_provider_uuid("x"); }, "INVALID_FIELD",
       "consumers[1].allocations[0].provider_uuid"},
      {[](auto* c) { c->add_mappings(); }, "INVALID_FIELD", "consumers[1].mappings[0]"},
      {[](auto* c) { c->add_mappings()->add_provider_uuids("x"); }, "INVALID_FIELD",
       "consumers[1].mappings[0].provider_uuids[0]"},
      {[](auto* c) {
         c->add_mappings()->add_provider_uuids(kUuid);
         c->add_mappings()->add_provider_uuids(kUuid);
       },
       "DUPLICATE_PARAMETER", "consumers[1].mappings[1].suffix"},  // P-115
  };
  for (const Case& fault : cases) {
    pb::SetAllocationsRequest request;
    for (int i = 0; i < 2; ++i) {
      pb::ConsumerAllocations* consumer = request.add_consumers();
      consumer->set_consumer_uuid(kUuid);
      consumer->mutable_new_consumer();
      consumer->add_allocations()->set_provider_uuid(kUuid);
    }
    ASSERT_TRUE(SetAllocationsCommand(request).ok());
    fault.change(request.mutable_consumers(1));
    const absl::Status status = SetAllocationsCommand(request).status();
    EXPECT_EQ(ReasonOf(status), fault.reason) << fault.field;
    EXPECT_EQ(FieldOf(status), fault.field);
  }
}

TEST(WireTest, EveryPartOfAQueryArrives) {
  pb::FindCandidatesRequest request;
  pb::CandidateQuery* query = request.mutable_query();
  (*query->add_groups()->mutable_max_providers())["VCPU"] = 2;
  for (const char* suffix : {"_A", "_B"}) query->add_same_subtree()->add_suffixes(suffix);
  query->add_isolate()->add_suffixes("_C");
  query->add_separate_subtrees()->add_suffixes("_D");
  pb::TraitTerm* term = query->add_root_required_traits();
  term->add_any_of("CUSTOM_A");
  term->add_any_of("CUSTOM_B");
  query->add_root_forbidden_traits("CUSTOM_C");
  query->add_root_member_of()->add_any_of(kUuid);
  query->add_root_forbidden_aggregate_uuids(kUuid);
  query->add_forbidden_root_uuids(kUuid);
  query->set_ignore_unknown_forbidden_traits(true);
  query->set_exclude_stale_roots(true);
  request.set_collapse_equivalent(true);
  const auto to = CandidateRequestOf(request);
  ASSERT_TRUE(to.ok()) << to.status();
  ASSERT_EQ(to->groups[0].max_providers.size(), 1u);
  EXPECT_EQ(to->groups[0].max_providers[0].resource_class, "VCPU");
  EXPECT_EQ(to->groups[0].max_providers[0].amount, 2);
  using Sets = std::vector<std::vector<std::string>>;
  EXPECT_EQ(to->same_subtree, (Sets{{"_A"}, {"_B"}}));
  EXPECT_EQ(to->isolate, (Sets{{"_C"}}));
  EXPECT_EQ(to->separate_subtrees, (Sets{{"_D"}}));
  EXPECT_EQ(to->root_required, (Sets{{"CUSTOM_A", "CUSTOM_B"}}));
  EXPECT_EQ(to->root_forbidden, std::vector<std::string>{"CUSTOM_C"});
  EXPECT_EQ(to->root_member_of.size(), 1u);
  EXPECT_EQ(to->root_forbidden_aggregates.size(), 1u);
  EXPECT_EQ(to->forbidden_roots.size(), 1u);
  EXPECT_TRUE(to->ignore_unknown_forbidden);
  EXPECT_TRUE(to->exclude_stale_roots);
  EXPECT_TRUE(to->collapse_equivalent);
}

TEST(WireTest, OrdersComeAcross) {
  pb::CandidateOrder from;
  EXPECT_FALSE(CandidateOrderOf(from)->given());
  from.set_strategy(pb::STRATEGY_PACK);
  (*from.mutable_class_weights())["VCPU"] = 2;
  (*from.mutable_trait_weights())["CUSTOM_A"] = -1;
  from.set_seed(7);
  absl::StatusOr<placement::CandidateOrder> order = CandidateOrderOf(from);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->strategy, placement::Strategy::kPack);
  EXPECT_EQ(order->class_weights[0].name, "VCPU");
  EXPECT_EQ(order->class_weights[0].weight, 2);
  EXPECT_EQ(order->trait_weights[0].weight, -1);
  EXPECT_EQ(order->seed, 0u);  // nothing is left to chance
  from.set_strategy(pb::STRATEGY_RANDOM);
  EXPECT_EQ(CandidateOrderOf(from)->seed, 7u);
  from.clear_seed();
  EXPECT_NE(CandidateOrderOf(from)->seed, 0u);
  from.set_seed(0);  // as if absent: an answer with 0 says that nothing was left to chance
  EXPECT_NE(CandidateOrderOf(from)->seed, 0u);
  from.set_strategy(static_cast<pb::Strategy>(99));
  EXPECT_EQ(FieldOf(CandidateOrderOf(from).status()), "order.strategy");
}

TEST(WireTest, NulIsRefusedWhereverItStands) {
  const std::string nul("a\0b", 3);
  pb::SetAllocationsRequest request;
  request.add_consumers()->set_project_id("fine");
  EXPECT_TRUE(CheckText(request).ok());
  request.add_consumers()->set_user_id(nul);
  EXPECT_EQ(FieldOf(CheckText(request)), "consumers[1].user_id");
  pb::SetProviderTraitsRequest traits;
  traits.add_traits("A");
  traits.add_traits(nul);
  EXPECT_EQ(FieldOf(CheckText(traits)), "traits[1]");
  pb::SetInventoriesRequest inventories;
  (*inventories.mutable_inventories())[nul].set_total(1);
  EXPECT_TRUE(absl::StartsWith(FieldOf(CheckText(inventories)), "inventories[0]"));
  pb::SetAggregateRequest aggregate;
  (*aggregate.mutable_aggregate()->mutable_metadata())["k"] = nul;
  EXPECT_EQ(FieldOf(CheckText(aggregate)), "aggregate.metadata[0].value");
  EXPECT_EQ(placement::RefusalOf(CheckText(aggregate))->items.at(0).at("key"), "k");
}

TEST(WireTest, GroupsAreRefusedWhereverTheyStand) {
  pb::Report report;
  pb::NumaCell* const cell = report.mutable_facts()->add_numa_cells();
  google::protobuf::UnknownFieldSet* const unknown =
      cell->GetReflection()->MutableUnknownFields(cell);
  unknown->AddVarint(99, 1);  // of a newer tracker
  EXPECT_TRUE(CheckText(report).ok());
  unknown->AddGroup(77);
  EXPECT_EQ(FieldOf(CheckText(report)), "facts.numa_cells[0].77");
}

TEST(WireTest, RequestIdsArePrintableAndShort) {
  EXPECT_TRUE(CheckRequestId("").ok());
  EXPECT_TRUE(CheckRequestId(std::string(128, 'x')).ok());
  EXPECT_FALSE(CheckRequestId(std::string(129, 'x')).ok());
  EXPECT_FALSE(CheckRequestId("a\nb").ok());
  EXPECT_FALSE(CheckRequestId("\xC3\xA4").ok());
}

TEST(WireTest, TimesAreOfTheYears1To9999) {
  const auto read = [](int64_t seconds, int32_t nanos) {
    google::protobuf::Timestamp time;
    time.set_seconds(seconds);
    time.set_nanos(nanos);
    return TimeOf("at", time);
  };
  EXPECT_EQ(read(-62'135'596'800, 0).value(), absl::FromUnixSeconds(-62'135'596'800));
  EXPECT_EQ(read(253'402'300'799, 999'999'999).value(),
            absl::FromUnixSeconds(253'402'300'800) - absl::Nanoseconds(1));
  EXPECT_EQ(read(-1, 999).value(), absl::UnixEpoch() - absl::Seconds(1) + absl::Nanoseconds(999));
  EXPECT_EQ(FieldOf(read(-62'135'596'801, 0).status()), "at");
  EXPECT_EQ(FieldOf(read(253'402'300'800, 0).status()), "at");
  EXPECT_EQ(FieldOf(read(0, -1).status()), "at");
  EXPECT_EQ(FieldOf(read(0, 1'000'000'000).status()), "at");
}

TEST(WireTest, HelloNeedsAnIdentity) {
  pb::Hello hello;
  hello.set_host("h1");
  hello.set_binary("berth-tracker");
  EXPECT_EQ(FieldOf(HelloOf(hello).status()), "hello.incarnation");
  hello.set_incarnation(kUuid);
  ASSERT_TRUE(HelloOf(hello).ok());
  hello.add_nodes()->set_node_uuid("x");
  EXPECT_EQ(FieldOf(HelloOf(hello).status()), "hello.nodes[0].node_uuid");
}

TEST(WireTest, HelloNamesEachNodeOnce) {
  pb::Hello hello;
  hello.set_host("h1");
  hello.set_binary("berth-tracker");
  hello.set_incarnation(kUuid);
  const auto first = HelloOf(hello), second = HelloOf(hello);
  EXPECT_NE(first->service.id, second->service.id);  // random, and not the choice of the caller
  hello.add_nodes()->set_node_uuid(kUuid);
  ASSERT_TRUE(HelloOf(hello).ok());
  pb::Hello both = hello;
  both.add_retired_node_uuids(kUuid);
  EXPECT_EQ(ReasonOf(HelloOf(both).status()), "DUPLICATE_PARAMETER");
  *hello.add_nodes() = hello.nodes(0);
  EXPECT_EQ(ReasonOf(HelloOf(hello).status()), "DUPLICATE_PARAMETER");
  for (int i = 0; i < 255; ++i) hello.add_retired_node_uuids(kUuid);
  EXPECT_EQ(FieldOf(HelloOf(hello).status()), "hello.nodes");
}

TEST(WireTest, ReportsAreSnapshotsOrDeltas) {
  pb::Report report;
  report.set_node_uuid(kUuid);
  for (const int kind : {0, 3, 77}) {
    report.set_kind(static_cast<pb::ReportKind>(kind));
    EXPECT_EQ(FieldOf(ApplyReportOf(placement::State(), {}, report).status()), "report.kind");
  }
  report.set_kind(pb::REPORT_KIND_DELTA);
  EXPECT_TRUE(ApplyReportOf(placement::State(), {}, report).ok());
}

TEST(DigestTest, LeavesOutWhatItIsToldTo) {
  pb::CreateClassRequest one, two;
  one.set_name("CUSTOM_A");
  two.set_name("CUSTOM_A");
  two.set_request_id("r1");
  EXPECT_NE(MessageDigest(one, {}), MessageDigest(two, {}));
  EXPECT_EQ(MessageDigest(one, {"request_id"}), MessageDigest(two, {"request_id"}));
  pb::EnsureClassRequest other;
  other.set_name("CUSTOM_A");
  EXPECT_NE(MessageDigest(one, {}), MessageDigest(other, {}));  // another call is another request
}

TEST(PageTest, TokensAreBoundToListAndFilters) {
  pb::ListTraitsRequest request;
  request.set_prefix("HW_");
  const auto first = Page::Of(request);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Page::FirstRevision(request), std::nullopt);
  EXPECT_EQ(first->limit(), 100);
  EXPECT_FALSE(first->after().has_value());
  const placement::Revision read_at{1, 42};
  const std::string token = first->NextToken("HW_GPU:x", read_at);
  request.set_page_token(token);
  request.set_page_size(7);
  const auto second = Page::Of(request);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->limit(), 7);
  EXPECT_EQ(*second->after(), "HW_GPU:x");
  EXPECT_EQ(second->RevisionToAnswer({1, 50}), read_at);  // that of the first page
  EXPECT_EQ(Page::FirstRevision(request), read_at);
  request.set_prefix("COMPUTE_");
  EXPECT_EQ(ReasonOf(Page::Of(request).status()), "PAGE_TOKEN_MISMATCH");
  pb::ListClassesRequest classes;
  classes.set_page_token(token);
  EXPECT_EQ(ReasonOf(Page::Of(classes).status()), "PAGE_TOKEN_MISMATCH");
  for (const char* nonsense : {"x", "!!!", "AAAA"}) {
    classes.set_page_token(nonsense);
    EXPECT_EQ(ReasonOf(Page::Of(classes).status()), "PAGE_TOKEN_MISMATCH");
  }
}

TEST(WireTest, WhatIsOverCapacityIsToldByProvider) {  // P-89
  const placement::ProviderId a = *placement::ProviderId::Parse(kUuid);
  const placement::ProviderId b{placement::Uuid::Random()};
  const placement::State state;
  placement::Decision decision;
  decision.result.over_capacity = {{b, "VCPU", 5, 4}, {b, "DISK_GB", 3, 2}, {a, "VCPU", 2, 1}};
  decision.result.warnings = {"odd"};
  pb::Report report;
  report.set_node_uuid(kUuid);
  pb::Ack ack;
  FillAck(state, a, report, decision, &ack);
  pb::ReshapeResponse reshaped;
  FillReshape({decision, state, state.catalog()}, &reshaped);
  pb::ApplyTopologyResponse applied;
  FillApplyTopology({decision, state, state.catalog()}, &applied);
  for (const auto& told :
       {ack.overcommitted(), reshaped.overcommitted(), applied.overcommitted()}) {
    ASSERT_EQ(told.size(), 2);
    EXPECT_EQ(told[0].provider_uuid(), b.ToString());
    ASSERT_EQ(told[0].classes_size(), 2);
    EXPECT_EQ(told[0].classes(1).resource_class(), "DISK_GB");
    EXPECT_EQ(told[0].classes(1).used(), 3);
    EXPECT_EQ(told[0].classes(1).capacity(), 2);
    EXPECT_EQ(told[1].provider_uuid(), kUuid);
    EXPECT_EQ(told[1].classes_size(), 1);
  }
  EXPECT_EQ(ack.warnings(0), "odd");
  EXPECT_EQ(reshaped.warnings(0), "odd");
  EXPECT_EQ(applied.warnings(0), "odd");
}

TEST(PageTest, SizesAreBounded) {
  pb::ListClassesRequest request;
  request.set_page_size(-1);
  EXPECT_EQ(FieldOf(Page::Of(request).status()), "page_size");
  request.set_page_size(5000);
  EXPECT_EQ(Page::Of(request)->limit(), 1000);
}

}  // namespace
}  // namespace berth::services
