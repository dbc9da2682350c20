#include "services/cli/session/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "services/cli/grammar.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/amounts.h"

namespace berth::cli {
namespace {

TEST(Settings, FlagThenEnvironmentThenFileThenDefault) {
  const struct {
    Said flags, environment, file;
    std::string endpoint;
  } cases[] = {
      {{}, {}, {}, "127.0.0.1:7310"},
      {{}, {}, {{"endpoint", "file:1"}}, "file:1"},
      {{}, {{"endpoint", "env:1"}}, {}, "env:1"},
      {{}, {{"endpoint", "env:1"}}, {{"endpoint", "file:1"}}, "env:1"},
      {{{"endpoint", "flag:1"}}, {}, {}, "flag:1"},
      {{{"endpoint", "flag:1"}}, {}, {{"endpoint", "file:1"}}, "flag:1"},
      {{{"endpoint", "flag:1"}}, {{"endpoint", "env:1"}}, {}, "flag:1"},
      {{{"endpoint", "flag:1"}}, {{"endpoint", "env:1"}}, {{"endpoint", "file:1"}}, "flag:1"},
  };
  for (const auto& c : cases) {
    const auto settings = Settle(c.flags, c.environment, c.file);
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_EQ(settings->endpoint, c.endpoint);
  }
}

TEST(Settings, ReadsEachAndRefusesWhatDoesNotRead) {
  const auto settings = Settle({{"output", "json"},
                                {"timeout", "1m30s"},
                                {"no-color", "true"},
                                {"columns", "name,uuid"},
                                {"sort", "-name"},
                                {"request-id", "r1"},
                                {"bars", "true"}},
                               {}, {});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->format, Format::kJson);
  EXPECT_EQ(settings->timeout, absl::Seconds(90));
  EXPECT_FALSE(settings->colour);
  EXPECT_EQ(settings->columns, (std::vector<std::string>{"name", "uuid"}));
  for (const Said& wrong :
       {Said{{"output", "xml"}}, Said{{"timeout", "soon"}}, Said{{"timeout", "-1s"}},
        Said{{"endpoint", ""}}, Said{{"colour", "blue"}}, Said{{"bars", "perhaps"}}}) {
    EXPECT_EQ(Settle(wrong, {}, {}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(Settle({}, {}, wrong).ok());
  }
}

TEST(Settings, TheFileIsToml) {
  const std::string path = testing::TempDir() + "/berth_settings_test.toml";
  std::ofstream(path) << "endpoint = \"h:1\"\nno_color = true\ntimeout = 5\n";
  const auto said = SaidByFile(path);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(*said, (Said{{"endpoint", "h:1"}, {"no-color", "true"}, {"timeout", "5"}}));
  std::ofstream(path) << "endpoint = ";
  EXPECT_FALSE(SaidByFile(path).ok());
  std::filesystem::remove(path);
  EXPECT_TRUE(SaidByFile(path)->empty());
}

// The line at fault may have the password of the server's database.
TEST(Settings, AFaultInAFileIsToldWithoutItsText) {
  const std::string path = testing::TempDir() + "/berth_faulty_settings_test.toml";
  std::ofstream(path) << "workers = 3\ndatabase = 'secret\n";
  for (const absl::Status& status : {SaidByFile(path).status(), SaidByServer(path).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), path + ":2: ")) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "secret")) << status;
  }
  std::filesystem::remove(path);
}

// What SaidByServer says with this settings file and these variables of the environment.
Said SaidWith(const std::string& file, const Said& variables) {
  const std::string path = testing::TempDir() + "/berth_server_settings_test.toml";
  std::ofstream(path) << file;
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const auto said = SaidByServer(path);
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  std::filesystem::remove(path);
  EXPECT_TRUE(said.ok()) << said.status();
  return said.ok() ? *said : Said{};
}

