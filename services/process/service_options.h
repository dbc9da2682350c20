// ServiceOptions: the settings that both services have.
#ifndef BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_
#define BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_

#include <string>

#include "services/process/config.h"
#include "services/process/server.h"

namespace berth::services {

struct ServiceOptions : ServerOptions {
  std::string metrics_listen;  // empty: no metrics
  std::string log_format = "json";
  std::string log_level = "info";
};

// Declares the settings of ServiceOptions that both services offer. `options` must live until
// Config::Parse returns.
void AddServiceOptions(ServiceOptions* options, Config* config);

// /var/lib/PROGRAM for root, else a directory under the user's state home.
std::string DefaultStateDirectory(const std::string& program);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_
