// Config: the settings of one process: flag, then environment, then one TOML file, then the
// default.
//
// Every setting has one name: `--state-dir` on the command line, BERTH_STATE_DIR in the
// environment, `state-dir` or `state_dir` in the file. An unknown name, in the file too, is an
// error. An empty environment variable sets a text to the empty one, e.g. "no listener"; for other
// kinds it counts as not set. Used once, at start, by one thread.
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

// One [[table]] of the file: its settings, each with its values in order.
using ConfigTable = std::map<std::string, std::vector<std::string>>;

class Config {
 public:
  // What a process does after its settings were read.
  enum class Next {
    kStart,
    kCheckOnly,  // --check-config: say that the settings are good, and end
    kEnd,        // --help or --version: the answer was printed
  };

  // `default_file` is read where --config names no other, if it is there.
  Config(const std::string& program, const std::string& description,
         const std::string& default_file);
  ~Config();

  // Each setting by its flag's name without dashes. `*target` holds the default, gets the value in
  // Parse and must live until then.
  void Add(const std::string& name, std::string* target, const std::string& description);
  void Add(const std::string& name, bool* target, const std::string& description);
  void Add(const std::string& name, int* target, const std::string& description);
  void Add(const std::string& name, int64_t* target, const std::string& description);
  void Add(const std::string& name, double* target, const std::string& description);
  // With a unit: "5s", "100ms", "1h30m".
  void Add(const std::string& name, absl::Duration* target, const std::string& description);
  // Repeated on the command line, an array in the file; commas separate them everywhere.
  void Add(const std::string& name, std::vector<std::string>* target,
           const std::string& description);
  // One of `choices`.
  void AddChoice(const std::string& name, const std::set<std::string>& choices, std::string* target,
                 const std::string& description);
  // The file's tables [[name]], whose settings are `keys`; there is no flag for them.
  void AddTables(const std::string& name, const std::set<std::string>& keys,
                 std::vector<ConfigTable>* target);

  // Reads the command line, the environment and the file. kInvalidArgument, in words for the one
  // who typed it, for an unknown setting, an ill-formed value or a file that cannot be read.
  absl::StatusOr<Next> Parse(int argc, const char* const* argv);
  // The file that Parse read; empty: none.
  const std::string& file() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_CONFIG_H_
