// Where settings come from, and which source wins.
#include "services/process/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/placement/options.h"

namespace berth::services {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() : file_(::testing::TempDir() + "settings.toml") {
    for (const char* name :
         {"BERTH_TEXT", "BERTH_COUNT", "BERTH_SWITCH", "BERTH_WAIT", "BERTH_MANY", "BERTH_SHARE",
          "BERTH_KIND", "BERTH_CONFIG", "BERTH_LISTEN"}) {
      unsetenv(name);
    }
    std::filesystem::remove(file_);
  }

  void WriteFile(const std::string& content) { std::ofstream(file_) << content; }

  // What Parse says of `arguments`, with one setting of each type.
  absl::StatusOr<Config::Next> Parse(std::vector<std::string> arguments) {
    Config config("berth-test", "A test.", default_file_);
    config.Add("text", &text_, "");
    config.Add("count", &count_, "");
    config.Add("switch", &switch_, "");
    config.Add("wait", &wait_, "");
    config.Add("many", &many_, "");
    config.Add("share", &share_, "");
    config.AddChoice("kind", {"this", "that"}, &kind_, "");
    config.AddTables("hypervisor", {"name", "cpu-set"}, &tables_);
    arguments.insert(arguments.begin(), "berth-test");
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    return config.Parse(static_cast<int>(argv.size()), argv.data());
  }

  const std::string file_;
  std::string default_file_ = "/nowhere/settings.toml";
  std::string text_ = "default";
  int count_ = 1;
  bool switch_ = false;
  absl::Duration wait_ = absl::Seconds(1);
  std::vector<std::string> many_ = {"default"};
  double share_ = 0.5;
  std::string kind_ = "this";
  std::vector<ConfigTable> tables_;
};

struct SourceCase {
  bool flag, environment, file;
  int winner;  // 0: default, 1: file, 2: environment, 3: flag
};

constexpr SourceCase kSourceCases[] = {
    {false, false, false, 0}, {false, false, true, 1},
    {false, true, false, 2},  {false, true, true, 2},  // CLI11 by itself would let the file win
    {true, false, false, 3},  {true, false, true, 3},
    {true, true, false, 3},   {true, true, true, 3},
};

TEST_F(ConfigTest, FlagBeforeEnvironmentBeforeFileBeforeDefault) {
  for (const SourceCase& sources : kSourceCases) {
    SCOPED_TRACE(::testing::Message() << "flag " << sources.flag << ", environment "
                                      << sources.environment << ", file " << sources.file);
    text_ = "default";
    count_ = 1;
    wait_ = absl::Seconds(1);
    many_ = {"default"};
    std::vector<std::string> arguments;
    if (sources.flag) {
      arguments = {"--text=flag", "--count=30", "--wait=30s", "--many=f1", "--many=f2"};
    }
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, const char*>>{{"BERTH_TEXT", "environment"},
                                                          {"BERTH_COUNT", "20"},
                                                          {"BERTH_WAIT", "20s"},
                                                          {"BERTH_MANY", "e1,e2"}}) {
      sources.environment ? setenv(name, value, 1) : unsetenv(name);
    }
    WriteFile(sources.file ? "text = 'file'\ncount = 10\nwait = '10s'\nmany = ['x1', 'x2']\n" : "");
    arguments.push_back("--config=" + file_);
    ASSERT_TRUE(Parse(arguments).ok());
    const char* texts[] = {"default", "file", "environment", "flag"};
    const int counts[] = {1, 10, 20, 30};
    const std::vector<std::string> many[] = {{"default"}, {"x1", "x2"}, {"e1", "e2"}, {"f1", "f2"}};
    EXPECT_EQ(text_, texts[sources.winner]);
    EXPECT_EQ(count_, counts[sources.winner]);
    EXPECT_EQ(wait_, absl::Seconds(counts[sources.winner]));
    EXPECT_EQ(many_, many[sources.winner]);
  }
}