TEST(Settings, OfAServerAreItsFileAndItsVariables) {
  EXPECT_EQ(SaidWith("", {}), Said());
  EXPECT_EQ(
      SaidWith("workers = 3\ntls_certificate = 'c'\ntls-key = 'k'\ntls-ca = 'a'\n"
               "trust-domain = 'd'\n[[hypervisor]]\nname = 'n'\n",
               {}),
      (Said{{"tls-certificate", "c"}, {"tls-key", "k"}, {"tls-ca", "a"}, {"trust-domain", "d"}}));
  EXPECT_EQ(SaidWith("tls-ca = 'a'\ntls-key = 'k'", {{"BERTH_TLS_CA", "b"}, {"BERTH_TLS_KEY", ""}}),
            (Said{{"tls-ca", "b"}, {"tls-key", ""}}));
  const std::pair<std::string, std::string> listened[] = {
      {"'h:1'", "h:1"},
      {"['0.0.0.0:7310', 'h:1']", "127.0.0.1:7310"},
      {"['[::]:7310']", "[::1]:7310"},
      {"['127.0.0.1:0', 'unix:/run/s']", "unix:/run/s"},
      {"'127.0.0.1:0,h:10'", "h:10"},
      {"'127.0.0.1:0'", ""},
  };
  for (const auto& [listen, endpoint] : listened) {
    Said said = SaidWith("listen = " + listen, {});
    EXPECT_EQ(said["endpoint"], endpoint) << listen;
  }
  EXPECT_EQ(SaidWith("listen = 'h:1'", {{"BERTH_LISTEN", "0.0.0.0:2,h:3"}}),
            (Said{{"endpoint", "127.0.0.1:2"}}));
  EXPECT_EQ(SaidWith("listen = 'h:1'", {{"BERTH_LISTEN", ""}, {"BERTH_CONFIG", ""}}),
            (Said{{"endpoint", "h:1"}}));
  EXPECT_EQ(SaidWith("listen = 'h:1'", {{"BERTH_CONFIG", "/nowhere/other.toml"}}), Said());
  EXPECT_TRUE(SaidByServer("/nowhere/settings.toml")->empty());
}

TEST(Amounts, AreNumbersOrSizes) {
  const struct {
    std::string resource_class, text;
    int64_t amount;
  } good[] = {{"VCPU", "4", 4},           {"MEMORY_MB", "8192", 8192},
              {"MEMORY_MB", "8Gi", 8192}, {"MEMORY_MB", "512Mi", 512},
              {"DISK_GB", "2Ti", 2048},   {"MEMORY_MB", "1.5Gi", 1536},
              {"DISK_GB", "1024Mi", 1}};
  for (const auto& c : good) {
    const auto amount = ParseAmount(c.resource_class, c.text);
    ASSERT_TRUE(amount.ok()) << amount.status();
    EXPECT_EQ(*amount, c.amount) << c.text;
  }
  const std::pair<std::string, std::string> bad[] = {
      {"VCPU", "4Gi"},   {"VCPU", "many"},     {"DISK_GB", "512Mi"},      {"MEMORY_MB", "8G"},
      {"MEMORY_MB", ""}, {"MEMORY_MB", "xGi"}, {"MEMORY_MB", "9999999Pi"}};
  for (const auto& [name, text] : bad) EXPECT_FALSE(ParseAmount(name, text).ok()) << text;
}

TEST(Amounts, AreListsOfClasses) {
  EXPECT_EQ(*ParseAmounts({"VCPU=4,MEMORY_MB=8Gi", "DISK_GB=1"}),
            (Amounts{{"VCPU", 4}, {"MEMORY_MB", 8192}, {"DISK_GB", 1}}));
  EXPECT_TRUE(ParseAmounts({})->empty());
  for (const char* wrong : {"VCPU", "VCPU=", "=4", "VCPU=1,VCPU=2"}) {
    EXPECT_FALSE(ParseAmounts({wrong}).ok()) << wrong;
  }
  EXPECT_EQ(InWords(Amounts{{"CUSTOM_A", 1}, {"MEMORY_MB", 2}, {"VCPU", 3}}),
            "VCPU 3, MEMORY_MB 2, CUSTOM_A 1");
}

