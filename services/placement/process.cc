#include "services/placement/process.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/service_type.h"
#include "placement/ground/boot_clock.h"
#include "placement/ledger/ledger.h"
#include "placement/store/cluster.h"
#include "placement/store/database.h"
#include "placement/store/database_watch.h"
#include "placement/values/standard_data.h"
#include "services/api/edge.h"
#include "services/api/export_places.h"
#include "services/api/import_place.h"
#include "services/api/services.h"
#include "services/log/log.h"
#include "services/placement/access_file.h"
#include "services/placement/metrics.h"
#include "services/placement/position_keeper.h"
#include "services/process/loops.h"
#include "services/process/metrics.h"
#include "services/process/server.h"
#include "services/process/workers.h"
#include "services/report/liveness_recorder.h"
#include "services/report/sessions.h"
#include "services/watch/hub.h"

namespace berth::services {
namespace {

using placement::Cluster;
using placement::Database;
using placement::Ledger;

constexpr char kDatabaseName[] = "berth";
constexpr absl::Duration kTimerStep = absl::Milliseconds(20);
constexpr absl::Duration kSessionStep = absl::Seconds(1);
constexpr absl::Duration kStandardNamesWithin = absl::Seconds(30);
constexpr absl::Duration kOperatorCallMax = absl::Minutes(2);  // one statement, of a self-check
constexpr int kDatabaseQueueMax = 16;
constexpr absl::Duration kStopWithin = absl::Seconds(5);

AccessLog AccessLogOf(const std::string& name) {
  if (name == "none") return AccessLog::kNone;
  return name == "all" ? AccessLog::kAll : AccessLog::kFailures;
}

placement::LedgerRoads LedgerRoadsOf(const std::string& name) {
  if (name == "long") return placement::LedgerRoads::kLong;
  return name == "short" ? placement::LedgerRoads::kShortFirst : placement::LedgerRoads::kByHistory;
}

// The directory of the private PostgreSQL and of the position file. Empty: the process has no state
// directory.
std::string StateDirectoryOf(const PlacementOptions& options) {
  if (!options.state_dir.empty() || !options.database.empty()) return options.state_dir;
  return DefaultStateDirectory("berth-placement");
}

placement::LedgerOptions LedgerOptionsOf(const PlacementOptions& options, const std::string& url) {
  placement::LedgerOptions ledger;
  ledger.database_url = url;
  const std::string directory = StateDirectoryOf(options);
  if (!directory.empty()) ledger.position_path = directory + "/position";
  ledger.queue_max = options.command_queue_max;
  ledger.staleness_max = options.staleness_max;
  ledger.requests_kept = options.request_keep;
  ledger.roads = LedgerRoadsOf(options.ledger_roads);
  ledger.tell_operator = [](const std::string& words) { Log(LogLevel::kWarning, words); };
  return ledger;
}

// Creates the database in the private cluster, unless the cluster has it already.
absl::Status EnsureDatabase(const Cluster& cluster) {
  if (Database::Connect(cluster.Url(kDatabaseName), "berth-placement start").ok()) {
    return absl::OkStatus();
  }
  BERTH_ASSIGN_OR_RETURN(const auto connected,
                         Database::Connect(cluster.Url("postgres"), "berth-placement start"));
  return connected->Run(absl::StrCat("CREATE DATABASE ", kDatabaseName), nullptr);
}

// Adds the standard names that the ledger lacks (P-31, P-32), and waits until they are committed.
absl::Status EnsureStandardNames(Ledger* ledger) {
  placement::EnsureStandardNames names;
  for (const absl::string_view name : placement::StandardClasses())
    names.classes.emplace_back(name);
  for (const absl::string_view name : placement::StandardTraits()) names.traits.emplace_back(name);
  placement::Command command;
  command.actor = std::string(placement::kProcessActor);
  command.body = std::move(names);
  std::promise<absl::Status> settled;
  ledger->Submit(
      std::move(command), placement::BootNow() + kStandardNamesWithin,
      std::make_shared<std::atomic<bool>>(false),
      [&settled](const placement::Decision& decision) { settled.set_value(decision.status); });
  return settled.get_future().get();
}

}  // namespace

class PlacementProcess::Impl {
 public:
  explicit Impl(const PlacementOptions& given) : options(given) {}