TEST_F(ConfigTest, AnEmptyVariableIsAnEmptyText) {
  setenv("BERTH_TEXT", "", 1);
  setenv("BERTH_COUNT", "", 1);
  setenv("BERTH_WAIT", "", 1);
  WriteFile("text = 'file'\ncount = 10\n");
  ASSERT_TRUE(Parse({"--config=" + file_}).ok());
  EXPECT_EQ(text_, "");
  EXPECT_EQ(count_, 10);  // not set: the file says it
  EXPECT_EQ(wait_, absl::Seconds(1));
  ASSERT_TRUE(Parse({"--text=flag"}).ok());
  EXPECT_EQ(text_, "flag");
}

TEST_F(ConfigTest, SwitchesCanBeTurnedOffBySources) {
  struct Case {
    const char* flag;
    const char* environment;
    const char* file;
    bool expected;
  };
  const Case cases[] = {
      {"", "", "switch = true", true},
      {"", "false", "switch = true", false},
      {"", "true", "switch = false", true},
      {"--switch=false", "true", "switch = true", false},
      {"--switch", "false", "switch = false", true},
      {"", "", "", false},
  };
  for (const Case& sources : cases) {
    switch_ = false;
    WriteFile(sources.file);
    setenv("BERTH_SWITCH", sources.environment, 1);
    std::vector<std::string> arguments = {"--config=" + file_};
    if (*sources.flag != '\0') arguments.push_back(sources.flag);
    ASSERT_TRUE(Parse(arguments).ok());
    EXPECT_EQ(switch_, sources.expected)
        << sources.flag << "|" << sources.environment << "|" << sources.file;
  }
}

TEST_F(ConfigTest, AnEmptyValueDoesNotTakeTheNextArgument) {
  ASSERT_TRUE(Parse({"--text=", "--count=7"}).ok());
  EXPECT_EQ(text_, "");
  EXPECT_EQ(count_, 7);
}

TEST_F(ConfigTest, TextInTheFileIsTakenAsItIs) {
  WriteFile("text = \"postgresql://u:p#1@h1,h2/db?a=b c\"  # a comment\n");
  ASSERT_TRUE(Parse({"--config", file_}).ok());
  EXPECT_EQ(text_, "postgresql://u:p#1@h1,h2/db?a=b c");
}

TEST_F(ConfigTest, TheFileMayComeFromTheEnvironmentOrItsUsualPlace) {
  WriteFile("text = 'file'");
  setenv("BERTH_CONFIG", file_.c_str(), 1);
  ASSERT_TRUE(Parse({}).ok());
  EXPECT_EQ(text_, "file");
  unsetenv("BERTH_CONFIG");
  text_ = "default";
  default_file_ = file_;
  ASSERT_TRUE(Parse({}).ok());
  EXPECT_EQ(text_, "file");
}

TEST_F(ConfigTest, TablesComeInOrderWithTheirSettings) {
  WriteFile(
      "count = 7\n[[hypervisor]]\nname = 'a'\ncpu_set = ['0-3', '8']\n[[hypervisor]]\nname='b'");
  ASSERT_TRUE(Parse({"--config", file_}).ok());
  ASSERT_EQ(tables_.size(), 2U);
  EXPECT_THAT(tables_[0].at("cpu-set"), ElementsAre("0-3", "8"));
  EXPECT_THAT(tables_[1].at("name"), ElementsAre("b"));
  EXPECT_EQ(count_, 7);
}

