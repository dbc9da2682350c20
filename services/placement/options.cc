#include "services/placement/options.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/status_macros.h"
#include "services/placement/access_file.h"

namespace berth::services {
namespace {

void AddStorage(PlacementOptions* options, Config* config) {
  config->Add("database", &options->database,
              "The PostgreSQL to use: postgresql://...; empty: a private one under --state-dir");
  config->Add(
      "state-dir", &options->state_dir,
      absl::StrCat("Directory of the private PostgreSQL, and of a file from which the next start "
                   "sees whether the database was restored; default: ",
                   DefaultStateDirectory("berth-placement"), ", but none if --database is given"));
  config->Add("cluster-user", &options->cluster_user,
              "User that runs the private PostgreSQL when this process is root");
  config->Add("cluster-settings", &options->cluster_settings,
              "A setting of the private PostgreSQL: NAME=VALUE; repeatable");
}

void AddLimits(PlacementOptions* options, Config* config) {
  config->Add(
      "workers", &options->workers,
      "Threads for searches, long lists, claims and trackers, 2 at least, of which half do claims "
      "and trackers alone; 0: the number of cores minus one");
  config->Add("worker-queue-max", &options->worker_queue_max,
              "How many searches and lists may wait for a thread");
  config->Add("command-queue-max", &options->command_queue_max,
              "How many writes may wait: of calls, of trackers, and imports");
  config->Add("streams-max", &options->streams_max,
              "How many calls one connection may have open at a time");
  config->Add("message-mib-max", &options->message_mib_max, "Largest message, in MiB");
  config->Add("candidates-max", &options->candidates_max,
              "How many candidates one search may find");
  config->Add("search-steps-max", &options->search_steps_max,
              "How many steps one search may take (its work budget)");
  config->Add("staleness-max", &options->staleness_max,
              "Refuse reads if the database last answered longer ago than this");
  config->Add(
      "request-keep", &options->request_keep,
      "How long request ids and their answers are kept, up to 168h; rounded up to whole hours");
  config->Add("service-down-time", &options->service_down_time,
              "A tracker counts as down if it sent nothing for this long");
  config->Add("enable-new-services", &options->enable_new_services,
              "Whether new allocations are made on a new host before an operator has enabled its "
              "service");
  config->Add("stale-migration-age", &options->stale_migration_age,
              "A migration in progress counts as stale if its record did not change for this long");
  config->Add(
      "drain-delay", &options->drain_delay,
      "On SIGTERM: how long calls are still accepted after health checks report NOT_SERVING");
}

struct Bound {
  const char* name;
  int64_t value;
  int64_t min;
  int64_t max;
  const char* unit = "";
};

}  // namespace

void AddPlacementOptions(PlacementOptions* options, Config* config) {
  AddServiceOptions(options, config);
  AddStorage(options, config);
  config->Add("access-file", &options->access_file,
              absl::StrCat("TOML file of what identities may do, read again at SIGHUP; default: ",
                           kDefaultAccessFile, ", if it exists"));
  config->AddChoice("access-log", {"none", "failures", "all"}, &options->access_log,
                    "Which calls are logged; failures: those that failed, one a second for each "
                    "caller and method. Callers who are refused are always logged, one call a "
                    "second for each caller and reason");
  config->AddChoice("ledger-roads", {"auto", "long", "short"}, &options->ledger_roads,
                    "How writes go to the database: long: locked first, in two round trips; short: "
                    "compared under the lock, in one; auto: short while no other process writes");
  AddLimits(options, config);
}

client::CertificateUse PlacementCertificateUse() {
  client::CertificateUse use;
  use.role = client::kPlacementRole;
  use.server = true;
  return use;
}

absl::Status CheckPlacementOptions(const PlacementOptions& options) {
  const Bound bounds[] = {
      {"workers", options.workers, 0, 1024},
      {"worker-queue-max", options.worker_queue_max, 1, 1'000'000},
      {"command-queue-max", options.command_queue_max, 1, 1'000'000},
      {"streams-max", options.streams_max, 1, 1'000'000},
      {"message-mib-max", options.message_mib_max, 1, 1024},
      {"candidates-max", options.candidates_max, 1, 100'000'000},
      {"search-steps-max", options.search_steps_max, 1, 1'000'000'000'000},
      {"staleness-max", absl::ToInt64Milliseconds(options.staleness_max), 200, 3'600'000, " ms"},
      {"request-keep", absl::ToInt64Seconds(options.request_keep), 60, 7 * 86'400, " s"},
      {"service-down-time", absl::ToInt64Milliseconds(options.service_down_time), 100, 86'400'000,
       " ms"},
      {"stale-migration-age", absl::ToInt64Seconds(options.stale_migration_age), 1, 366 * 86'400,
       " s"},
      {"drain-delay", absl::ToInt64Milliseconds(options.drain_delay), 0, 3'600'000, " ms"},
      {"drain-max", absl::ToInt64Milliseconds(options.drain_max), 0, 3'600'000, " ms"},
  };
  for (const Bound& bound : bounds) {
    if (bound.value < bound.min || bound.value > bound.max) {
      return absl::InvalidArgumentError(absl::StrCat("--", bound.name, " is ", bound.value,
                                                     bound.unit, ", but must be ", bound.min,
                                                     bound.unit, " to ", bound.max, bound.unit));
    }
  }
  if (!options.database.empty() && !absl::StartsWith(options.database, "postgresql://") &&
      !absl::StartsWith(options.database, "postgres://")) {
    return absl::InvalidArgumentError("--database must begin with postgresql://");
  }
  BERTH_RETURN_IF_ERROR(CheckTls(options.tls, PlacementCertificateUse()));
  BERTH_RETURN_IF_ERROR(LoadRules(options.access_file).status());
  BERTH_RETURN_IF_ERROR(CheckListeners(options));
  return CheckMetricsListener(options);
}

}  // namespace berth::services
