#include "tests/history/wire.h"

#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/consumer.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "tests/history/checker/effect.h"
#include "tests/history/record_wire.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::Message;

constexpr uint64_t kProviderHigh = 0x70726F7669646572;
constexpr uint64_t kConsumerHigh = 0x636F6E73756D6572;
constexpr uint64_t kInstanceHigh = 0x696E7374616E6365;
constexpr uint64_t kMigrationHigh = 0x6D69677261746573;
constexpr const char* kClassNames[kClasses] = {"VCPU", "MEMORY_MB"};

const Part& PartOf(const ClientLog& log, const Operation& operation, int p) {
  return log.parts[operation.first_part + static_cast<uint32_t>(p)];
}

// Owner and expectation: the same fields in both kinds of writes.
template <typename Consumer>
void FillConsumer(const Part& part, Consumer* consumer) {
  consumer->set_consumer_uuid(ConsumerUuid(part.consumer));
  if (part.expected == kNew) {
    consumer->mutable_new_consumer();
  } else {
    consumer->set_generation(part.expected);
  }
  consumer->set_project_id("project");
  consumer->set_user_id("user");
  consumer->set_consumer_type("INSTANCE");
}

Call SetCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  auto request = std::make_unique<pb::SetAllocationsRequest>();
  request->set_request_id(id);
  for (int p = 0; p < operation.parts; ++p) {
    const Part& part = PartOf(log, operation, p);
    pb::ConsumerAllocations* consumer = request->add_consumers();
    FillConsumer(part, consumer);
    pb::ProviderAllocation* allocation = nullptr;
    for (uint32_t r = 0; r < part.rows; ++r) {
      const Row& row = log.rows[part.first_row + r];
      const std::string provider = ProviderUuid(row.provider);
      if (allocation == nullptr || allocation->provider_uuid() != provider) {
        allocation = consumer->add_allocations();
        allocation->set_provider_uuid(provider);
      }
      (*allocation->mutable_resources())[ClassName(row.resource_class)] = row.amount;
    }
  }
  return {"AllocationService/SetAllocations", std::move(request),
          std::make_unique<pb::SetAllocationsResponse>()};
}

Call ReleaseCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  auto request = std::make_unique<pb::DeleteAllocationsRequest>();
  const Part& part = PartOf(log, operation, 0);
  request->set_request_id(id);
  request->set_consumer_uuid(ConsumerUuid(part.consumer));
  if (part.expected != kAny) request->set_expected_generation(part.expected);
  return {"AllocationService/DeleteAllocations", std::move(request),
          std::make_unique<pb::DeleteAllocationsResponse>()};
}

Call AdjustCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  auto request = std::make_unique<pb::AdjustAllocationsRequest>();
  const Part& part = PartOf(log, operation, 0);
  request->set_request_id(id);
  request->set_consumer_uuid(ConsumerUuid(part.consumer));
  if (part.expected != kAny) request->set_expected_generation(part.expected);
  for (uint32_t r = 0; r < part.rows; ++r) {
    const Row& row = log.rows[part.first_row + r];
    pb::AllocationAdjustment* adjustment = request->add_adjustments();
    adjustment->set_provider_uuid(ProviderUuid(row.provider));
    (*adjustment->mutable_amounts())[ClassName(row.resource_class)] = row.amount;
  }
  return {"AllocationService/AdjustAllocations", std::move(request),
          std::make_unique<pb::AdjustAllocationsResponse>()};
}

Call LeaseCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  auto request = std::make_unique<pb::SetLeaseRequest>();
  const Part& part = PartOf(log, operation, 0);
  request->set_request_id(id);
  request->set_consumer_uuid(ConsumerUuid(part.consumer));
  if (part.expected != kAny) request->set_expected_generation(part.expected);
  if (operation.lease_s == 0) {
    request->mutable_confirmed();
  } else {
    request->mutable_lease()->set_seconds(operation.lease_s);
  }
  return {"ConsumerService/SetLease", std::move(request), std::make_unique<pb::SetLeaseResponse>()};
}

template <typename Member>
void FillMember(const ClientLog& log, const Part& part, Member* member) {
  FillConsumer(part, member->mutable_consumer());
  auto* resources = member->mutable_query()->add_groups()->mutable_resources();
  for (uint32_t r = 0; r < part.rows; ++r) {
    const Row& row = log.rows[part.first_row + r];
    (*resources)[ClassName(row.resource_class)] = row.amount;
  }
}

Call ClaimCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  if (operation.parts == 1) {
    auto request = std::make_unique<pb::ClaimRequest>();
    request->set_request_id(id);
    FillMember(log, PartOf(log, operation, 0), request.get());
    return {"CandidateService/Claim", std::move(request), std::make_unique<pb::ClaimResponse>()};
  }
  auto request = std::make_unique<pb::ClaimManyRequest>();
  request->set_request_id(id);
  for (int p = 0; p < operation.parts; ++p) {
    FillMember(log, PartOf(log, operation, p), request->add_members());
  }
  return {"CandidateService/ClaimMany", std::move(request),
          std::make_unique<pb::ClaimManyResponse>()};
}