TEST_F(ConfigTest, MistakesAreNamed) {
  struct Case {
    const char* flag;
    const char* file;
    const char* said;
  };
  const Case cases[] = {
      {"--unknown=1", "", "--unknown"},
      {"--count=many", "", "--count"},
      {"--wait=5", "", "5s"},
      {"", "unknown = 1", "unknown setting 'unknown'"},
      {"", "count = 'many'", "count"},
      {"", "wait = '5'", "5s"},
      {"", "config = 'other'", "unknown setting 'config'"},
      {"", "help = true", "unknown setting 'help'"},
      {"", "check-config = true", "unknown setting 'check-config'"},
      {"", "text = 'never closed", "settings.toml"},
      {"", "[hypervisor]\nname = 'a'", "[[hypervisor]]"},
      {"", "[[hypervisor]]\ncolour = 'red'", "unknown setting 'colour' in [[hypervisor]]"},
      {"", "[other]\nname = 'a'", "unknown setting 'other'"},
  };
  for (const Case& mistake : cases) {
    WriteFile(mistake.file);
    std::vector<std::string> arguments = {"--config=" + file_};
    if (*mistake.flag != '\0') arguments.push_back(mistake.flag);
    const absl::StatusOr<Config::Next> parsed = Parse(arguments);
    ASSERT_FALSE(parsed.ok()) << mistake.flag << mistake.file;
    EXPECT_THAT(parsed.status().message(), HasSubstr(mistake.said));
  }
  EXPECT_FALSE(Parse({"--config=/nowhere/at/all.toml"}).ok());
}

// The value may be the password of a database. The line is told where there is one.
TEST_F(ConfigTest, MistakesAreToldWithoutTheValue) {
  struct Case {
    std::vector<std::string> arguments;
    const char* file;
    const char* said;
  };
  const Case cases[] = {
      {{"--txet=secret"}, "", "there is no setting --txet"},
      {{"--txet", "secret"}, "", "there is no setting --txet"},
      {{"--text", "a", "secret"}, "", "an argument is no setting"},
      {{"--text postgresql://u:secret@h/d?sslmode=require"}, "", "there is no setting --text"},
      {{"--text: postgresql://u:secret@h/d"}, "", "there is no setting --text"},
      {{}, "count = 7\ntext = 'secret", "settings.toml:2: "},
      {{}, "count = 7\ntext = secret", "settings.toml:2: "},
      {{}, "count = 7\ntext 'secret'", "settings.toml:2: "},
      {{}, "text = 'secret' 'more'", "settings.toml:1: "},
      {{}, "text = 'secret'\ntext = 'secret'", "settings.toml:"},
      {{}, "text = { password = 'secret' }", "'text' must be a text"},
      {{}, "[text]\npassword = 'secret'", "'text' must be a text"},
      {{}, "txet = 'secret'", "unknown setting 'txet'"},
      {{}, "text = ['secret', 'secret']", "text"},
      {{}, "count = 'secret'", "settings.toml: --count: has to be a whole number"},
      {{}, "count = 99999999999", "settings.toml: --count: has to be a whole number"},
      {{}, "switch = 'secret'", "--switch: has to be true or false"},
      {{}, "wait = 'secret'", "--wait: has to be a duration such as 5s or 100ms"},
      {{}, "share = 'secret'", "--share: has to be a number"},
      {{}, "kind = 'secret'", "--kind: has to be one of: that, this"},
      {{"--count=secret"}, "", "--count: has to be a whole number"},
      {{"--kind=secret"}, "", "--kind: has to be one of: that, this"},
  };
  for (const Case& mistake : cases) {
    WriteFile(mistake.file);
    std::vector<std::string> arguments = mistake.arguments;
    arguments.push_back("--config=" + file_);
    const absl::StatusOr<Config::Next> parsed = Parse(arguments);
    ASSERT_FALSE(parsed.ok()) << mistake.file;
    EXPECT_THAT(parsed.status().message(), HasSubstr(mistake.said));
    EXPECT_THAT(parsed.status().message(), Not(HasSubstr("secret"))) << mistake.file;
  }
}

TEST_F(ConfigTest, MistakesInTheEnvironmentAreToldWithoutTheValue) {
  for (const char* name : {"COUNT", "SWITCH", "WAIT", "SHARE", "KIND"}) {
    const std::string variable = absl::StrCat("BERTH_", name);
    setenv(variable.c_str(), "secret", 1);
    const absl::StatusOr<Config::Next> parsed = Parse({});
    unsetenv(variable.c_str());
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_THAT(parsed.status().message(),
                HasSubstr(absl::StrCat("--", absl::AsciiStrToLower(name), ": has to be ")));
    EXPECT_THAT(parsed.status().message(), Not(HasSubstr("secret")));
  }
}

