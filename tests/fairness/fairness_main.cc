// berth-fairness: what honest callers of one placement process are told while others ask for as much as
// they can get. Prints a table, and writes summary.json; README.md says what is measured and promised.
//
// Ends with 1 if a promise is not kept.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "services/process/libraries.h"
#include "services/tls/grpc_log.h"
#include "tests/bench/loading.h"
#include "tests/fairness/child.h"
#include "tests/fairness/cpu_group.h"
#include "tests/fairness/noise.h"
#include "tests/fairness/site.h"
#include "tests/processes/private_cluster.h"

namespace berth::fairness {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAlone[] = "alone";
constexpr char kAll[] = "all";
constexpr absl::string_view kBeyond = "many_claims";  // no part of kAll, which has `claims`
// What is promised.
constexpr double kTimesAlone = 3;
constexpr double kClaimMs = 15;
constexpr double kHealthMs = 100;
constexpr double kLogInMs = 1000;
constexpr absl::Duration kBeginMax = absl::Seconds(60);
constexpr absl::Duration kRampUp = absl::Seconds(1);  // after the noise has begun
constexpr absl::Duration kEndMax = absl::Seconds(10);

struct Settings {
  std::string placement = BERTH_PLACEMENT_PROGRAM;
  int hosts = 10'000;
  int seconds = 10;
  int rounds = 3;
  int tries = 1;
  double slack = 1;
  std::vector<std::string> loads;
  std::string directory = "build/fairness";
};

double LoadAverage() {
  double one = 0;
  getloadavg(&one, 1);
  return one;
}

Json ToJson(const CallFigures& figures) {
  return {{"calls", figures.calls},   {"refused", figures.refused},
          {"failed", figures.failed}, {"first_failure", figures.first_failure},
          {"p50_ms", figures.p50_ms}, {"p99_ms", figures.p99_ms},
          {"max_ms", figures.max_ms}};
}

// The kinds of noise that make up a load.
std::vector<NoiseKind> KindsOf(const std::string& load) {
  std::vector<NoiseKind> kinds;
  for (const NoiseKind& kind : NoiseKinds()) {
    const bool is_of_all = load == kAll && kind.name != kBeyond;
    if (is_of_all || load == kind.name) kinds.push_back(kind);
  }
  return kinds;
}

// What one measurement of a load came to.
struct Round {
  SiteFigures told;
  double load_average = 0;
  Json noise = Json::object();  // what each noise maker tells of itself
};

// What several measurements of a load came to. The figures are those of the middle one.
struct Verdict {
  double p99_ms = 0;
  double best_p99_ms = 0;
  double health_ms = 0;
  double best_health_ms = 0;
  double log_in_ms = 0;
  int64_t bad = 0;  // calls of honest callers, of all measurements
  bool kept = false;
};

class Measurement {
 public:
  explicit Measurement(const Settings& settings)
      : settings_(settings), site_(settings.placement, settings.hosts) {}

  // Measures `load` until its promise is kept or the tries are used up, and prints what came of it.
  // REQUIRES: the first load is kAlone.
  Verdict Judge(const std::string& load);
  const Json& figures() const { return figures_; }

 private:
  std::unique_ptr<Child> Begin(const NoiseKind& kind) const;
  Round Measure(const std::string& load);
  Verdict VerdictOf(const std::vector<Round>& rounds) const;
  void Note(const std::string& load, const Round& round);

