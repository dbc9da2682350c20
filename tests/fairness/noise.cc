#include "tests/fairness/noise.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "placement/ground/uuid.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/credentials.h"
#include "tests/bench/requests.h"
#include "tests/fairness/requests.h"

namespace berth::fairness {

namespace pb = berth::placement::v1;
using bench::LoopOptions;
using bench::NextCall;

namespace {

constexpr int kNice = 19;
constexpr absl::Duration kNoiseCallMax = absl::Minutes(1);
constexpr int kClients = 64;
// Of all clients: more than the queues of commands and of workers have room for.
constexpr int kManyClaims = 5120;
constexpr int kManySearches = 1280;
constexpr int kExplainsInFlight = 1100;
constexpr int kReadsInFlight = 10'000;
constexpr int kStreamsOfConnection = 1000;
constexpr int64_t kFarAhead = 1'000'000'000;
constexpr int kExportsTried = 16;
constexpr int kUnreadBytesMax = 64 << 10;
constexpr absl::Duration kExportsEach = absl::Milliseconds(50);
constexpr int kNodes = 256;
constexpr int kChildren = 4;       // of each node
constexpr int kReportsAhead = 32;  // that are sent and not answered
// Numbers of trackers; that of the honest one is 2.
constexpr int kTracker = 1;
constexpr int kSilentTracker = 3;

// What came of the calls of this process.
class Tally {
 public:
  void Begun() {
    std::call_once(begun_, [] {
      std::printf("begun\n");
      std::fflush(stdout);
    });
  }
  void Add(const grpc::Status& status) {
    if (status.ok()) {
      ++answered_;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      ++refused_;
    } else {
      ++failed_;
    }
    if (status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_failure_.empty()) first_failure_ = status.error_message();
  }
  std::string Json() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return nlohmann::json{{"answered", answered_.load()},
                          {"refused", refused_.load()},
                          {"failed", failed_.load()},
                          {"first_failure", first_failure_}}
        .dump();
  }

