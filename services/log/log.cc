#include "services/log/log.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace berth::services {
namespace {

struct LogSettings {
  std::atomic<LogFormat> format{LogFormat::kText};
  std::atomic<LogLevel> level_min{LogLevel::kInfo};
};
LogSettings settings;

// The logger is never destroyed, because threads may log while the process ends.
spdlog::logger& Logger() {
  static auto* const logger = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("%v");
    auto* made = new spdlog::logger("berth", std::move(sink));
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

nlohmann::ordered_json JsonOf(const LogValue& value) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, value);
}

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// `message` in one line. If it has what could be taken for a field, or for the end of a quoted text, it
// comes as JSON: a peer may have chosen a part of it.
std::string MessageOf(absl::string_view message) {
  const std::string line = absl::StrReplaceAll(message, {{"\n", " "}});
  const bool plain = line.find_first_of("\"=\\") == std::string::npos;
  return plain ? line : Dump(nlohmann::ordered_json(line));
}

// Returns a text as it is if it is not empty and has no special characters, and any other value as
// JSON. So a log entry always stays one line.
std::string TextOf(const LogValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const bool plain = text != nullptr && !text->empty() &&
                     text->find_first_of(" \"=\\") == std::string::npos &&
                     Dump(nlohmann::ordered_json(*text)).size() == text->size() + 2;
  return plain ? *text : Dump(JsonOf(value));
}

}  // namespace

LogFormat LogFormatOf(absl::string_view name) {
  return name == "text" ? LogFormat::kText : LogFormat::kJson;
}

LogLevel LogLevelOf(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

void StartLog(LogFormat format, LogLevel level_min) {
  settings.format = format;
  settings.level_min = level_min;
}

bool LogEnabled(LogLevel level) { return level >= settings.level_min; }

std::string LogLine(LogFormat format, absl::string_view timestamp, LogLevel level,
                    absl::string_view message, std::initializer_list<LogField> fields) {
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json line;
    line["ts"] = std::string(timestamp);
    line["level"] = LevelName(level);
    line["msg"] = std::string(message);
    for (const LogField& field : fields) line[std::string(field.first)] = JsonOf(field.second);
    return Dump(line);
  }
  std::string line = absl::StrCat(timestamp, " ", LevelName(level), " ", MessageOf(message));
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.first, "=", TextOf(field.second));
  }
  return line;
}

void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  const std::string now =
      absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  const std::string line = LogLine(settings.format, now, level, message, fields);
  Logger().log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

bool LinePace::Lets(absl::string_view key, placement::BootTime now, int64_t* omitted) {
  const placement::MutexLock lock(&mutex_);
  if (last_.size() >= lines_max_ && !last_.contains(key)) {
    Forget(now);
    if (last_.size() >= lines_max_) {
      ++omitted_;
      return false;
    }
  }
  Last& last = last_[std::string(key)];
  if (now < last.line + between_lines_) {
    ++last.omitted;
    return false;
  }
  *omitted = last.omitted + std::exchange(omitted_, 0);
  last = {now, 0};
  return true;
}

void LinePace::Forget(placement::BootTime now) {
  int64_t forgotten = 0;
  absl::erase_if(last_, [&](const auto& entry) {
    const bool is_old = now >= entry.second.line + between_lines_;
    if (is_old) forgotten += entry.second.omitted;
    return is_old;
  });
  omitted_ += forgotten;
}

}  // namespace berth::services
