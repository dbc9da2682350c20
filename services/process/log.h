// The log of a process: one line per event to stderr, JSON for machines or text for people.
//
// Every line has `ts` (RFC 3339, UTC), `level` and `msg`; lines about requests also have
// request_id, peer, method, code and duration_ms. Process-wide and thread-safe. Before StartLog is
// called, lines are text, and levels below kInfo are not written.
#ifndef BERTH_SERVICES_PROCESS_LOG_H_
#define BERTH_SERVICES_PROCESS_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

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

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LOG_H_