  absl::Status OpenDatabase() {
    url = options.database;
    const std::string directory = StateDirectoryOf(options);
    if (!url.empty()) {
      std::error_code error;
      if (!directory.empty()) std::filesystem::create_directories(directory, error);
      if (!directory.empty() && !error) return absl::OkStatus();
      Log(LogLevel::kWarning,
          absl::StrCat(directory.empty() ? "there is no --state-dir" : error.message(),
                       ": if the database is restored while this process is down, the next start "
                       "does not notice it"));
      return absl::OkStatus();
    }
    placement::ClusterOptions private_cluster;
    private_cluster.directory = directory;
    private_cluster.run_as = options.cluster_user;
    private_cluster.settings = options.cluster_settings;
    private_cluster.tell_operator = [](const std::string& words) { Log(LogLevel::kError, words); };
    BERTH_ASSIGN_OR_RETURN(cluster, Cluster::Start(private_cluster));
    url = cluster->Url(kDatabaseName);
    return EnsureDatabase(*cluster);
  }

  absl::Status OpenLedger() {
    const placement::LedgerOptions ledger_options = LedgerOptionsOf(options, url);
    BERTH_ASSIGN_OR_RETURN(ledger, Ledger::Open(ledger_options));
    keeper = std::make_unique<PositionKeeper>(ledger_options.position_path,
                                              ledger_options.tell_operator);
    follower = std::make_unique<Loop>("follower", [this] { return pace.After(ledger->Follow()); });
    timer = std::make_unique<Loop>("timer", [this] { return Tick(); });
    return absl::OkStatus();
  }

  void MakeServices() {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int threads = options.workers > 0 ? options.workers : Workers::CountFor(cores);
    const int urgent = Workers::UrgentOf(threads);
    workers =
        std::make_unique<Workers>(std::max(threads - urgent, 1), options.worker_queue_max, urgent);
    database_worker = std::make_unique<Workers>(1, kDatabaseQueueMax);
    epoch_worker = std::make_unique<Workers>(1, kDatabaseQueueMax);
    recorder = std::make_unique<LivenessRecorder>(ledger.get(), url, options.service_down_time);
    SessionSettings settings;
    settings.enable_new_services = options.enable_new_services;
    settings.policy = &policy;
    sessions =
        std::make_unique<ReportSessions>(ledger.get(), workers.get(), recorder.get(), settings);
    watches = std::make_unique<WatchHub>(ledger.get(), workers.get(), url);
    edge = std::make_unique<Edge>(ledger.get(), workers.get(), database_worker.get(), &metrics,
                                  AccessLogOf(options.access_log), &policy);
    const placement::SearchBudget budget{options.candidates_max, options.search_steps_max};
    services.push_back(MakeProviderService(edge.get()));
    services.push_back(MakeInventoryService(edge.get()));
    services.push_back(MakeAssociationService(edge.get()));
    services.push_back(MakeAuditService(edge.get(), options.stale_migration_age));
    services.push_back(MakeCatalogService(edge.get()));
    services.push_back(MakeAllocationService(edge.get()));
    services.push_back(MakeUsageService(edge.get()));
    services.push_back(MakeCandidateService(edge.get(), budget));
    services.push_back(MakeLedgerService(edge.get(), url, &database_watch, &exports, &imports,
                                         epoch_worker.get()));
    services.push_back(MakeFleetService(edge.get(), sessions.get()));
    services.push_back(MakeReportService(sessions.get()));
    services.push_back(MakeConsumerService(edge.get()));
    services.push_back(MakeHostService(edge.get(), sessions.get()));
    services.push_back(MakeHostStateService(edge.get(), sessions.get(), budget));
    services.push_back(MakeInstanceService(edge.get()));
    services.push_back(MakeServerGroupService(edge.get()));
    services.push_back(MakeAggregateService(edge.get()));
    services.push_back(MakeReshapeService(edge.get()));
    services.push_back(MakeWatchService(watches.get()));
  }