TEST(Amounts, InventoriesSayOnlyWhatIsSaid) {
  const auto words = ParseInventory("VCPU=32:ratio=4:reserved=2:min=1:max=8:step=2");
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(words->resource_class, "VCPU");
  EXPECT_EQ(words->total, 32);
  EXPECT_EQ(words->allocation_ratio, 4.0);
  EXPECT_EQ(words->reserved, 2);
  EXPECT_EQ(words->min_unit, 1);
  EXPECT_EQ(words->max_unit, 8);
  EXPECT_EQ(words->step_size, 2);
  EXPECT_EQ(ParseInventory("MEMORY_MB=256Gi:reserved=512Mi")->reserved, 512);
  EXPECT_FALSE(ParseInventory("VCPU:ratio=8")->total.has_value());
  for (const char* wrong : {"", ":ratio=1", "VCPU=x", "VCPU=1:colour=3", "VCPU=1:ratio=inf"}) {
    EXPECT_FALSE(ParseInventory(wrong).ok()) << wrong;
  }
  EXPECT_EQ(SizeOf("MEMORY_MB", 262144), "256 GiB");
  EXPECT_EQ(SizeOf("DISK_GB", 1536), "1.5 TiB");
  EXPECT_EQ(SizeOf("VCPU", 4), "");
}

TEST(Uuids, AreRecognised) {
  EXPECT_TRUE(IsUuid("5e08ea53-c4c6-448e-9334-ac4953de3cfa"));
  EXPECT_TRUE(IsUuid("5E08EA53C4C6448E9334AC4953DE3CFA"));
  EXPECT_FALSE(IsUuid("dc1-h07"));
  EXPECT_TRUE(IsUuid(RandomUuid()));
  EXPECT_NE(RandomUuid(), RandomUuid());
}