 private:
  std::once_flag begun_;
  std::atomic<int64_t> answered_{0}, refused_{0}, failed_{0};
  std::mutex mutex_;
  std::string first_failure_;
};

// The consumer of an operation: another one in each process and in each operation.
std::string ConsumerUuid(int64_t number) {
  static const uint32_t process = std::random_device()();
  return absl::StrFormat("%08x-0000-4000-8000-%012x", process, number);
}

LoopOptions LoopOf(const NoiseSettings& settings, Tally* tally, const char* method, int in_flight,
                   int connections, std::function<std::string(int64_t)> request) {
  LoopOptions loop;
  loop.address = settings.address;
  loop.method = absl::StrCat("/berth.placement.v1.", method);
  loop.in_flight = in_flight;
  loop.connections = connections;
  loop.call_limit = kNoiseCallMax;
  loop.request = [tally, request = std::move(request)](int64_t number) {
    tally->Begun();
    return request(number);
  };
  loop.next = [tally](int64_t, const grpc::Status& status,
                      absl::string_view) -> absl::StatusOr<std::optional<NextCall>> {
    tally->Add(status);
    return std::nullopt;
  };
  return loop;
}

// Each claim that was granted is given back at once.
void GiveBack(int64_t first, Tally* tally, LoopOptions* loop) {
  const auto releasing = std::make_shared<std::set<int64_t>>();
  loop->next = [first, tally, releasing](
                   int64_t number, const grpc::Status& status,
                   absl::string_view) -> absl::StatusOr<std::optional<NextCall>> {
    tally->Add(status);
    if (releasing->erase(number) > 0 || !status.ok()) return std::nullopt;
    releasing->insert(number);
    return NextCall{"/berth.placement.v1.AllocationService/DeleteAllocations",
                    bench::ReleaseRequest(ConsumerUuid(first + number))};
  };
}

// Half of the clients name the host, the others leave it to placement where. `claims_open`,
// `searches_open`: how many they have open together.
void MakeClaims(const NoiseSettings& settings, int claims_open, int searches_open, Tally* tally) {
  constexpr int64_t kFirstSearch = int64_t{1} << 40;
  std::mt19937_64 random{std::random_device{}()};
  LoopOptions claims =
      LoopOf(settings, tally, "AllocationService/SetAllocations", claims_open, kClients / 2,
             [&](int64_t number) {
               const auto host = static_cast<int64_t>(random() % settings.hosts);
               return ClaimOn(bench::HostUuid(host), ConsumerUuid(number)).SerializeAsString();
             });
  GiveBack(0, tally, &claims);
  LoopOptions searches = LoopOf(
      settings, tally, "CandidateService/Claim", searches_open, kClients / 2, [&](int64_t number) {
        return ClaimOfOne(ConsumerUuid(kFirstSearch + number)).SerializeAsString();
      });
  GiveBack(kFirstSearch, tally, &searches);
  std::thread second([&searches] { bench::RunLoop(searches); });
  bench::RunLoop(claims);
  second.join();
}

// Each client claims as fast as it is answered.
void Claims(const NoiseSettings& settings, Tally* tally) {
  MakeClaims(settings, kClients / 2, kClients / 2, tally);
}
// Each client has a hundred claims open.
void ManyClaims(const NoiseSettings& settings, Tally* tally) {
  MakeClaims(settings, kManyClaims, kManySearches, tally);
}

void Explains(const NoiseSettings& settings, Tally* tally) {
  const std::string request = ExplanationOfAll().SerializeAsString();
  bench::RunLoop(LoopOf(settings, tally, "CandidateService/Explain", kExplainsInFlight,
                        kExplainsInFlight / kStreamsOfConnection + 1,
                        [&](int64_t) { return request; }));
}

void ReadsOfTheFuture(const NoiseSettings& settings, Tally* tally) {
  pb::GetRevisionRequest future;
  future.mutable_minimum_revision()->set_epoch(1);
  future.mutable_minimum_revision()->set_number(kFarAhead);
  const std::string request = future.SerializeAsString();
  bench::RunLoop(LoopOf(settings, tally, "LedgerService/GetRevision", kReadsInFlight,
                        kReadsInFlight / kStreamsOfConnection, [&](int64_t) { return request; }));
}

// An export whose messages nobody reads. Deletes itself when placement ends it.
class UnreadExport final : public grpc::ClientReadReactor<pb::ExportLedgerResponse> {
 public:
  UnreadExport(pb::LedgerService::Stub* stub, std::atomic<int>* open, Tally* tally)
      : open_(open), tally_(tally) {
    ++*open_;
    stub->async()->ExportLedger(&context_, &request_, this);
    StartCall();
  }
  void OnDone(const grpc::Status& status) override {
    tally_->Add(status);
    --*open_;
    delete this;
  }

 private:
  std::atomic<int>* const open_;
  Tally* const tally_;
  grpc::ClientContext context_;
  const pb::ExportLedgerRequest request_;
};

void Exports(const NoiseSettings& settings, Tally* tally) {
  // Else gRPC would take a whole export from placement before anybody reads it.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kUnreadBytesMax);
  const auto stub = pb::LedgerService::NewStub(
      grpc::CreateCustomChannel(settings.address, bench::LoadCredentials(), arguments));
  std::atomic<int> open{0};
  while (true) {
    while (open < kExportsTried) new UnreadExport(stub.get(), &open, tally);
    tally->Begun();
    absl::SleepFor(kExportsEach);
  }
}

// Snapshots of all nodes in turn, each on top of the last one that was acknowledged.
class Snapshots {
 public:
  // `is_silent`: sends nothing after its Hello.
  Snapshots(const NoiseSettings& settings, std::string host, int tracker, bool is_silent,
            Tally* tally)
      : tally_(tally),
        host_(std::move(host)),
        tracker_(tracker),
        is_silent_(is_silent),
        stub_(pb::ReportService::NewStub(
            grpc::CreateChannel(settings.address, bench::LoadCredentials()))),
        stream_(stub_->Session(&context_)) {}