  absl::Status StartServer() {
    std::vector<grpc::Service*> registered;
    for (const auto& service : services) registered.push_back(service.get());
    BERTH_ASSIGN_OR_RETURN(server, Server::Start(options, registered, tls.get(), &policy));
    MeasureConnections(server->connections(), &metrics);
    if (tls != nullptr) MeasureTls(tls.get(), &metrics);
    MeasureAccess(&policy, &metrics);
    MeasurePlacement(ledger.get(), workers.get(), sessions.get(), options.stale_migration_age,
                     &metrics);
    metrics.AddSource([this](Samples* samples) { watches->Measure(samples); });
    if (!options.metrics_listen.empty()) {
      BERTH_ASSIGN_OR_RETURN(const auto address, metrics.Listen(options.metrics_listen));
      Log(LogLevel::kInfo, "metrics", {{"address", address}});
    }
    ShowHealth();
    return absl::OkStatus();
  }

  // One step of the timer. It lets the ledger check its deadlines, ends calls to the database that
  // hang, gives the trackers' streams, watches, exports and imports their step, and sets the
  // health.
  absl::Duration Tick() {
    ledger->Watchdog();
    const placement::BootTime now = placement::BootNow();
    if (!serving.load(std::memory_order_acquire) || now < next_sessions) return kTimerStep;
    next_sessions = now + kSessionStep;
    database_watch.ShutIfSlow(kOperatorCallMax);
    recorder->ShutIfSlow();
    sessions->Tick(now);
    watches->Tick(now);
    exports.Tick(now);
    imports.Tick(now);
    ShowHealth();
    KeepPosition(now);
    return kTimerStep;
  }

  void KeepPosition(placement::BootTime now) {
    if (const auto position = ledger->PositionToKeep()) keeper->Keep(*position, now);
  }

  // Sets the health that is served: the process (service "") and its gRPC services are SERVING if
  // reads are answered, the service "writes" only if writes are answered, too.
  void ShowHealth() {
    const bool reads = ledger->Fresh().ok();
    for (const char* name :
         {"", "berth.placement.v1.ProviderService", "berth.placement.v1.InventoryService",
          "berth.placement.v1.AssociationService", "berth.placement.v1.CatalogService",
          "berth.placement.v1.AllocationService", "berth.placement.v1.UsageService",
          "berth.placement.v1.CandidateService", "berth.placement.v1.LedgerService",
          "berth.placement.v1.FleetService", "berth.placement.v1.ReportService",
          "berth.placement.v1.ConsumerService", "berth.placement.v1.WatchService"}) {
      server->health().Set(name, reads);
    }
    server->health().Set("writes", reads && ledger->health().writable);
  }

  absl::Status OpenCertificates() {
    BERTH_ASSIGN_OR_RETURN(tls, OpenTls(options, PlacementCertificateUse()));
    certificates = FollowCertificates(tls.get());
    return absl::OkStatus();
  }