TEST_F(ConfigTest, ChecksOnlyWhereAsked) {
  EXPECT_EQ(*Parse({"--check-config"}), Config::Next::kCheckOnly);
  EXPECT_EQ(*Parse({}), Config::Next::kStart);
  EXPECT_EQ(*Parse({"--version"}), Config::Next::kEnd);
  EXPECT_EQ(*Parse({"--help"}), Config::Next::kEnd);
}

// Arguments of placement.
struct PlacementCase {
  std::vector<std::string> arguments;
  const char* said;  // empty: it is fine
};

TEST_F(ConfigTest, PlacementRefusesWhatCannotWork) {
  const PlacementCase cases[] = {
      {{}, ""},
      {{"--listen=127.0.0.1:0", "--listen=unix:/run/berth.sock", "--listen=[::1]:7"}, ""},
      {{"--listen=0.0.0.0:7310"}, "--insecure-listen"},
      {{"--listen=127.0.0.1.example.com:1"}, "--insecure-listen"},
      {{"--listen=0.0.0.0:7310", "--insecure-listen"}, ""},
      {{"--listen=7310"}, "HOST:PORT"},
      {{"--metrics-listen="}, ""},
      {{"--metrics-listen=127.0.0.1:0"}, ""},
      {{"--metrics-listen=localhost:7311"}, ""},
      {{"--metrics-listen=[::1]:7311"}, ""},
      {{"--metrics-listen=0.0.0.0:7311"}, "--insecure-metrics-listen"},
      {{"--metrics-listen=[::]:7311"}, "--insecure-metrics-listen"},
      {{"--metrics-listen=127.0.0.1.example.com:7311"}, "--insecure-metrics-listen"},
      {{"--metrics-listen=0.0.0.0:7311", "--insecure-listen"}, "--insecure-metrics-listen"},
      {{"--metrics-listen=0.0.0.0:7311", "--insecure-metrics-listen"}, ""},
      {{"--metrics-listen=7311", "--insecure-metrics-listen"}, "HOST:PORT"},
      {{"--metrics-listen=127.0.0.1:7311,7312"}, "HOST:PORT"},
      {{"--metrics-listen=0.0.0.0:1,127.0.0.1:7311"}, "HOST:PORT"},
      {{"--metrics-listen=127.0.0.1:65536"}, "HOST:PORT"},
      {{"--metrics-listen=127.0.0.1:7311s"}, "HOST:PORT"},
      {{"--metrics-listen=unix:/run/metrics"}, "HOST:PORT"},
      {{"--workers=-1"}, "--workers"},
      {{"--staleness-max=1ms"}, "--staleness-max"},
      {{"--request-keep=10s"}, "--request-keep"},
      {{"--request-keep=90m"}, ""},
      {{"--request-keep=168h"}, ""},
      {{"--request-keep=8784h"}, "--request-keep is 31622400 s, but must be 60 s to 604800 s"},
      {{"--database=host=somewhere"}, "postgresql://"},
      {{"--database=postgresql://h1,h2/db?target_session_attrs=read-write"}, ""},
  };
  for (const PlacementCase& settings : cases) {
    PlacementOptions options;
    Config config("berth-placement", "", default_file_);
    AddPlacementOptions(&options, &config);
    std::vector<const char*> argv = {"berth-placement"};
    for (const std::string& argument : settings.arguments) argv.push_back(argument.c_str());
    ASSERT_TRUE(config.Parse(static_cast<int>(argv.size()), argv.data()).ok());
    const absl::Status status = CheckPlacementOptions(options);
    EXPECT_EQ(status.ok(), *settings.said == '\0') << ::testing::PrintToString(settings.arguments);
    EXPECT_THAT(status.message(), HasSubstr(settings.said));
  }
}

}  // namespace
}  // namespace berth::services
