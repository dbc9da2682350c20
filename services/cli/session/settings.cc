#include "services/cli/session/settings.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "placement/ground/status_macros.h"
#include "services/process/toml_fault.h"
#include "toml.hpp"

namespace berth::cli {
namespace {

constexpr const char* kNames[] = {"endpoint",        "output",  "timeout", "request-id",
                                  "no-color",        "bars",    "columns", "sort",
                                  "tls-certificate", "tls-key", "tls-ca",  "trust-domain"};

std::string Variable(const std::string& name) {
  return absl::StrCat("BERTH_", absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

absl::Status Wrong(const std::string& name, const std::string& value, const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat("--", name, " '", value, "' is wrong: ", wanted));
}

absl::Status ReadFlag(const std::string& name, const std::string& value, bool* target) {
  if (absl::SimpleAtob(value, target)) return absl::OkStatus();
  return Wrong(name, value, "it must be true or false");
}

absl::Status ReadFormat(const std::string& value, Format* format) {
  if (value == "table") {
    *format = Format::kTable;
  } else if (value == "json") {
    *format = Format::kJson;
  } else if (value == "name") {
    *format = Format::kName;
  } else {
    return Wrong("output", value, "it must be table, json or name");
  }
  return absl::OkStatus();
}

absl::Status ReadTimeout(const std::string& value, std::optional<absl::Duration>* timeout) {
  absl::Duration duration;
  double seconds = 0;
  if (absl::SimpleAtod(value, &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(value, &duration)) {
    return Wrong("timeout", value, "it must be a duration such as 5s or 100ms");
  }
  if (duration <= absl::ZeroDuration()) return Wrong("timeout", value, "it must be above zero");
  *timeout = duration;
  return absl::OkStatus();
}

// The setting of TLS with this name; null if there is none.
std::string* TlsSetting(const std::string& name, client::TlsSettings* tls) {
  if (name == "tls-certificate") return &tls->files.certificate;
  if (name == "tls-key") return &tls->files.key;
  if (name == "tls-ca") return &tls->files.ca;
  return name == "trust-domain" ? &tls->trust_domain : nullptr;
}

// The address at which a program on the same machine reaches a server that listens on `listen`.
// Empty if that cannot be told: port 0 is a free port.
std::string DialledFor(absl::string_view listen) {
  if (absl::StartsWith(listen, "unix:")) return std::string(listen);
  if (absl::EndsWith(listen, ":0")) return "";
  absl::string_view port = listen;
  if (absl::ConsumePrefix(&port, "0.0.0.0:")) return absl::StrCat("127.0.0.1:", port);
  if (absl::ConsumePrefix(&port, "[::]:")) return absl::StrCat("[::1]:", port);
  return std::string(listen);
}

// The first of `addresses` that can be dialled; empty if there is none.
std::string FirstDialled(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (std::string dialled = DialledFor(address); !dialled.empty()) return dialled;
  }
  return "";
}

// The texts of a value in a server's file: those of an array, or of one text with commas.
std::vector<std::string> TextsIn(const toml::value& value) {
  std::vector<std::string> texts;
  if (value.is_string()) {
    texts = absl::StrSplit(value.as_string().str, ',', absl::SkipWhitespace());
  } else if (value.is_array()) {
    for (const toml::value& element : value.as_array()) {
      for (std::string& text : TextsIn(element)) texts.push_back(std::move(text));
    }
  }
  return texts;
}

// Adds to `said` what the settings file of a server says, if the file exists.
absl::Status ReadServerFile(const std::string& path, Said* said) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return absl::OkStatus();
  try {
    client::TlsSettings known;
    const toml::value file = toml::parse(path);
    for (const auto& [key, value] : file.as_table()) {
      const std::string name = absl::StrReplaceAll(key, {{"_", "-"}});
      if (name == "listen") (*said)["endpoint"] = FirstDialled(TextsIn(value));
      if (TlsSetting(name, &known) != nullptr && value.is_string()) {
        (*said)[name] = value.as_string().str;
      }
    }
  } catch (const std::exception& failure) {
    return absl::InvalidArgumentError(services::TomlFault(path, failure));
  }
  return absl::OkStatus();
}

absl::Status Read(const std::string& name, const std::string& value, Settings* settings) {
  if (name == "endpoint") {
    if (value.empty()) return Wrong(name, value, "it must be HOST:PORT or unix:PATH");
    settings->endpoint = value;
  } else if (name == "output") {
    return ReadFormat(value, &settings->format);
  } else if (name == "timeout") {
    return ReadTimeout(value, &settings->timeout);
  } else if (name == "request-id") {
    settings->request_id = value;
  } else if (name == "no-color") {
    bool none = false;
    const absl::Status read = ReadFlag(name, value, &none);
    settings->colour = !none;
    return read;
  } else if (name == "bars") {
    return ReadFlag(name, value, &settings->bars);
  } else if (name == "columns") {
    settings->columns = absl::StrSplit(value, ',', absl::SkipEmpty());
  } else if (name == "sort") {
    settings->sort = value;
  } else if (std::string* text = TlsSetting(name, &settings->tls); text != nullptr) {
    *text = value;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("there is no setting '", name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

Said SaidByEnvironment() {
  Said said;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') said["no-color"] = "true";
  for (const char* name : kNames) {
    const char* value = std::getenv(Variable(name).c_str());
    if (value != nullptr && *value != '\0') said[name] = value;
  }
  return said;
}

std::string SettingsFile() {
  const char* directory = std::getenv("XDG_CONFIG_HOME");
  if (directory != nullptr && *directory == '/')
    return absl::StrCat(directory, "/berth/config.toml");
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : absl::StrCat(home, "/.config/berth/config.toml");
}

absl::StatusOr<Said> SaidByFile(const std::string& path) {
  Said said;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return said;
  try {
    const toml::value file = toml::parse(path);
    for (const auto& [key, value] : file.as_table()) {
      const std::string name = absl::StrReplaceAll(key, {{"_", "-"}});
      if (value.is_string()) {
        said[name] = value.as_string().str;
      } else if (value.is_boolean()) {
        said[name] = value.as_boolean() ? "true" : "false";
      } else if (value.is_integer()) {
        said[name] = absl::StrCat(value.as_integer());
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": '", key, "' must be a text, a number, true or false"));
      }
    }
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(services::TomlFault(path, error));
  }
  return said;
}

absl::StatusOr<Said> SaidByServer(const std::string& path) {
  Said said;
  const char* other = std::getenv("BERTH_CONFIG");
  BERTH_RETURN_IF_ERROR(ReadServerFile(other == nullptr || *other == '\0' ? path : other, &said));
  client::TlsSettings known;
  for (const char* name : kNames) {
    const char* value = std::getenv(Variable(name).c_str());
    // A variable that is empty makes a text of the server empty.
    if (value != nullptr && TlsSetting(name, &known) != nullptr) said[name] = value;
  }
  const char* listen = std::getenv("BERTH_LISTEN");
  if (listen != nullptr && *listen != '\0') {
    said["endpoint"] = FirstDialled(absl::StrSplit(listen, ',', absl::SkipWhitespace()));
  }
  if (said["endpoint"].empty()) said.erase("endpoint");
  return said;
}

absl::StatusOr<Settings> Settle(const Said& flags, const Said& environment, const Said& file) {
  Settings settings;
  for (const Said* said : {&file, &environment, &flags}) {
    for (const auto& [name, value] : *said) {
      BERTH_RETURN_IF_ERROR(Read(name, value, &settings));
    }
  }
  return settings;
}

}  // namespace berth::cli
