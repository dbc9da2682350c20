#include "services/process/config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/process/toml_fault.h"
#include "services/process/version.h"
#include "toml.hpp"

namespace berth::services {
namespace {

struct TableKind {
  std::set<std::string> keys;
  std::vector<ConfigTable>* target;
};

std::string EnvironmentName(const std::string& name) {
  return absl::StrCat("BERTH_", absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

std::string FlagName(const std::string& key) { return absl::StrReplaceAll(key, {{"_", "-"}}); }

// Returns the text of `value` as a user would type it on a command line. An array gives several
// texts.
std::vector<std::string> Texts(const std::string& key, const toml::value& value) {
  switch (value.type()) {
    case toml::value_t::string:
      return {value.as_string().str};
    case toml::value_t::boolean:
      return {value.as_boolean() ? "true" : "false"};
    case toml::value_t::integer:
      return {absl::StrCat(value.as_integer())};
    case toml::value_t::floating:
      return {absl::StrCat(value.as_floating())};
    case toml::value_t::array: {
      std::vector<std::string> texts;
      for (const toml::value& element : value.as_array()) {
        for (std::string& text : Texts(key, element)) texts.push_back(std::move(text));
      }
      return texts;
    }
    default:
      throw CLI::ConfigError(absl::StrCat("'", key, "' must be a text, a number, true or false"));
  }
}

void ReadTables(const std::string& name, const toml::value& value, const TableKind& kind) {
  const std::string wanted =
      absl::StrCat("'", name, "' has to be written as tables [[", name, "]]");
  if (!value.is_array()) throw CLI::ConfigError(wanted);
  for (const toml::value& element : value.as_array()) {
    if (!element.is_table()) throw CLI::ConfigError(wanted);
    ConfigTable table;
    for (const auto& [key, inner] : element.as_table()) {
      const std::string setting = FlagName(key);
      if (!kind.keys.contains(setting)) {
        throw CLI::ConfigError(absl::StrCat("unknown setting '", key, "' in [[", name, "]]"));
      }
      table[setting] = Texts(key, inner);
    }
    kind.target->push_back(std::move(table));
  }
}

// Gives `option` the values that the file has for it, unless the command line or the environment
// sets it.
void ReadSetting(const std::string& key, const toml::value& value, CLI::Option* option) {
  if (option == nullptr || !option->get_configurable()) {
    throw CLI::ConfigError(absl::StrCat("unknown setting '", key, "'"));
  }
  const std::vector<std::string> texts = Texts(key, value);
  if (option->count() > 0) return;
  for (const std::string& text : texts) option->add_result(text);
  option->run_callback();
}

// Refuses what is no T, without the text, which may be a secret in the wrong place. CLI11 by itself
// would show it. `what` fits.
template <typename T>
CLI::Validator Fits(const char* what) {
  return {[what](std::string& text) {
            T value{};
            const bool fits = text.empty() || CLI::detail::lexical_cast(text, value);
            return fits ? std::string() : absl::StrCat("has to be ", what);
          },
          ""};
}

// What `argument` begins with that can be the name of a setting. What follows may be a secret, whatever
// stands between the two.
std::string NameIn(absl::string_view argument) {
  size_t size = 0;
  while (size < argument.size() &&
         (absl::ascii_isalnum(argument[size]) || argument[size] == '-' || argument[size] == '_')) {
    ++size;
  }
  return std::string(argument.substr(0, size));
}

// What to say of arguments that are no settings: their names without values, which may be secret.
std::string UnknownArguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const std::string& argument : arguments) {
    if (absl::StartsWith(argument, "-")) names.push_back(NameIn(argument));
  }
  if (names.empty()) return "an argument is no setting: write --NAME=VALUE";
  return absl::StrCat("there is no setting ", absl::StrJoin(names, " or "));
}

// Returns the arguments in reverse order, as CLI11 wants them. `--name=` is turned into an option
// with an empty value; CLI11 by itself would take the next argument as the value.
std::vector<std::string> Arguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool empty =
        absl::StartsWith(argument, "--") && argument.find('=') == argument.size() - 1;
    arguments.push_back(empty ? argument.substr(0, argument.size() - 1) : argument);
    if (empty) arguments.emplace_back();
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

}  // namespace

class Config::Impl {
 public:
  Impl(const std::string& program, const std::string& description, const std::string& otherwise)
      : app(description, program), default_file(otherwise) {
    app.set_version_flag("--version", absl::StrCat(program, " ", kVersion));
    app.add_option("--config", file, "TOML file with settings; default: " + default_file)
        ->envname("BERTH_CONFIG")
        ->configurable(false);
    app.add_flag("--check-config", check_only, "Check the settings and exit")->configurable(false);
    app.get_help_ptr()->configurable(false);
    app.get_formatter()->column_width(36);
  }

