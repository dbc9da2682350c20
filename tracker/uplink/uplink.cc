#include "tracker/uplink/uplink.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "tracker/ground/boot_clock.h"
#include "tracker/uplink/session.h"

namespace berth::tracker {
namespace {

UplinkOptions WithChannel(UplinkOptions options) {
  if (options.channel == nullptr) options.channel = Uplink::OpenChannel(options);
  return options;
}

}  // namespace

std::shared_ptr<grpc::Channel> Uplink::OpenChannel(const Options& options) {
  grpc::ChannelArguments arguments;
  // Keepalive finds out that placement has vanished without closing the connection. It must do so
  // before the lease that placement keeps for the tracker expires.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  // For how long an attempt to connect may last. When placement comes back, thousands of trackers
  // connect at once, and a handshake that waits for those of others should not be begun anew.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 30000);
  // Without this, channels to one target share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Placement limits the sizes of its messages by an option that the tracker does not know.
  arguments.SetMaxReceiveMessageSize(options.received_bytes_max);
  return grpc::CreateCustomChannel(
      options.target,
      options.credentials == nullptr ? grpc::InsecureChannelCredentials() : options.credentials,
      arguments);
}

Uplink::Uplink(Options options, std::vector<Node*> nodes, Callbacks callbacks)
    : owns_channel_(options.channel == nullptr),
      options_(WithChannel(std::move(options))),
      nodes_(std::move(nodes)),
      callbacks_(std::move(callbacks)),
      counts_(std::make_unique<UplinkCounts>()),
      backoff_(options_.backoff, options_.seed),
      failing_since_(BootClock::now()),
      random_(options_.seed) {
  MutexLock lock(&mutex_);
  ConnectLocked();
}

// The last channel goes with the uplink, so its last reference goes on the caller's thread. A thread
// of gRPC would wait for itself if it dropped the last channel of the process.
Uplink::~Uplink() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  if (session_ != nullptr) session_->Stop();
  alarm_.Hurry();
  while (session_ != nullptr || waiting_) {
    changed_.WaitUntil(&mutex_, BootClock::now() + std::chrono::hours(1));
  }
}

void Uplink::Notify() {
  MutexLock lock(&mutex_);
  if (session_ != nullptr) session_->Notify();
}

void Uplink::Tick() {
  MutexLock lock(&mutex_);
  if (session_ != nullptr) session_->Tick();
  if (waiting_) alarm_.HurryIfLate();
  if (renewed_ == nullptr || session_ == nullptr || renewing_) return;
  if (BootClock::now() < renewal_due_) return;
  renewing_ = true;
  session_->Stop();
}

void Uplink::Renew(std::shared_ptr<grpc::ChannelCredentials> credentials,
                   std::chrono::nanoseconds within) {
  MutexLock lock(&mutex_);
  renewed_ = std::move(credentials);
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(0, within.count()));
  renewal_due_ = BootClock::now() + std::chrono::nanoseconds(random_() % (limit + 1));
}

void Uplink::Greet() {
  MutexLock lock(&mutex_);
  if (session_ != nullptr) session_->Greet();
}

void Uplink::SetDisabled(bool disabled) {
  counts_->disabled = disabled;
  Notify();
}

void Uplink::AuditDone(const std::string& order_id) {
  MutexLock lock(&mutex_);
  if (session_ != nullptr) session_->AuditDone(order_id);
}

Uplink::Status Uplink::status() const {
  MutexLock lock(&mutex_);
  const bool connected = session_ != nullptr && session_->welcomed();
  return {connected ? State::kConnected : state_, error_, counts_->sessions, counts_->heartbeats,
          counts_->conflicts};
}

void Uplink::ConnectLocked() {
  if (renewed_ != nullptr) {
    options_.credentials = std::exchange(renewed_, nullptr);
    options_.channel = OpenChannel(options_);
  }
  // The waits of the uplink are enough: those of a shared channel would come on top of them.
  grpc::experimental::ChannelResetConnectionBackoff(options_.channel.get());
  session_ = std::make_unique<UplinkSession>(options_, nodes_, callbacks_, counts_.get(),
                                             [this](const UplinkEnd& end) { Ended(end); });
  session_->Start();
}

void Uplink::Ended(const UplinkEnd& end) {
  for (Node* const node : nodes_) node->Disconnect();
  bool logs = false;
  {
    MutexLock lock(&mutex_);
    if (end.welcomed) failures_ = 0;
    // Only a session that lasted for a while resets the waits. A session that ended soon after its
    // Welcome does not.
    if (end.welcomed && end.lasted) {
      backoff_.Reset();
      failing_since_ = BootClock::now();
    }
    // Of several failures in a row, logs the first and then every tenth one (T-199).
    counts_->away = counts_->away || !renewing_;
    logs = !stopping_ && (end.fenced || end.deleted || (!renewing_ && failures_++ % 10 == 0));
  }
  // The destructor waits until session_ is null, so the callbacks still exist.
  if (logs && end.fenced) {
    callbacks_.gave_up(end.status, "a newer tracker process of this host has taken over");
  } else if (logs && end.deleted) {
    callbacks_.gave_up(end.status, "placement has deleted the service record: restart the tracker");
  } else if (logs) {
    callbacks_.log(end.status, "there is no session with placement");
  }
  MutexLock lock(&mutex_);
  if (!renewing_) error_ = std::string(end.status.message());
  session_.reset();
  if (end.fenced || end.deleted) {
    state_ = end.fenced ? State::kFenced : State::kDeleted;
  } else if (!stopping_) {
    waiting_ = true;
    alarm_.Set(std::chrono::milliseconds(0),
               [this, rests = !renewing_] { rests ? Rest() : Retry(); });
  }
  renewing_ = false;
  changed_.NotifyAll();
}

std::chrono::milliseconds Uplink::NextWait() {
  return backoff_.Next(
      std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - failing_since_));
}

// A channel that could not connect lets calls fail until it has connected, and tries that again at
// times of its own. A connection that no session uses yet would keep others waiting at placement. So
// a new channel takes its place, which does nothing until the next session. This is not done by
// Ended(), because it runs on a thread that may have to end with the channel.
void Uplink::Rest() {
  MutexLock lock(&mutex_);
  if (owns_channel_ && options_.channel->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    options_.channel = OpenChannel(options_);
  }
  waiting_ = !stopping_;
  if (waiting_) alarm_.Set(NextWait(), [this] { Retry(); });
  changed_.NotifyAll();
}

void Uplink::Retry() {
  MutexLock lock(&mutex_);
  waiting_ = false;
  if (!stopping_) ConnectLocked();
  changed_.NotifyAll();
}

}  // namespace berth::tracker