Call InventoryCall(const ClientLog& log, const Operation& operation, const std::string& id) {
  auto request = std::make_unique<pb::SetInventoriesRequest>();
  request->set_request_id(id);
  request->set_provider_uuid(ProviderUuid(operation.provider));
  request->set_expected_generation(operation.expected);
  for (uint32_t r = 0; r < operation.rows; ++r) {
    const Row& row = log.rows[operation.first_row + r];
    (*request->mutable_inventories())[ClassName(row.resource_class)].set_total(row.amount);
  }
  return {"InventoryService/SetInventories", std::move(request),
          std::make_unique<pb::SetInventoriesResponse>()};
}

template <typename Request>
std::unique_ptr<Request> ReadOf(const Operation& operation) {
  auto request = std::make_unique<Request>();
  if (operation.minimum > 0) {
    request->mutable_minimum_revision()->set_epoch(operation.epoch);
    request->mutable_minimum_revision()->set_number(operation.minimum);
  }
  return request;
}

// Where a claim was placed. All of it is on one provider: there are no trees.
void TakePlace(const pb::Candidate& candidate, int64_t generation, ClientLog* log, Part* part) {
  part->generation = generation;
  if (candidate.allocations_size() != 1) return;
  const auto uuid = placement::Uuid::Parse(candidate.allocations(0).provider_uuid());
  const auto provider = uuid ? ProviderOf(*uuid) : std::nullopt;
  for (uint32_t r = 0; provider && r < part->rows; ++r) {
    log->rows[part->first_row + r].provider = *provider;
  }
}

void TakeInventories(const pb::GetInventoriesResponse& answer, ClientLog* log,
                     Operation* operation) {
  TakeRevision(answer.revision(), operation);
  operation->generation = answer.generation();
  operation->allocation_generation = answer.allocation_generation();
  operation->first_row = static_cast<uint32_t>(log->rows.size());
  operation->rows = 2 * kClasses;
  for (uint8_t c = 0; c < kClasses; ++c) {
    const auto found = answer.inventories().find(ClassName(c));
    const bool there = found != answer.inventories().end();
    const auto used = static_cast<int32_t>(there ? found->second.used() : -1);
    const auto capacity = static_cast<int32_t>(there ? found->second.capacity() : -1);
    log->rows.push_back({operation->provider, c, used});
    log->rows.push_back({operation->provider, c, capacity});
  }
}

void TakeConsumer(const pb::GetAllocationsResponse& answer, ClientLog* log, Operation* operation) {
  TakeRevision(answer.revision(), operation);
  Part& part = log->parts[operation->first_part];
  part.generation = answer.has_consumer() ? answer.consumer().generation() : 0;
  std::vector<Row> rows;
  for (const pb::ProviderAllocation& held : answer.consumer().allocations()) {
    const auto uuid = placement::Uuid::Parse(held.provider_uuid());
    const auto provider = uuid ? ProviderOf(*uuid) : std::nullopt;
    for (const auto& [name, amount] : held.resources()) {
      rows.push_back({provider.value_or(kUnplaced), ClassOf(name).value_or(kClasses),
                      static_cast<int32_t>(amount)});
    }
  }
  SortRows(&rows);
  part.first_row = static_cast<uint32_t>(log->rows.size());
  part.rows = static_cast<uint32_t>(rows.size());
  log->rows.insert(log->rows.end(), rows.begin(), rows.end());
}

}  // namespace

std::string ProviderUuid(uint16_t provider) {
  return placement::Uuid{kProviderHigh, provider}.ToString();
}
std::string ConsumerUuid(uint64_t consumer) {
  const uint64_t number = consumer & ~kHolderBit;
  const uint64_t high = IsMigration(number) ? kMigrationHigh
                        : IsRecord(number)  ? kInstanceHigh
                                            : kConsumerHigh;
  return placement::Uuid{high, number}.ToString();
}
std::optional<uint16_t> ProviderOf(const placement::Uuid& uuid) {
  if (uuid.high != kProviderHigh) return std::nullopt;
  return static_cast<uint16_t>(uuid.low);
}
std::optional<uint64_t> ConsumerOf(const placement::Uuid& uuid) {
  if (uuid.ToString() != ConsumerUuid(uuid.low)) return std::nullopt;
  return IsRecord(uuid.low) ? HolderOf(uuid.low) : uuid.low;
}
std::optional<uint64_t> RecordOf(const placement::Uuid& uuid) {
  if (uuid.ToString() != ConsumerUuid(uuid.low) || !IsRecord(uuid.low)) return std::nullopt;
  return uuid.low;
}
const char* ClassName(int resource_class) { return kClassNames[resource_class]; }
std::optional<uint8_t> ClassOf(absl::string_view name) {
  for (uint8_t c = 0; c < kClasses; ++c) {
    if (name == kClassNames[c]) return c;
  }
  return std::nullopt;
}

std::string RequestId(int client, uint32_t number) {
  return absl::StrCat("h-", client, "-", number);
}