  const PlacementOptions options;
  std::unique_ptr<Tls> tls;  // null: no TLS
  AccessPolicy policy;
  AccessFile access_file{options.access_file, &policy};
  std::string url;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<PositionKeeper> keeper;
  FollowPace pace;
  Metrics metrics{"placement"};
  std::unique_ptr<Loop> follower;
  std::unique_ptr<Workers> workers;
  // `database_worker` runs self-checks and the search for lost changes, which may wait for the
  // database for minutes. It is separate from `workers`, so that searches never wait for such
  // calls, and from `epoch_worker`, so that a new epoch does not. `database_watch` ends calls that
  // hang.
  placement::DatabaseWatch database_watch;
  std::unique_ptr<Workers> database_worker;
  std::unique_ptr<Workers> epoch_worker;
  std::unique_ptr<LivenessRecorder> recorder;
  std::unique_ptr<ReportSessions> sessions;
  std::unique_ptr<WatchHub> watches;
  ExportPlaces exports;
  ImportPlace imports;
  std::unique_ptr<Edge> edge;
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<Server> server;
  std::atomic<bool> serving{false};  // true when all members above are set
  placement::BootTime next_sessions = -absl::InfiniteDuration();
  std::unique_ptr<Loop> timer;
  std::unique_ptr<Loop> liveness;
  std::unique_ptr<Loop> certificates;
};

PlacementProcess::PlacementProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PlacementProcess::~PlacementProcess() {
  impl_->metrics.StopListening();  // first: a reading uses parts that end below
  impl_->certificates.reset();
  impl_->liveness.reset();  // before the timer, which ends calls that hang
  impl_->timer.reset();
  impl_->database_watch.Close();
  if (impl_->keeper != nullptr) {
    impl_->ledger->Stop(placement::BootNow() + kStopWithin);
    impl_->follower.reset();  // it gives batches to parts that end below
    impl_->KeepPosition(placement::BootNow());
    if (!impl_->keeper->Stop(placement::BootNow() + kStopWithin)) {
      Log(LogLevel::kWarning,
          "the newest position is not kept, because the state directory does not answer");
    }
  }
  impl_->server.reset();
  impl_->services.clear();
  impl_->workers.reset();  // its work may use all parts below
  impl_->database_worker.reset();
  impl_->epoch_worker.reset();
  impl_->edge.reset();
  impl_->watches.reset();
  impl_->sessions.reset();
  impl_->recorder.reset();
}

absl::StatusOr<std::unique_ptr<PlacementProcess>> PlacementProcess::Start(
    const PlacementOptions& options) {
  std::unique_ptr<PlacementProcess> process(new PlacementProcess(std::make_unique<Impl>(options)));
  Impl& impl = *process->impl_;
  BERTH_RETURN_IF_ERROR(impl.OpenCertificates());
  BERTH_RETURN_IF_ERROR(impl.access_file.Read(impl.tls != nullptr));
  BERTH_RETURN_IF_ERROR(impl.OpenDatabase());
  BERTH_RETURN_IF_ERROR(impl.OpenLedger());
  const absl::Status named = EnsureStandardNames(impl.ledger.get());
  // Names cannot be added while the ledger waits for an operator to begin a new epoch. The process
  // then serves reads nevertheless.
  if (!named.ok() && !impl.ledger->health().recovery_required) return named;
  impl.MakeServices();
  BERTH_RETURN_IF_ERROR(impl.StartServer());
  impl.serving.store(true, std::memory_order_release);
  impl.liveness = std::make_unique<Loop>("liveness", [&impl] { return impl.recorder->Step(); });
  return process;
}

const std::vector<std::string>& PlacementProcess::addresses() const {
  return impl_->server->addresses();
}

absl::StatusOr<absl::Duration> PlacementProcess::TendDatabase(placement::BootTime now) {
  if (impl_->cluster == nullptr) return absl::InfiniteDuration();
  return impl_->cluster->Tend(now);
}

void PlacementProcess::ReadAccessFile() { impl_->access_file.ReadAgain(); }

void PlacementProcess::LookAtCertificates() {
  if (impl_->tls != nullptr) impl_->tls->Look();
}

bool PlacementProcess::Drain() {
  const bool all_done = impl_->server->Drain([this] {
    impl_->sessions->EndAll();
    impl_->watches->EndAll();
    impl_->imports.EndAll();
  });
  impl_->liveness.reset();
  impl_->recorder->RemoveHeartbeat();
  return all_done;
}

}  // namespace berth::services
