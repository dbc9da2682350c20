// Settings: the options of every command. A flag comes first, then the environment, then the file,
// then the default.
//
// The file is TOML with the long names of the flags: `endpoint = "10.0.0.5:7310"`. An unknown name
// in it is an error. An empty environment variable is ignored. Pure, except for the two functions
// that read the environment and the file.
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
  std::optional<absl::Duration> timeout;  // absent: 10 s, and no timeout for streams
  std::string request_id;                 // empty: each write gets a random one
  bool colour = true;                     // used only if the output is a terminal
  bool bars = false;                      // show bars even if the output is no terminal
  std::vector<std::string> columns;
  std::string sort;
};

// The values of settings by name.
using Said = std::map<std::string, std::string>;

// The settings in the environment: BERTH_ENDPOINT and so on for every setting, and NO_COLOR.
Said SaidByEnvironment();
// The settings in the file `path`; empty if there is no such file. kInvalidArgument if the file is
// not TOML or has a value of a wrong type.
absl::StatusOr<Said> SaidByFile(const std::string& path);
// The path of the settings file: $XDG_CONFIG_HOME/berth/config.toml or, without XDG_CONFIG_HOME,
// ~/.config/berth/config.toml.
std::string SettingsFile();

// Fills the settings from `said`. kInvalidArgument for an unknown name or an invalid value.
absl::StatusOr<Settings> Settle(const Said& flags, const Said& environment, const Said& file);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_SETTINGS_H_
