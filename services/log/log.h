// The log of a process: one line per event to stderr, JSON for machines or text for people.
//
// Every line has `ts` (RFC 3339, UTC), `level` and `msg`; lines about requests also have
// request_id, peer, method, code, duration_ms and omitted (LinePace). Process-wide and thread-safe.
// Before StartLog is called, lines are text, and levels below kInfo are not written.
#ifndef BERTH_SERVICES_LOG_LOG_H_
#define BERTH_SERVICES_LOG_LOG_H_

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

// If LogEnabled(level), writes one line. Replaces invalid UTF-8, except in a `message` for kText that
// is not quoted. It is quoted if it has `"`, `=` or a backslash, so that it forges no field.
void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

// The line that Log writes, with `timestamp` and without the line break.
std::string LogLine(LogFormat format, absl::string_view timestamp, LogLevel level,
                    absl::string_view message, std::initializer_list<LogField> fields);

// Decides which events get a line, where peers decide how often they happen: after a line for a key
// comes no other line for this key within `between_lines`, and at most `lines_max` lines come within
// `between_lines`, whatever their keys. Thread-safe.
class LinePace {
 public:
  static constexpr size_t kLinesMax = 1024;

  explicit LinePace(absl::Duration between_lines, size_t lines_max = kLinesMax)
      : between_lines_(between_lines), lines_max_(lines_max) {}

  // Whether an event of `key`, at `now`, gets a line. `*omitted` is then the number of events of
  // this key that got none since its last line, and of events of keys that are not known any more,
  // or never were, and that no line has told yet.
  bool Lets(absl::string_view key, placement::BootTime now, int64_t* omitted);

 private:
  struct Last {
    placement::BootTime line = -absl::InfiniteDuration();
    int64_t omitted = 0;
  };

  // Forgets the keys that had no line for `between_lines`.
  void Forget(placement::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration between_lines_;
  const size_t lines_max_;
  placement::Mutex mutex_;
  absl::flat_hash_map<std::string, Last> last_ ABSL_GUARDED_BY(mutex_);  // at most lines_max_
  int64_t omitted_ ABSL_GUARDED_BY(mutex_) = 0;  // of keys that are not in last_
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_LOG_LOG_H_