Asked AskedBy(const std::string& request_id) {
  const std::vector<std::string> pieces = absl::StrSplit(request_id, '-');
  Asked asked;
  if (pieces.size() != 3 || pieces[0] != "h" || !absl::SimpleAtoi(pieces[1], &asked.client) ||
      !absl::SimpleAtoi(pieces[2], &asked.number)) {
    return {};
  }
  return asked;
}

Call CallFor(const ClientLog& log, const Operation& operation) {
  const std::string id =
      operation.with_id ? RequestId(operation.client, operation.number) : std::string();
  switch (operation.kind) {
    case Kind::kSet:
      return SetCall(log, operation, id);
    case Kind::kRelease:
      return ReleaseCall(log, operation, id);
    case Kind::kAdjust:
      return AdjustCall(log, operation, id);
    case Kind::kClaim:
      return ClaimCall(log, operation, id);
    case Kind::kLease:
      return LeaseCall(log, operation, id);
    case Kind::kInventory:
      return InventoryCall(log, operation, id);
    case Kind::kSetInstance:
    case Kind::kDeleteInstance:
    case Kind::kCreateMigration:
    case Kind::kUpdateMigration:
    case Kind::kEndMove:
    case Kind::kListInstances:
    case Kind::kListMigrations:
      return RecordCall(log, operation, id);
    case Kind::kReadInventory: {
      auto request = ReadOf<pb::GetInventoriesRequest>(operation);
      request->set_provider_uuid(ProviderUuid(operation.provider));
      return {"InventoryService/GetInventories", std::move(request),
              std::make_unique<pb::GetInventoriesResponse>()};
    }
    case Kind::kReadConsumer: {
      auto request = ReadOf<pb::GetAllocationsRequest>(operation);
      request->set_consumer_uuid(ConsumerUuid(PartOf(log, operation, 0).consumer));
      return {"AllocationService/GetAllocations", std::move(request),
              std::make_unique<pb::GetAllocationsResponse>()};
    }
    case Kind::kReport:  // goes through a stream
    case Kind::kExpire:
    case Kind::kRepeat:
      break;
  }
  std::abort();
}

void TakeRevision(const pb::Revision& revision, Operation* operation) {
  operation->revision = revision.number();
  operation->epoch = static_cast<uint8_t>(revision.epoch());
}

void TakeAnswer(const Message& response, ClientLog* log, Operation* operation) {
  if (TakeRecords(response, log, operation)) return;
  if (const auto* set = dynamic_cast<const pb::SetAllocationsResponse*>(&response)) {
    TakeRevision(set->revision(), operation);
    for (uint32_t p = 0; p < operation->parts; ++p) {
      Part& part = log->parts[operation->first_part + p];
      const auto told = set->consumer_generations().find(ConsumerUuid(part.consumer));
      part.generation = told == set->consumer_generations().end() ? 0 : told->second;
    }
  } else if (const auto* released = dynamic_cast<const pb::DeleteAllocationsResponse*>(&response)) {
    TakeRevision(released->revision(), operation);
  } else if (const auto* adjusted = dynamic_cast<const pb::AdjustAllocationsResponse*>(&response)) {
    TakeRevision(adjusted->revision(), operation);
    log->parts[operation->first_part].generation = adjusted->consumer().generation();
  } else if (const auto* leased = dynamic_cast<const pb::SetLeaseResponse*>(&response)) {
    TakeRevision(leased->revision(), operation);
    log->parts[operation->first_part].generation = leased->generation();
  } else if (const auto* claimed = dynamic_cast<const pb::ClaimResponse*>(&response)) {
    TakeRevision(claimed->revision(), operation);
    TakePlace(claimed->candidate(), claimed->generation(), log, &log->parts[operation->first_part]);
  } else if (const auto* many = dynamic_cast<const pb::ClaimManyResponse*>(&response)) {
    TakeRevision(many->revision(), operation);
    for (int m = 0; m < many->members_size() && m < operation->parts; ++m) {
      TakePlace(many->members(m).candidate(), many->members(m).generation(), log,
                &log->parts[operation->first_part + static_cast<uint32_t>(m)]);
    }
  } else if (const auto* stored = dynamic_cast<const pb::SetInventoriesResponse*>(&response)) {
    TakeRevision(stored->revision(), operation);
    operation->generation = stored->generation();
  } else if (const auto* inventories = dynamic_cast<const pb::GetInventoriesResponse*>(&response)) {
    TakeInventories(*inventories, log, operation);
  } else if (const auto* held = dynamic_cast<const pb::GetAllocationsResponse*>(&response)) {
    TakeConsumer(*held, log, operation);
  }
}

grpc::Status Invoke(grpc::Channel* channel, const std::string& method, const Message& request,
                    Message* response, absl::Time deadline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  const std::string path = "/berth.placement.v1." + method;
  const grpc::internal::RpcMethod rpc(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall<Message, Message, google::protobuf::MessageLite,
                                           google::protobuf::MessageLite>(channel, rpc, &context,
                                                                          request, response);
}

}  // namespace berth::history
