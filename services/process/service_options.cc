#include "services/process/service_options.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace berth::services {

void AddServiceOptions(ServiceOptions* options, Config* config) {
  config->Add("listen", &options->listen,
              "Address on which to serve gRPC: HOST:PORT or unix:PATH; repeatable");
  config->Add("insecure-listen", &options->insecure_listen,
              "Allow addresses that other machines can reach, although callers are not identified");
  config->Add("address-file", &options->address_file,
              "File to which to write the addresses on which gRPC is served");
  config->Add("metrics-listen", &options->metrics_listen,
              "Address on which to serve Prometheus metrics: HOST:PORT; empty: none");
  config->AddChoice("log-format", {"text", "json"}, &options->log_format,
                    "The format of log lines");
  config->AddChoice("log-level", {"debug", "info", "warning", "error"}, &options->log_level,
                    "Write log messages of this level and above");
  config->Add("drain-max", &options->drain_max,
              "On SIGTERM: how much time begun calls get to finish");
}

std::string DefaultStateDirectory(const std::string& program) {
  if (geteuid() == 0) return absl::StrCat("/var/lib/", program);
  const char* state_home = std::getenv("XDG_STATE_HOME");
  if (state_home != nullptr && *state_home == '/') return absl::StrCat(state_home, "/", program);
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "/tmp" : home, "/.local/state/", program);
}

}  // namespace berth::services