  const Settings settings_;
  Site site_;
  double alone_p99_ms_ = 0;
  Json figures_ = Json::array();
};

std::unique_ptr<Child> Measurement::Begin(const NoiseKind& kind) const {
  const absl::Duration longest =
      absl::Seconds(settings_.seconds) + kRampUp + 2 * kBeginMax + kEndMax;
  const std::vector<std::string> arguments = {
      "noise", absl::StrCat("--kind=", kind.name), absl::StrCat("--address=", site_.address()),
      absl::StrCat("--hosts=", settings_.hosts),
      absl::StrCat("--seconds=", absl::ToInt64Seconds(longest))};
  auto child = std::make_unique<Child>(arguments, kind.identity);
  if (!child->Line(kBeginMax).empty()) return child;
  std::fprintf(stderr, "%s: the noise does not begin\n", kind.name);
  std::exit(1);
}

Round Measurement::Measure(const std::string& load) {
  site_.Settle();
  std::map<std::string, std::unique_ptr<Child>> children;
  for (const NoiseKind& kind : KindsOf(load)) children[kind.name] = Begin(kind);
  if (!children.empty()) site_.Measure(kRampUp);
  Round round;
  round.told = site_.Measure(absl::Seconds(settings_.seconds));
  round.load_average = LoadAverage();
  for (auto& [name, child] : children) {
    child->CloseInput();
    round.noise[name] = Json::parse(child->Line(kEndMax), nullptr, /*allow_exceptions=*/false);
  }
  return round;
}

Verdict Measurement::VerdictOf(const std::vector<Round>& rounds) const {
  std::vector<double> p99_ms;
  std::vector<double> health_ms;
  std::vector<double> log_in_ms;
  Verdict verdict;
  for (const Round& round : rounds) {
    p99_ms.push_back(round.told.claims.p99_ms);
    health_ms.push_back(round.told.health.max_ms);
    log_in_ms.push_back(round.told.log_ins.max_ms);
    verdict.bad += round.told.bad();
  }
  std::sort(p99_ms.begin(), p99_ms.end());
  std::sort(health_ms.begin(), health_ms.end());
  std::sort(log_in_ms.begin(), log_in_ms.end());
  verdict.p99_ms = p99_ms[p99_ms.size() / 2];
  verdict.best_p99_ms = p99_ms.front();
  verdict.health_ms = health_ms[health_ms.size() / 2];
  verdict.best_health_ms = health_ms.front();
  verdict.log_in_ms = log_in_ms[log_in_ms.size() / 2];
  verdict.kept =
      verdict.bad == 0 && verdict.health_ms <= kHealthMs * settings_.slack &&
      verdict.log_in_ms <= kLogInMs * settings_.slack &&
      verdict.p99_ms <= std::max(kTimesAlone * alone_p99_ms_, kClaimMs) * settings_.slack;
  return verdict;
}

void Measurement::Note(const std::string& load, const Round& round) {
  const SiteFigures& told = round.told;
  std::printf("%-9s %6.1f %7.1f %7.1f %4ld | %7.1f %4ld | %7.1f %4ld | %7.1f %4ld | %7.1f %4ld |",
              load.c_str(), told.claims.p50_ms, told.claims.p99_ms, told.claims.max_ms,
              told.claims.bad(), told.health.max_ms, told.health.bad(), told.reads.max_ms,
              told.reads.bad(), told.exports.max_ms, told.exports.bad(), told.log_ins.max_ms,
              told.log_ins.bad());
  std::printf(" %9.0f %5.0f %5.1f\n", told.batches_per_second, told.cpu_percent,
              round.load_average);
  std::fflush(stdout);
  figures_.push_back({{"load", load},
                      {"claims", ToJson(told.claims)},
                      {"health", ToJson(told.health)},
                      {"reads", ToJson(told.reads)},
                      {"exports", ToJson(told.exports)},
                      {"log_ins", ToJson(told.log_ins)},
                      {"batches_per_second", told.batches_per_second},
                      {"placement_cpu_percent", told.cpu_percent},
                      {"load_average", round.load_average},
                      {"noise", round.noise}});
}

Verdict Measurement::Judge(const std::string& load) {
  Verdict verdict;
  for (int tries = 0; tries < settings_.tries && !verdict.kept; ++tries) {
    std::vector<Round> rounds;
    for (int i = 0; i < settings_.rounds; ++i) {
      rounds.push_back(Measure(load));
      Note(load, rounds.back());
    }
    verdict = VerdictOf(rounds);
    if (load == kAlone) alone_p99_ms_ = verdict.p99_ms;
  }
  return verdict;
}

// A placement has a file for each connection, and a noise maker too.
void AllowManyFiles() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// Whether all promises were kept.
bool Run(const Settings& settings) {
  setenv("BERTH_TEST_CERTIFICATES", "1", 1);
  services::PassOnGrpcLog([](bool, const std::string&) {});  // else a line for each connection
  AllowManyFiles();
  Measurement measurement(settings);
  std::printf("claims in ms                     | health     | next read  | export     | log-in\n");
  std::printf(
      "load         p50     p99     max  bad |     max  bad |     max  bad |     max  bad |"
      "     max  bad | batches/s CPU %%  load\n");
  Json verdicts = Json::array();
  bool good = true;
  for (const std::string& load : settings.loads) {
    const Verdict verdict = measurement.Judge(load);
    good = good && verdict.kept;
    verdicts.push_back({{"load", load},
                        {"claim_p99_ms", verdict.p99_ms},
                        {"claim_p99_ms_best", verdict.best_p99_ms},
                        {"health_max_ms", verdict.health_ms},
                        {"health_max_ms_best", verdict.best_health_ms},
                        {"log_in_max_ms", verdict.log_in_ms},
                        {"refused_or_failed", verdict.bad},
                        {"kept", verdict.kept}});
  }
  std::printf("\n");
  for (const Json& verdict : verdicts) std::printf("%s\n", verdict.dump().c_str());
  std::filesystem::create_directories(settings.directory);
  std::ofstream(settings.directory + "/summary.json") << Json{{"hosts", settings.hosts},
                                                              {"seconds", settings.seconds},
                                                              {"rounds", settings.rounds},
                                                              {"verdicts", verdicts},
                                                              {"measured", measurement.figures()}}
                                                             .dump(2)
                                                      << "\n";
  return good;
}

int Main(int argc, char** argv) {
  Settings settings;
  NoiseSettings noise;
  bench::Settings loading;
  CLI::App app("What honest callers of one placement process are told while others make noise.");
  app.option_defaults()->take_last();
  app.add_option("--placement", settings.placement, "The program that is measured");
  app.add_option("--hosts", settings.hosts)->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds, "Of each measurement")->check(CLI::PositiveNumber);
  app.add_option("--rounds", settings.rounds, "How often each load is measured; the middle counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--tries", settings.tries, "How often a load may be measured until it is kept")
      ->check(CLI::PositiveNumber);
  app.add_option("--slack", settings.slack, "How many times as much as promised is let pass");
  app.add_option("--loads", settings.loads, "After `alone`: kinds of noise, or `all`")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--out", settings.directory, "Directory of summary.json");
  CLI::App* const making = app.add_subcommand("noise", "Used by the program itself");
  making->add_option("--kind", noise.kind);
  making->add_option("--address", noise.address);
  making->add_option("--hosts", noise.hosts);
  making->add_option("--seconds", noise.seconds_max);
  CLI::App* const load = app.add_subcommand("load", "Used by the program itself");
  load->add_option("--address", loading.address);
  load->add_option("--hosts", loading.hosts);
  CLI11_PARSE(app, argc, argv);
  if (making->parsed()) {
    AllowManyFiles();
    MakeNoise(noise);
  }
  if (load->parsed()) return bench::LoadHosts(loading);
  if (settings.loads.empty()) {
    for (const NoiseKind& kind : NoiseKinds()) settings.loads.emplace_back(kind.name);
    settings.loads.emplace_back(kAll);
  }
  settings.loads.insert(settings.loads.begin(), kAlone);
  bool good = false;
  {
    const CpuGroup group;
    if (!group.exists()) std::printf("no cgroup: see README.md\n");
    good = Run(settings);
    placement::EndPrivateCluster();
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace berth::fairness

int main(int argc, char** argv) {
  berth::services::SetUpLibraries();  // as trackers do
  return berth::fairness::Main(argc, argv);
}
