// Settings: what holds for every command: flag, then environment, then file, then the default.
//
// The file is TOML with the flags' long names: `endpoint = "10.0.0.5:7310"`. An unknown name there is
// an error. An empty environment variable counts as not set. Pure but for the two readers.
#ifndef BERTH_SERVICES_CLI_SESSION_SETTINGS_H_
#define BERTH_SERVICES_CLI_SESSION_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::cli {

enum class Format { kTable, kJson, kName };

struct Settings {
  std::string endpoint = "127.0.0.1:7310";
  Format format = Format::kTable;
  std::optional<absl::Duration> timeout;  // absent: 10 s, and none for streams
  std::string request_id;                 // empty: each write gets a random one
  bool colour = true;                     // where the output is a terminal
  bool bars = false;                      // also where it is none
  std::vector<std::string> columns;
  std::string sort;
};

// Values by the name of the setting.
using Said = std::map<std::string, std::string>;

// BERTH_ENDPOINT and so on for every setting, and NO_COLOR.
Said SaidByEnvironment();
// What the file at `path` says; nothing if it is not there. kInvalidArgument for one that is no TOML
// or has a value that no setting has.
absl::StatusOr<Said> SaidByFile(const std::string& path);
// $XDG_CONFIG_HOME/berth/config.toml, else ~/.config/berth/config.toml.
std::string SettingsFile();

// kInvalidArgument for an unknown name or a value that does not read.
absl::StatusOr<Settings> Settle(const Said& flags, const Said& environment, const Said& file);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_SETTINGS_H_