  template <typename T>
  CLI::Option* AddOption(const std::string& name, T* target, const std::string& description) {
    return app.add_option("--" + name, *target, description)
        ->capture_default_str()
        ->envname(EnvironmentName(name));
  }

  // CLI11 ignores environment variables that are empty, so this function reads them.
  void ReadEmptyVariables() {
    for (CLI::Option* const option : plain_texts) {
      const char* value = std::getenv(option->get_envname().c_str());
      if (option->count() > 0 || value == nullptr || *value != '\0') continue;
      option->add_result("");
      option->run_callback();
    }
  }

  void ReadFile() {
    try {
      const toml::value settings = toml::parse(file);
      for (const auto& [key, value] : settings.as_table()) {
        const auto table = tables.find(FlagName(key));
        if (table != tables.end()) {
          ReadTables(key, value, table->second);
        } else {
          ReadSetting(key, value, app.get_option_no_throw("--" + FlagName(key)));
        }
      }
    } catch (const CLI::Error& error) {
      throw CLI::ConfigError(absl::StrCat(file, ": ", error.what()));
    } catch (const std::exception& error) {
      throw CLI::ConfigError(TomlFault(file, error));
    }
  }

  CLI::App app;
  std::string file;
  const std::string default_file;
  std::map<std::string, TableKind> tables;
  std::vector<CLI::Option*> plain_texts;
  bool check_only = false;
};

Config::Config(const std::string& program, const std::string& description,
               const std::string& default_file)
    : impl_(std::make_unique<Impl>(program, description, default_file)) {}
Config::~Config() = default;

void Config::Add(const std::string& name, std::string* target, const std::string& description) {
  impl_->plain_texts.push_back(impl_->AddOption(name, target, description));
}
void Config::Add(const std::string& name, int* target, const std::string& description) {
  impl_->AddOption(name, target, description)->check(Fits<int>("a whole number"));
}
void Config::Add(const std::string& name, int64_t* target, const std::string& description) {
  impl_->AddOption(name, target, description)->check(Fits<int64_t>("a whole number"));
}
void Config::Add(const std::string& name, double* target, const std::string& description) {
  impl_->AddOption(name, target, description)->check(Fits<double>("a number"));
}
void Config::Add(const std::string& name, bool* target, const std::string& description) {
  impl_->app.add_flag("--" + name, *target, description)
      ->envname(EnvironmentName(name))
      ->check(Fits<bool>("true or false"));
}

void Config::Add(const std::string& name, absl::Duration* target, const std::string& description) {
  const auto read = [name, target](const std::string& text) {
    if (!absl::ParseDuration(text, target)) {
      throw CLI::ValidationError("--" + name, "has to be a duration such as 5s or 100ms");
    }
  };
  impl_->app.add_option_function<std::string>("--" + name, read, description)
      ->default_str(absl::FormatDuration(*target))
      ->type_name("DURATION")
      ->envname(EnvironmentName(name));
}

void Config::Add(const std::string& name, std::vector<std::string>* target,
                 const std::string& description) {
  impl_->AddOption(name, target, description)->delimiter(',')->allow_extra_args(false);
}

void Config::AddChoice(const std::string& name, const std::set<std::string>& choices,
                       std::string* target, const std::string& description) {
  const auto among = [choices](const std::string& text) {
    if (choices.contains(text)) return std::string();
    return absl::StrCat("has to be one of: ", absl::StrJoin(choices, ", "));
  };
  const std::string described = absl::StrCat("{", absl::StrJoin(choices, ","), "}");
  impl_->AddOption(name, target, description)->check(CLI::Validator(among, described));
}

void Config::AddTables(const std::string& name, const std::set<std::string>& keys,
                       std::vector<ConfigTable>* target) {
  impl_->tables[name] = TableKind{keys, target};
}

absl::StatusOr<Config::Next> Config::Parse(int argc, const char* const* argv) {
  try {
    impl_->app.parse(Arguments(argc, argv));
    impl_->ReadEmptyVariables();
    if (impl_->file.empty() && std::filesystem::exists(impl_->default_file)) {
      impl_->file = impl_->default_file;
    }
    if (!impl_->file.empty()) impl_->ReadFile();
  } catch (const CLI::Success& success) {  // --help and --version
    impl_->app.exit(success);
    return Next::kEnd;
  } catch (const CLI::ExtrasError&) {
    return absl::InvalidArgumentError(UnknownArguments(impl_->app.remaining()));
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return impl_->check_only ? Next::kCheckOnly : Next::kStart;
}

const std::string& Config::file() const { return impl_->file; }

}  // namespace berth::services
