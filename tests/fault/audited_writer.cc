#include "tests/fault/audited_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/client_credentials.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using google::protobuf::Message;

constexpr absl::Duration kWritePatience = absl::Seconds(2);
constexpr absl::Duration kWriteAgainAfter = absl::Milliseconds(20);
constexpr absl::Duration kOutcomeMax = absl::Minutes(2);
constexpr size_t kEntitiesMax = 20;  // of one kind that a writer has
constexpr char kToggledTrait[] = "HW_CPU_X86_AVX";

void SetRequestId(const std::string& id, Message* request) {
  const auto* const field = request->GetDescriptor()->FindFieldByName("request_id");
  request->GetReflection()->SetString(request, field, id);
}

int64_t RevisionIn(const Message& response) {
  const auto* const field = response.GetDescriptor()->FindFieldByName("revision");
  const Message& revision = response.GetReflection()->GetMessage(response, field);
  return static_cast<const pb::Revision&>(revision).number();
}

// Takes the element at `place` out of `all`.
template <typename Element>
void TakeOut(size_t place, std::vector<Element>* all) {
  all->erase(all->begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace

AuditedWriter::AuditedWriter(std::string identity, uint64_t seed, std::string host,
                             const Endpoint* endpoint, WriteTally* tally)
    : identity_(std::move(identity)),
      random_(seed),
      host_(std::move(host)),
      endpoint_(endpoint),
      tally_(tally) {}

void AuditedWriter::Run() {
  while (!tally_->stop && tally_->begun++ < tally_->goal) {
    const std::string id = e2e::Random();
    Write write = Draw();
    SetRequestId(id, write.request.get());
    Settle(id, &write);
    tally_->settled.Add();
  }
}

void AuditedWriter::Connect() {
  const std::string address = endpoint_->Get();
  if (address == address_) return;
  address_ = address;
  channel_ = testing::OwnChannel(address, e2e::CredentialsOf(identity_));
}

std::string AuditedWriter::NewName(const std::string& kind) {
  const std::string who = absl::StrReplaceAll(identity_, {{"/", "_"}, {"-", "_"}});
  return absl::AsciiStrToUpper(absl::StrCat(kind, "_", who, "_", ++named_));
}

AuditedWriter::Write AuditedWriter::Draw() {
  const bool adds = random_() % 2 == 0;
  switch (random_() % 7) {
    case 0:
      if (!providers_.empty()) return RenameProvider(&providers_[random_() % providers_.size()]);
      return CreateProvider();
    case 1:
      if (!providers_.empty()) return SetInventory(&providers_[random_() % providers_.size()]);
      return CreateProvider();
    case 2:
      if (!providers_.empty()) return ToggleTrait(&providers_[random_() % providers_.size()]);
      return CreateProvider();
    case 3:
      if (providers_.empty() || (adds && providers_.size() < kEntitiesMax)) return CreateProvider();
      return DeleteProvider();
    case 4:
      if (traits_.empty() || (adds && traits_.size() < kEntitiesMax)) return CreateTrait();
      return DeleteTrait();
    case 5:
      if (records_.empty() || (adds && records_.size() < kEntitiesMax)) return CreateRecord();
      if (random_() % 2 == 0) return ChangeRecord(&records_[random_() % records_.size()]);
      return DeleteRecord();
    default:
      if (!consumers_.empty() && (!adds || consumers_.size() >= kEntitiesMax)) return Release();
      return random_() % 2 == 0 ? Claim() : Place();
  }
}

AuditedWriter::Write AuditedWriter::Claim() {
  auto request = std::make_unique<pb::SetAllocationsRequest>(e2e::ClaimOn(host_, 1));
  const std::string consumer = request->consumers(0).consumer_uuid();
  return {"AllocationService/SetAllocations", std::move(request),
          std::make_unique<pb::SetAllocationsResponse>(),
          [this, consumer] { consumers_.push_back(consumer); }};
}

AuditedWriter::Write AuditedWriter::Place() {
  auto request = std::make_unique<pb::ClaimRequest>();
  pb::ClaimConsumer& consumer = *request->mutable_consumer();
  consumer.set_consumer_uuid(e2e::Random());
  consumer.mutable_new_consumer();
  consumer.set_project_id("p");
  consumer.set_user_id("u");
  consumer.set_consumer_type("INSTANCE");
  pb::RequestGroup& group = *request->mutable_query()->add_groups();
  (*group.mutable_resources())["VCPU"] = 1;
  group.set_in_tree(host_);
  const std::string uuid = consumer.consumer_uuid();
  return {"CandidateService/Claim", std::move(request), std::make_unique<pb::ClaimResponse>(),
          [this, uuid] { consumers_.push_back(uuid); }};
}

AuditedWriter::Write AuditedWriter::Release() {
  const size_t place = random_() % consumers_.size();
  auto request = std::make_unique<pb::DeleteAllocationsRequest>();
  request->set_consumer_uuid(consumers_[place]);
  return {"AllocationService/DeleteAllocations", std::move(request),
          std::make_unique<pb::DeleteAllocationsResponse>(),
          [this, place] { TakeOut(place, &consumers_); }};
}

AuditedWriter::Write AuditedWriter::CreateProvider() {
  auto request = std::make_unique<pb::CreateProviderRequest>();
  request->set_name(NewName("provider"));
  auto response = std::make_unique<pb::CreateProviderResponse>();
  pb::CreateProviderResponse* const made = response.get();
  return {"ProviderService/CreateProvider", std::move(request), std::move(response), [this, made] {
            providers_.push_back({made->provider().uuid(), made->provider().generation()});
          }};
}

AuditedWriter::Write AuditedWriter::RenameProvider(Provider* provider) {
  auto request = std::make_unique<pb::UpdateProviderRequest>();
  request->set_provider_uuid(provider->uuid);
  request->set_name(NewName("renamed"));
  auto response = std::make_unique<pb::UpdateProviderResponse>();
  pb::UpdateProviderResponse* const renamed = response.get();
  return {"ProviderService/UpdateProvider", std::move(request), std::move(response),
          [provider, renamed] { provider->generation = renamed->provider().generation(); }};
}

AuditedWriter::Write AuditedWriter::SetInventory(Provider* provider) {
  auto request = std::make_unique<pb::SetInventoriesRequest>();
  request->set_provider_uuid(provider->uuid);
  request->set_expected_generation(provider->generation);
  (*request->mutable_inventories())["DISK_GB"].set_total(++named_);
  auto response = std::make_unique<pb::SetInventoriesResponse>();
  pb::SetInventoriesResponse* const set = response.get();
  return {"InventoryService/SetInventories", std::move(request), std::move(response),
          [provider, set] { provider->generation = set->generation(); }};
}

AuditedWriter::Write AuditedWriter::ToggleTrait(Provider* provider) {
  auto request = std::make_unique<pb::SetProviderTraitsRequest>();
  request->set_provider_uuid(provider->uuid);
  request->set_expected_generation(provider->generation);
  if (!provider->has_trait) request->add_traits(kToggledTrait);
  auto response = std::make_unique<pb::SetProviderTraitsResponse>();
  pb::SetProviderTraitsResponse* const set = response.get();
  return {"AssociationService/SetProviderTraits", std::move(request), std::move(response),
          [provider, set] {
            provider->generation = set->generation();
            provider->has_trait = !provider->has_trait;
          }};
}

AuditedWriter::Write AuditedWriter::DeleteProvider() {
  const size_t place = random_() % providers_.size();
  auto request = std::make_unique<pb::DeleteProviderRequest>();
  request->set_provider_uuid(providers_[place].uuid);
  return {"ProviderService/DeleteProvider", std::move(request),
          std::make_unique<pb::DeleteProviderResponse>(),
          [this, place] { TakeOut(place, &providers_); }};
}

AuditedWriter::Write AuditedWriter::CreateTrait() {
  auto request = std::make_unique<pb::EnsureTraitRequest>();
  const std::string name = NewName("CUSTOM_TRAIT");
  request->set_name(name);
  return {"CatalogService/EnsureTrait", std::move(request),
          std::make_unique<pb::EnsureTraitResponse>(), [this, name] { traits_.push_back(name); }};
}

AuditedWriter::Write AuditedWriter::DeleteTrait() {
  const size_t place = random_() % traits_.size();
  auto request = std::make_unique<pb::DeleteTraitRequest>();
  request->set_name(traits_[place]);
  return {"CatalogService/DeleteTrait", std::move(request),
          std::make_unique<pb::DeleteTraitResponse>(), [this, place] { TakeOut(place, &traits_); }};
}

AuditedWriter::Write AuditedWriter::CreateRecord() {
  Record record{e2e::Random()};
  Write write = ChangeRecord(&record);
  auto& request = static_cast<pb::SetInstanceRequest&>(*write.request);
  request.clear_expected_generation();  // there is none yet
  auto* const set = static_cast<pb::SetInstanceResponse*>(write.response.get());
  write.take = [this, set] {
    records_.push_back({set->instance().uuid(), set->instance().generation(), true});
  };
  return write;
}

AuditedWriter::Write AuditedWriter::ChangeRecord(Record* record) {
  auto request = std::make_unique<pb::SetInstanceRequest>();
  request->set_expected_generation(record->generation);
  pb::Instance& instance = *request->mutable_instance();
  instance.set_uuid(record->uuid);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state(record->is_active ? "stopped" : "active");
  instance.mutable_flavor()->set_vcpus(1);
  auto response = std::make_unique<pb::SetInstanceResponse>();
  pb::SetInstanceResponse* const set = response.get();
  return {"InstanceService/SetInstance", std::move(request), std::move(response), [record, set] {
            record->generation = set->instance().generation();
            record->is_active = !record->is_active;
          }};
}

AuditedWriter::Write AuditedWriter::DeleteRecord() {
  const size_t place = random_() % records_.size();
  auto request = std::make_unique<pb::DeleteInstanceRequest>();
  request->set_instance_uuid(records_[place].uuid);
  return {"InstanceService/DeleteInstance", std::move(request),
          std::make_unique<pb::DeleteInstanceResponse>(),
          [this, place] { TakeOut(place, &records_); }};
}

void AuditedWriter::Settle(const std::string& id, Write* write) {
  const absl::Time until = absl::Now() + kOutcomeMax;
  Outcome outcome = Send(write);
  while (outcome == Outcome::kOpen && absl::Now() < until && !tally_->stop) {
    absl::SleepFor(kWriteAgainAfter);
    // Either is right after a lost answer: the id makes both safe.
    if (random_() % 2 == 0) {
      ++tally_->repeats;
      outcome = Send(write);
    } else {
      outcome = Ask(id, /*cancel=*/random_() % 2 == 0, write);
    }
  }
  if (outcome == Outcome::kOpen) {
    complaints_.push_back(absl::StrCat("nobody could tell what became of ", write->method));
  }
  if (outcome != Outcome::kDone) return;
  write->take();
  done_[id] = {write->method, RevisionIn(*write->response)};
}

AuditedWriter::Outcome AuditedWriter::Send(Write* write) {
  Connect();
  const grpc::Status status = e2e::InvokeOn(channel_, write->method, *write->request,
                                            write->response.get(), kWritePatience);
  if (status.ok()) return Outcome::kDone;
  const std::string reason = e2e::ReasonOf(status);
  const bool passes = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (reason.empty() || passes) {
    ++tally_->unknown;
    return Outcome::kOpen;
  }
  complaints_.push_back(absl::StrCat(write->method, " was refused: ", reason, ": ",
                                     status.error_message(), ": ",
                                     write->request->ShortDebugString()));
  return Outcome::kNotDone;
}

AuditedWriter::Outcome AuditedWriter::Ask(const std::string& id, bool cancel, Write* write) {
  Connect();
  pb::GetRequestRequest request;
  request.set_request_id(id);
  request.set_cancel_if_absent(cancel);
  pb::GetRequestResponse response;
  const grpc::Status status =
      e2e::InvokeOn(channel_, "LedgerService/GetRequest", request, &response, kWritePatience);
  if (!status.ok()) return Outcome::kOpen;
  if (response.outcome() == pb::REQUEST_OUTCOME_CANCELLED) {
    ++tally_->cancelled;
    return Outcome::kNotDone;
  }
  if (response.outcome() != pb::REQUEST_OUTCOME_APPLIED) return Outcome::kOpen;
  if (!response.response().UnpackTo(write->response.get()) ||
      RevisionIn(*write->response) != response.applied_revision().number()) {
    complaints_.push_back(absl::StrCat(
        write->method, " was done with another answer: ", response.ShortDebugString()));
  }
  return Outcome::kDone;
}

}  // namespace berth::fault