TEST(Failures, HaveStableExitCodes) {
  const struct {
    absl::StatusCode code;
    std::string reason;
    int exit_code;
  } cases[] = {
      {absl::StatusCode::kInternal, "INTERNAL", 1},
      {absl::StatusCode::kUnimplemented, "", 1},
      {absl::StatusCode::kInvalidArgument, "INVALID_FIELD", 2},
      {absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND", 3},
      {absl::StatusCode::kAborted, "PROVIDER_GENERATION_CONFLICT", 4},
      {absl::StatusCode::kAlreadyExists, "DUPLICATE_PROVIDER", 4},
      {absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE", 4},
      {absl::StatusCode::kResourceExhausted, "CAPACITY_EXCEEDED", 5},
      {absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE", 5},
      {absl::StatusCode::kPermissionDenied, "POLICY_DENIED", 6},
      {absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED", 6},
      {absl::StatusCode::kUnavailable, "STORE_UNAVAILABLE", 7},
      {absl::StatusCode::kDeadlineExceeded, "DEADLINE_BEFORE_START", 7},
      {absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN", 8},
      {absl::StatusCode::kFailedPrecondition, kProblemsFound, 9},
      {absl::StatusCode::kCancelled, kInterrupted, 130},
  };
  for (const auto& c : cases) {
    const absl::Status status =
        c.reason.empty() ? absl::Status(c.code, "m") : Refused(c.code, c.reason, "m");
    EXPECT_EQ(FailureOf(status).exit_code, c.exit_code) << c.reason;
    EXPECT_EQ(FailureOf(status).reason, c.reason);
  }
}

TEST(Failures, SayWhatIsAtFaultAndWhatToDo) {
  const absl::Status full = Refused(absl::StatusCode::kResourceExhausted, "CAPACITY_EXCEEDED", "m",
                                    {{{"provider", "p1"},
                                      {"resource_class", "VCPU"},
                                      {"requested", "8"},
                                      {"used", "28"},
                                      {"capacity", "32"}}});
  EXPECT_EQ(InWords(FailureOf(full)),
            "berth: provider p1 has too little free for 8 VCPU: 28 of 32 are used and 4 are free\n"
            "  ask for less, or let `berth candidates` find a provider with enough free\n");
  const Failure open = FailureOf(OfRequest(absl::UnavailableError("gone"), "r1", true));
  EXPECT_EQ(open.exit_code, kExitOutcomeUnknown);
  EXPECT_TRUE(absl::StrContains(InWords(open), "`berth request r1`")) << InWords(open);
  EXPECT_TRUE(absl::StrContains(InJson(open), "\"requestId\": \"r1\"")) << InJson(open);
}

struct Outcome {
  int exit_code;
  std::string data, talk;
};

Outcome RunBerth(std::vector<const char*> words) {
  words.insert(words.begin(), "berth");
  std::ostringstream data;
  std::ostringstream talk;
  Session session(&data, &talk);
  const int exit_code = RunCommandLine(static_cast<int>(words.size()), words.data(), session);
  return {exit_code, data.str(), talk.str()};
}

TEST(Grammar, EveryCommandHasAnExampleInItsHelp) {
  Session session(nullptr, nullptr);
  CLI::App app;
  Said flags;
  AddGrammar(app, session, &flags);
  int commands = 0;
  const auto look = [&](const CLI::App* command) {
    EXPECT_FALSE(command->get_description().empty()) << command->get_name();
    EXPECT_TRUE(absl::StrContains(command->get_footer(), "Example:")) << command->get_name();
    ++commands;
  };
  for (const CLI::App* noun : app.get_subcommands({})) {
    const auto verbs = noun->get_subcommands([](const CLI::App*) { return true; });
    if (verbs.empty()) look(noun);
    for (const CLI::App* verb : verbs) look(verb);
  }
  EXPECT_GE(commands, 40);
}

TEST(Grammar, WrongWordsAreUsageErrorsAndTouchNoServer) {
  const std::vector<const char*> wrong[] = {
      {"bogus"},
      {"provider"},
      {"provider", "bogus"},
      {"provider", "show"},
      {"provider", "list", "--bogus"},
      {"provider", "tree", "--limit", "0"},
      {"inventory", "set", "h", "VCPU=many"},
      {"inventory", "delete", "h"},
      {"--output", "xml", "version"},
      {"--timeout", "soon", "version"},
  };
  for (const auto& words : wrong) {
    const Outcome outcome = RunBerth(words);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << words.back();
    EXPECT_EQ(outcome.data, "") << words.back();
    EXPECT_TRUE(absl::StartsWith(outcome.talk, "berth: ")) << outcome.talk;
  }
  const Outcome json = RunBerth({"provider", "show", "-o", "json"});
  EXPECT_EQ(json.exit_code, kExitUsage);
  EXPECT_TRUE(absl::StrContains(json.talk, "\"status\": \"INVALID_ARGUMENT\"")) << json.talk;
}

TEST(Grammar, OptionsOfEveryCommandStandAnywhere) {
  for (const auto& words : {std::vector<const char*>{"-o", "json", "version"},
                            {"version", "-o", "json"},
                            {"version", "--output=json"}}) {
    EXPECT_TRUE(absl::StrContains(RunBerth(words).data, "\"version\"")) << words[0];
  }
}

TEST(Grammar, AProviderMayBeCalledLikeACommand) {
  const Outcome outcome =
      RunBerth({"provider", "show", "tree", "-e", "unix:/nonexistent/berth", "--timeout", "1s"});
  EXPECT_EQ(outcome.exit_code, kExitUnreachable) << outcome.talk;
  EXPECT_TRUE(absl::StrContains(outcome.talk, "unix:/nonexistent/berth")) << outcome.talk;
}

}  // namespace
}  // namespace berth::cli