  void Run() {
    const std::string incarnation = placement::Uuid::Random().ToString();
    if (!stream_->Write(HelloOf(host_, incarnation, tracker_, 0, kNodes))) return End();
    std::thread reader([this] { Read(); });
    for (int64_t number = 0; AwaitRoom(); ++number) {
      tally_->Begun();
      if (is_silent_) break;
      const int node = static_cast<int>(number % kNodes);
      pb::SessionRequest snapshot = SnapshotOf(tracker_, node, kChildren, number + 1);
      snapshot.mutable_report()->set_sequence(number + 1);
      SetBases(snapshot.mutable_report());
      if (!stream_->Write(snapshot)) break;
    }
    reader.join();
    End();
  }

 private:
  // Waits until placement has answered enough; false if the stream is over.
  bool AwaitRoom() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return over_ || (is_welcome_ && open_ < kReportsAhead); });
    ++open_;
    return !over_;
  }
  void SetBases(pb::Report* report) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (pb::WantedProvider& provider : *report->mutable_providers()) {
      const auto known = generations_.find(provider.uuid());
      if (known != generations_.end()) provider.set_base_generation(known->second);
    }
  }
  void Read() {
    pb::SessionResponse response;
    while (stream_->Read(&response)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      Learn(response);
      changed_.notify_all();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  void Learn(const pb::SessionResponse& response) {
    is_welcome_ |= response.has_welcome();
    if (response.has_ack()) tally_->Add(grpc::Status::OK);
    if (response.has_reject()) {
      tally_->Add({static_cast<grpc::StatusCode>(response.reject().status().code()),
                   response.reject().status().message()});
    }
    if (response.has_ack() || response.has_reject()) --open_;
    for (const auto& one : response.ack().generations()) {
      generations_[one.provider_uuid()] = one.generation();
    }
    for (const pb::Provider& one : response.reject().providers()) {
      generations_[one.uuid()] = one.generation();
    }
  }
  void End() { tally_->Add(stream_->Finish()); }

  Tally* const tally_;
  const std::string host_;
  const int tracker_;
  const bool is_silent_;
  grpc::ClientContext context_;
  const std::unique_ptr<pb::ReportService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<pb::SessionRequest, pb::SessionResponse>> stream_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool is_welcome_ = false;
  bool over_ = false;
  int open_ = 0;  // snapshots without an answer
  std::map<std::string, int64_t> generations_;
};

void Tracker(const NoiseSettings& settings, Tally* tally) {
  Snapshots(settings, "noise", kTracker, false, tally).Run();
}
void SilentTracker(const NoiseSettings& settings, Tally* tally) {
  Snapshots(settings, "silent", kSilentTracker, true, tally).Run();
}

using Noise = void (*)(const NoiseSettings&, Tally*);
constexpr std::array<Noise, 7> kNoises = {Claims,  ManyClaims, Explains,     ReadsOfTheFuture,
                                          Exports, Tracker,    SilentTracker};

}  // namespace

const std::vector<NoiseKind>& NoiseKinds() {
  static const auto* const kinds = new std::vector<NoiseKind>{
      {"claims", "scheduler/noise", "64 clients of another scheduler claim"},
      {"many_claims", "scheduler/noise", "64 clients of another scheduler have 6,400 claims open"},
      {"explains", "reader/explains", "a reader has 1,100 calls of Explain open"},
      {"future", "reader/future", "a reader has 10,000 reads of the future open"},
      {"exports", "reader/exports", "a reader opens exports and does not read them"},
      {"tracker", "tracker/noise", "a tracker sends snapshots of 256 nodes"},
      {"silent", "tracker/silent", "a tracker announces 256 nodes, and sends no snapshot"}};
  return *kinds;
}

void MakeNoise(const NoiseSettings& settings) {
  setpriority(PRIO_PROCESS, 0, kNice);  // threads that are begun from here on have it, too
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(static_cast<unsigned>(settings.seconds_max));
  auto* const tally = new Tally();  // the threads of the noise have it until the process ends
  for (size_t i = 0; i < kNoises.size(); ++i) {
    if (settings.kind == NoiseKinds()[i].name) {
      std::thread([settings, tally, i] { kNoises[i](settings, tally); }).detach();
    }
  }
  while (std::getchar() != EOF) continue;
  std::printf("%s\n", tally->Json().c_str());
  std::fflush(stdout);
  _exit(0);
}

}  // namespace berth::fairness
