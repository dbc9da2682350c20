#include "tests/fault/claim_client.h"

#include <grpcpp/create_channel.h>

#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "placement/ground/uuid.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr absl::Duration kAskAgainAfter = absl::Milliseconds(50);
constexpr absl::Duration kSettleMax = absl::Seconds(120);
constexpr size_t kHoldingsMax = 40;  // of one client

std::string NewUuid() { return placement::Uuid::Random().ToString(); }

void SetDeadline(grpc::ClientContext* context, absl::Time deadline) {
  context->set_deadline(absl::ToChronoTime(deadline));
}

// The reason of our ErrorInfo, or nothing where the status carries none.
std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return "";
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "";
}

// A scheduler's own rest before it tries again.
void RestUntil(absl::Time until) {
  const absl::Duration left = until - absl::Now();
  if (left > absl::ZeroDuration()) std::this_thread::sleep_for(absl::ToChronoNanoseconds(left));
}

}  // namespace

void Endpoint::Set(const std::string& address) {
  const placement::MutexLock lock(&mutex_);
  address_ = address;
}

std::string Endpoint::Get() const {
  const placement::MutexLock lock(&mutex_);
  return address_;
}

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

ClaimClient::ClaimClient(uint64_t seed, std::vector<std::string> providers,
                         const Endpoint* endpoint, Tally* tally)
    : random_(seed), providers_(std::move(providers)), endpoint_(endpoint), tally_(tally) {}

void ClaimClient::Run() {
  while (!tally_->stop) {
    if (inquests_ < tally_->inquests) LookUpHoldings();
    const bool release =
        !holdings_.empty() && (holdings_.size() >= kHoldingsMax || random_() % 3 == 0);
    if (release) {
      ReleaseOne();
    } else {
      ClaimOne();
    }
  }
}

void ClaimClient::Connect() {
  const std::string address = endpoint_->Get();
  if (address == address_) return;
  address_ = address;
  const std::shared_ptr<grpc::Channel> channel = ConnectTo(address);
  allocations_ = pb::AllocationService::NewStub(channel);
  ledger_ = pb::LedgerService::NewStub(channel);
}

bool ClaimClient::ClaimOne() {
  Connect();
  const std::string consumer = NewUuid();
  const Holding wanted = {providers_[random_() % providers_.size()],
                          static_cast<int64_t>(1 + random_() % 4)};
  pb::SetAllocationsRequest request;
  request.set_request_id(NewUuid());
  pb::ConsumerAllocations* entry = request.add_consumers();
  entry->set_consumer_uuid(consumer);
  entry->mutable_new_consumer();
  entry->set_project_id("project");
  entry->set_user_id("user");
  entry->set_consumer_type("INSTANCE");
  pb::ProviderAllocation* allocation = entry->add_allocations();
  allocation->set_provider_uuid(wanted.provider);
  (*allocation->mutable_resources())["VCPU"] = wanted.amount;
  pb::SetAllocationsResponse response;
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + kPatience);
  const grpc::Status status = allocations_->SetAllocations(&context, request, &response);
  if (Settle(status, request.request_id()) != Outcome::kDone) return false;
  holdings_.emplace(consumer, wanted);
  tally_->claims.Add();
  return true;
}

void ClaimClient::ReleaseOne() {
  Connect();
  auto victim = std::next(holdings_.begin(), static_cast<int64_t>(random_() % holdings_.size()));
  pb::DeleteAllocationsRequest request;
  request.set_request_id(NewUuid());
  request.set_consumer_uuid(victim->first);
  pb::DeleteAllocationsResponse response;
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + kPatience);
  const grpc::Status status = allocations_->DeleteAllocations(&context, request, &response);
  if (ReasonOf(status) == "CONSUMER_NOT_FOUND") {
    complaints_.push_back(absl::StrCat("acknowledged claim of ", victim->first, " is gone"));
  }
  if (Settle(status, request.request_id()) == Outcome::kDone) holdings_.erase(victim);
}

void ClaimClient::LookUpHoldings() {
  inquests_ = tally_->inquests;
  for (const auto& [consumer, holding] : holdings_) LookUp(consumer, holding);
  tally_->looked_up.Add();
}

void ClaimClient::LookUp(const std::string& consumer, const Holding& holding) {
  pb::GetAllocationsRequest request;
  request.set_consumer_uuid(consumer);
  const absl::Time until = absl::Now() + kSettleMax;
  while (absl::Now() < until) {
    Connect();
    pb::GetAllocationsResponse response;
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + kPatience);
    if (!allocations_->GetAllocations(&context, request, &response).ok()) {
      RestUntil(absl::Now() + kAskAgainAfter);
      continue;
    }
    const pb::Consumer& held = response.consumer();
    const bool good = held.allocations_size() == 1 &&
                      held.allocations(0).provider_uuid() == holding.provider &&
                      held.allocations(0).resources_size() == 1 &&
                      held.allocations(0).resources().contains("VCPU") &&
                      held.allocations(0).resources().at("VCPU") == holding.amount;
    if (!good) {
      complaints_.push_back(absl::StrCat("acknowledged claim of ", consumer, " became '",
                                         held.ShortDebugString(), "'"));
    }
    ++tally_->holdings;
    return;
  }
  complaints_.push_back(absl::StrCat("nobody could tell what ", consumer, " holds"));
}

ClaimClient::Outcome ClaimClient::Settle(const grpc::Status& status,
                                         const std::string& request_id) {
  if (status.ok()) return Outcome::kDone;
  const std::string reason = ReasonOf(status);
  if (reason == "CAPACITY_EXCEEDED") {
    ++tally_->full;
    return Outcome::kNotDone;
  }
  if (!reason.empty()) {
    const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    ++(away ? tally_->away : tally_->refused);
    if (away) RestUntil(absl::Now() + kAskAgainAfter);
    return Outcome::kNotDone;
  }
  ++tally_->unknown;
  const Outcome outcome = AskUntilKnown(request_id);
  if (outcome == Outcome::kDone) ++tally_->found;
  return outcome;
}

ClaimClient::Outcome ClaimClient::AskUntilKnown(const std::string& request_id) {
  pb::GetRequestRequest request;
  request.set_request_id(request_id);
  request.set_cancel_if_absent(true);  // the lost call might still be on its way
  const absl::Time until = absl::Now() + kSettleMax;
  while (absl::Now() < until) {
    Connect();
    pb::GetRequestResponse response;
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + kPatience);
    const grpc::Status status = ledger_->GetRequest(&context, request, &response);
    if (status.ok() && response.outcome() == pb::REQUEST_OUTCOME_APPLIED) return Outcome::kDone;
    if (status.ok() && response.outcome() == pb::REQUEST_OUTCOME_CANCELLED)
      return Outcome::kNotDone;
    RestUntil(absl::Now() + kAskAgainAfter);
  }
  complaints_.push_back(absl::StrCat("nobody could tell what became of ", request_id));
  return Outcome::kNotDone;
}

}  // namespace berth::fault
