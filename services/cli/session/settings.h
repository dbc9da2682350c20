// Settings: the options that every command has. A flag wins over the environment, the environment
// over the settings file, and the file over the default.
//
// The file is TOML with the long names of the flags, for example `endpoint = "10.0.0.5:7310"`. An
// unknown name in the file is an error. An environment variable that is empty is ignored. Pure,
// except for the functions that read the environment and files.
#ifndef BERTH_SERVICES_CLI_SESSION_SETTINGS_H_
#define BERTH_SERVICES_CLI_SESSION_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/client/cpp/own_certificate.h"

namespace berth::cli {

enum class Format { kTable, kJson, kName };

struct Settings {
  std::string endpoint = "127.0.0.1:7310";
  client::TlsSettings tls;
  Format format = Format::kTable;
  std::optional<absl::Duration> timeout;  // absent: 10 s, and no timeout for streams
  std::string request_id;                 // empty: each write gets a random one
  bool colour = true;                     // used only if the output is a terminal
  bool bars = false;                      // show bars even if the output is no terminal
  std::vector<std::string> columns;
  std::string sort;
};

// The values of settings by name.
using Said = std::map<std::string, std::string>;

// Returns the settings that environment variables set: one variable for each setting, for example
// BERTH_ENDPOINT, and NO_COLOR.
Said SaidByEnvironment();
// Returns the settings in the file `path`; none if the file does not exist. kInvalidArgument if the
// file is not TOML or if one of its values has a wrong type.
absl::StatusOr<Said> SaidByFile(const std::string& path);
// Returns what the settings of a server say to a program that calls it as that server does, with the
// server's own certificate: "endpoint", which is the server's first address that can be dialled, the
// settings of TLS, and nothing else. They come from the variables of the environment with which the
// server runs, then from its settings file: the one that BERTH_CONFIG names, else `path`. A file
// that does not exist says nothing, and flags of the server are not known. kInvalidArgument like
// SaidByFile.
absl::StatusOr<Said> SaidByServer(const std::string& path);
// The path of the settings file: $XDG_CONFIG_HOME/berth/config.toml or, without XDG_CONFIG_HOME,
// ~/.config/berth/config.toml.
std::string SettingsFile();

// Makes the settings from the three sources. kInvalidArgument for an unknown name or an invalid
// value.
absl::StatusOr<Settings> Settle(const Said& flags, const Said& environment, const Said& file);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_SETTINGS_H_
