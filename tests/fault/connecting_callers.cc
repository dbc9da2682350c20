#include "tests/fault/connecting_callers.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/auth_context.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/call_within.h"
#include "tests/processes/client_credentials.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using placement::MutexLock;

constexpr int kCallerThreads = 8;
// Both bound a failure alone: a busy machine may stand still for many seconds.
constexpr absl::Duration kConnectionCallMax = absl::Minutes(1);
constexpr absl::Duration kConnectionsAwaitMax = absl::Minutes(2);

// A channel with a connection of its own, on which a call that fails is not sent again.
std::shared_ptr<grpc::Channel> NewConnection(const std::string& address,
                                             const ConnectingCallers::Files& files) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, testing::ClientCredentials(files.own, files.cas),
                                   arguments);
}

void FillClaim(const std::string& uuid, pb::ClaimConsumer* consumer, pb::CandidateQuery* query) {
  consumer->set_consumer_uuid(uuid);
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  (*query->add_groups()->mutable_resources())["VCPU"] = 1;
}

// Claims for the consumer `uuid`, alone or as a group of one.
grpc::Status ClaimFor(const std::string& uuid, bool alone,
                      const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
  const auto candidates = pb::CandidateService::NewStub(channel);
  if (alone) {
    pb::ClaimRequest request;
    FillClaim(uuid, request.mutable_consumer(), request.mutable_query());
    pb::ClaimResponse response;
    return candidates->Claim(context, request, &response);
  }
  pb::ClaimManyRequest request;
  pb::ClaimMember* const member = request.add_members();
  FillClaim(uuid, member->mutable_consumer(), member->mutable_query());
  pb::ClaimManyResponse response;
  return candidates->ClaimMany(context, request, &response);
}

grpc::Status ReleaseOf(const std::string& uuid, const std::shared_ptr<grpc::Channel>& channel) {
  pb::DeleteAllocationsRequest request;
  request.set_consumer_uuid(uuid);
  pb::DeleteAllocationsResponse response;
  return pb::AllocationService::NewStub(channel)->DeleteAllocations(
      CallWithin(kConnectionCallMax).get(), request, &response);
}

// The certificate with which the server has answered, PEM; empty: it has not.
std::string ServerCertificate(const grpc::ClientContext& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return "";
  const auto values = connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

}  // namespace

ConnectingCallers::ConnectingCallers(std::string address, Files files)
    : address_(std::move(address)), files_(std::move(files)) {
  for (int caller = 0; caller < kCallerThreads; ++caller) {
    threads_.emplace_back([this, caller] { Run(caller); });
  }
}

ConnectingCallers::~ConnectingCallers() { Stop(); }

void ConnectingCallers::Stop() {
  {
    const MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ConnectingCallers::Use(Files files) {
  const MutexLock lock(&mutex_);
  files_ = std::move(files);
}

void ConnectingCallers::Name(const std::string& moment) {
  const MutexLock lock(&mutex_);
  moment_ = moment;
}

// The connections of all callers begin one after the other at equal distances, as far as the machine
// keeps up: a connection whose time has passed begins at once.
void ConnectingCallers::Run(int caller) {
  const absl::Duration between = absl::Seconds(1) / kConnectionsPerSecond;
  Files files;
  int64_t number = 0;
  for (int64_t turn = 0; Begin(&number, &files); ++turn) {
    ConnectOnce(number, files);
    absl::SleepFor(begun_at_ + between * (kCallerThreads * (turn + 1) + caller) - absl::Now());
  }
}

bool ConnectingCallers::Begin(int64_t* number, Files* files) {
  const MutexLock lock(&mutex_);
  if (stopping_) return false;
  *number = ++begun_;
  *files = files_;
  open_.insert(*number);
  return true;
}

void ConnectingCallers::ConnectOnce(int64_t number, const Files& files) {
  const auto channel = NewConnection(address_, files);
  const std::string uuid = placement::Uuid::Random().ToString();
  const auto context = CallWithin(kConnectionCallMax);
  const absl::Time begin = absl::Now();
  const bool alone = number % 2 == 0;
  const char* what = alone ? "Claim" : "ClaimMany";
  grpc::Status status = ClaimFor(uuid, alone, channel, context.get());
  const absl::Duration took = absl::Now() - begin;
  const std::string served = ServerCertificate(*context);
  if (status.ok()) {
    what = "DeleteAllocations";
    status = ReleaseOf(uuid, channel);
  }
  const MutexLock lock(&mutex_);
  if (!status.ok()) {
    failures_.push_back(absl::StrCat(moment_, ": ", what, " of connection ", number,
                                     " failed with ", status.error_code(), ": ",
                                     status.error_message()));
  }
  slowest_ = std::max(slowest_, took);
  if (!served.empty()) served_ = served;
  newest_ended_ = std::max(newest_ended_, number);
  open_.erase(number);
  changed_.SignalAll();
}

bool ConnectingCallers::AwaitChange(absl::Time until) const {
  const absl::Duration left = until - absl::Now();
  if (left <= absl::ZeroDuration()) return false;
  changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
  return true;
}

bool ConnectingCallers::AwaitOne() const {
  const absl::Time until = absl::Now() + kConnectionsAwaitMax;
  const MutexLock lock(&mutex_);
  const int64_t before = begun_;
  while (newest_ended_ <= before) {
    if (!AwaitChange(until)) return false;
  }
  return true;
}

bool ConnectingCallers::AwaitThoseBefore() const {
  const absl::Time until = absl::Now() + kConnectionsAwaitMax;
  const MutexLock lock(&mutex_);
  const int64_t before = begun_;
  while (!open_.empty() && *open_.begin() <= before) {
    if (!AwaitChange(until)) return false;
  }
  return true;
}

bool ConnectingCallers::AwaitServed(const std::string& certificate) const {
  const absl::Time until = absl::Now() + kConnectionsAwaitMax;
  const MutexLock lock(&mutex_);
  while (served_ != certificate) {
    if (!AwaitChange(until)) return false;
  }
  return true;
}

int64_t ConnectingCallers::connections() const {
  const MutexLock lock(&mutex_);
  return begun_ - static_cast<int64_t>(open_.size());
}

absl::Duration ConnectingCallers::slowest() const {
  const MutexLock lock(&mutex_);
  return slowest_;
}

std::vector<std::string> ConnectingCallers::failures() const {
  const MutexLock lock(&mutex_);
  return failures_;
}

}  // namespace berth::fault
