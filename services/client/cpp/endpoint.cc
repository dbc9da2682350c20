#include "services/client/cpp/endpoint.h"

#include <algorithm>
#include <random>
#include <utility>

#include "grpcpp/create_channel.h"
#include "services/client/cpp/backoff.h"
#include "services/client/cpp/spiffe_id.h"
#include "services/client/cpp/target.h"

namespace berth::client {
namespace {

constexpr absl::Duration kFileLook = absl::Seconds(1);
constexpr int kReceivedBytesMax = 64 << 20;  // placement limits its messages by its own option

}  // namespace

std::shared_ptr<grpc::Channel> Dial(const std::string& target,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("berth-client");
  arguments.SetMaxReceiveMessageSize(kReceivedBytesMax);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // A process that is gone should not be waited for while others answer, and one that has come back
  // should be found again soon.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);  // for how long an attempt may last
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      TargetOf(target), credentials == nullptr ? grpc::InsecureChannelCredentials() : credentials,
      arguments);
}

bool Connect(grpc::Channel* channel, absl::Duration timeout) {
  const absl::Duration deadline = Now() + timeout;
  while (true) {
    const grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
    if (!channel->WaitForStateChange(state, Within(deadline - Now()))) return false;
  }
}

// The credentials of channels tell for longer than the Endpoints lives. Thread-safe.
class Endpoints::Teller {
 public:
  explicit Teller(OwnCertificate::Tell tell) : tell_(std::move(tell)) {}

  void Tell(bool wrong, const std::string& text) {
    {
      MutexLock lock(&mutex_);
      if (ended_) return;
      ++calls_;
    }
    tell_(wrong, text);
    MutexLock lock(&mutex_);
    --calls_;
    ended_call_.SignalAll();
  }
  // Waits for the calls that run. There are no others afterwards.
  void End() {
    MutexLock lock(&mutex_);
    ended_ = true;
    while (calls_ > 0) ended_call_.WaitFor(&mutex_, absl::InfiniteDuration());
  }

 private:
  const OwnCertificate::Tell tell_;
  Mutex mutex_;
  CondVar ended_call_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // that run
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

Endpoints::Endpoints(std::vector<std::string> targets,
                     std::shared_ptr<grpc::ChannelCredentials> credentials)
    : targets_(targets.empty() ? std::vector<std::string>{""} : std::move(targets)),
      credentials_(std::move(credentials)),
      channels_(targets_.size()),
      current_(RandomSource()() % targets_.size()) {}

Endpoints::~Endpoints() {
  if (teller_ != nullptr) teller_->End();
}

absl::StatusOr<std::shared_ptr<Endpoints>> Endpoints::Open(std::vector<std::string> targets,
                                                           const TlsSettings& tls,
                                                           OwnCertificate::Tell tell) {
  if (!tls.given()) return std::make_shared<Endpoints>(std::move(targets));
  CertificateUse use;
  use.client = true;
  std::shared_ptr<Teller> teller;
  if (tell != nullptr) {
    teller = std::make_shared<Teller>(std::move(tell));
    tell = [teller](bool wrong, const std::string& text) { teller->Tell(wrong, text); };
  }
  absl::StatusOr<OwnCertificate> own = OwnCertificate::Open(tls, use, std::move(tell));
  if (!own.ok()) return own.status();
  auto endpoints =
      std::make_shared<Endpoints>(std::move(targets), own->ForChannel({kPlacementRole}));
  endpoints->teller_ = std::move(teller);
  endpoints->own_ = *std::move(own);
  return endpoints;
}

std::shared_ptr<grpc::Channel> Endpoints::Channel() {
  LookAtFiles();
  MutexLock lock(&mutex_);
  TakeRenewal();
  std::shared_ptr<grpc::Channel>& channel = channels_[current_];
  if (channel == nullptr) channel = Dial(targets_[current_], credentials_);
  return channel;
}

void Endpoints::Failed(const std::shared_ptr<grpc::Channel>& channel) {
  MutexLock lock(&mutex_);
  if (channels_[current_] != channel) return;
  current_ = (current_ + 1) % targets_.size();
  if (renewal_) renewal_->due = Now();
}

void Endpoints::Renew(std::shared_ptr<grpc::ChannelCredentials> credentials,
                      absl::Duration spread) {
  MutexLock lock(&mutex_);
  const double part = std::uniform_real_distribution<>(0, 1)(RandomSource());
  const absl::Duration due = Now() + spread * part;
  renewal_ = Renewal{std::move(credentials), renewal_ ? std::min(renewal_->due, due) : due};
}

int64_t Endpoints::renewals() {
  LookAtFiles();
  MutexLock lock(&mutex_);
  TakeRenewal();
  return renewals_;
}

// One caller looks at a time. The disk may be slow, and nobody else waits for it.
void Endpoints::LookAtFiles() {
  if (!own_) return;
  {
    MutexLock lock(&mutex_);
    if (Now() < next_look_) return;
    next_look_ = absl::InfiniteDuration();
  }
  own_->Look();
  const int64_t renewals = own_->renewals();
  if (std::exchange(own_renewals_, renewals) != renewals) {
    Renew(own_->ForChannel({kPlacementRole}), own_->renewal_spread());
  }
  // Only now: the next one who looks may Renew with newer files.
  MutexLock lock(&mutex_);
  next_look_ = Now() + kFileLook;
}

void Endpoints::TakeRenewal() {
  if (!renewal_ || Now() < renewal_->due) return;
  credentials_ = std::move(renewal_->credentials);
  renewal_.reset();
  ++renewals_;
  channels_.assign(targets_.size(), nullptr);
}

}  // namespace berth::client
