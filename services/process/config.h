// Config: the settings of one process. The command line wins over the environment, the environment
// over one TOML file, and the file over the default.
//
// Every setting has one name: `--state-dir` on the command line, BERTH_STATE_DIR in the
// environment, `state-dir` or `state_dir` in the file. An unknown name on the command line or in
// the file is an error. An empty environment variable sets a text to the empty text, which can
// mean, for example, "no listener"; for other kinds of settings an empty variable counts as not
// set. Used once, at the start, by one thread.
#ifndef BERTH_SERVICES_PROCESS_CONFIG_H_
#define BERTH_SERVICES_PROCESS_CONFIG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth::services {

// One [[table]] of the file: each of its settings with the values in their order.
using ConfigTable = std::map<std::string, std::vector<std::string>>;

class Config {
 public:
  // What the process has to do after its settings were read.
  enum class Next {
    kStart,
    kCheckOnly,  // --check-config: print that the settings are valid, and end
    kEnd,        // --help or --version: the answer was printed
  };

  // If --config names no file, Parse reads `default_file`, provided that this file exists.
  Config(const std::string& program, const std::string& description,
         const std::string& default_file);
  ~Config();

  // Declares a setting. `name` is the flag's name without the dashes. `*target` holds the default,
  // and Parse assigns the value, so `*target` must live until Parse returns.
  void Add(const std::string& name, std::string* target, const std::string& description);
  void Add(const std::string& name, bool* target, const std::string& description);
  void Add(const std::string& name, int* target, const std::string& description);
  void Add(const std::string& name, int64_t* target, const std::string& description);
  void Add(const std::string& name, double* target, const std::string& description);
  // Declares a setting whose value has a unit: "5s", "100ms", "1h30m".
  void Add(const std::string& name, absl::Duration* target, const std::string& description);
  // Declares a setting with several values: the flag may be repeated, and the file has an array. In
  // a flag and in the environment variable, commas separate values.
  void Add(const std::string& name, std::vector<std::string>* target,
           const std::string& description);
  // Declares a setting whose value must be one of `choices`.
  void AddChoice(const std::string& name, const std::set<std::string>& choices, std::string* target,
                 const std::string& description);
  // Declares the tables [[name]] of the file, whose settings are `keys`. These settings have no
  // flags.
  void AddTables(const std::string& name, const std::set<std::string>& keys,
                 std::vector<ConfigTable>* target);

  // Reads the command line, the environment and the file. Fails with kInvalidArgument for an
  // unknown setting, an ill-formed value or a file that cannot be read; the error message is for
  // the person who wrote the setting, and does not have the value, which may be a secret.
  absl::StatusOr<Next> Parse(int argc, const char* const* argv);
  // The file that Parse read. Empty if it read none.
  const std::string& file() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_CONFIG_H_
