// The log of a process: one line per event to stderr, JSON for machines or text for people.
//
// Every line has `ts` (RFC 3339, UTC), `level` and `msg`; lines about requests also have
// request_id, peer, method, code, duration_ms and omitted (LinePace). Process-wide and thread-safe.
// Before StartLog is called, lines are text, and levels below kInfo are not written.
#ifndef BERTH_SERVICES_PROCESS_LOG_H_
#define BERTH_SERVICES_PROCESS_LOG_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"

namespace berth::services {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// Return the format or the level with this name; for an unknown name JSON or kInfo.
LogFormat LogFormatOf(absl::string_view name);
LogLevel LogLevelOf(absl::string_view name);

using LogValue = std::variant<std::string, int64_t, double, bool>;
using LogField = std::pair<absl::string_view, LogValue>;

// Sets the format, and the lowest level that is written.
void StartLog(LogFormat format, LogLevel level_min);
bool LogEnabled(LogLevel level);

// If LogEnabled(level), writes one line. Replaces invalid UTF-8, except in `message` for kText.
void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

// The line that Log writes, with `timestamp` and without the line break.
std::string LogLine(LogFormat format, absl::string_view timestamp, LogLevel level,
                    absl::string_view message, std::initializer_list<LogField> fields);

// Decides which events get a line, where peers decide how often they happen: after a line for a key
// comes no other line for this key within `between_lines`. Thread-safe.
class LinePace {
 public:
  explicit LinePace(absl::Duration between_lines) : between_lines_(between_lines) {}

  // Whether an event of `key`, at `now`, gets a line. `*omitted` is then the number of events of
  // this key that got none since its last line.
  bool Lets(absl::string_view key, placement::BootTime now, int64_t* omitted);

  // When so many keys are known, all are forgotten.
  static constexpr size_t kKeysMax = 1024;

 private:
  struct Last {
    placement::BootTime line = -absl::InfiniteDuration();
    int64_t omitted = 0;
  };

  const absl::Duration between_lines_;
  placement::Mutex mutex_;
  absl::flat_hash_map<std::string, Last> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LOG_H_
