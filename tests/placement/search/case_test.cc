// Search cases as text files. Each holds a world, requests and their answers, so that changed
// answers are reviewed as a diff.
//
// Each file of cases/ begins with a description. A line `world` follows, and below it, indented,
// the world in the notation of world.h. Then follow the requests: a line `ask ...`
// (request_notation.h), and below it the answer, up to an empty line. The test runs all requests
// and compares the text. `search_case_test --rewrite` writes the present answers into the files
// instead.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

bool rewrite = false;

constexpr size_t kCandidatesShown = 12;

std::vector<std::string> LinesOf(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The answer to one request: counts, then the first candidates in their order.
std::string AnswerTo(World& world, absl::string_view text) {
  const CandidateRequest request = ParseRequest(world, text);
  const absl::StatusOr<SearchResult> found = FindCandidates(world.state(), request, {});
  if (!found.ok()) return absl::StrCat(found.status().message(), "\n");
  int64_t providers = 0;
  for (const Tree* const tree : found->trees) providers += tree->size();
  std::string answer = absl::StrCat(found->candidates.size(), " candidates, ", providers,
                                    " providers", found->truncated ? ", cut" : "", "\n");
  for (size_t i = 0; i < found->candidates.size() && i < kCandidatesShown; ++i) {
    const PlainCandidate plain = Plain(world.state(), found->candidates[i]);
    absl::StrAppend(&answer, "  ", ToString(world.state(), plain), "\n");
  }
  if (found->candidates.size() > kCandidatesShown) absl::StrAppend(&answer, "  ...\n");
  return answer;
}

// The text of a file with its answers replaced by those that the search gives now.
std::string Answered(const std::string& text) {
  std::string out;
  std::string notation;
  World world;
  bool in_world = false;
  bool in_answer = false;
  for (const std::string& line : LinesOf(absl::StrCat(absl::StripSuffix(text, "\n")))) {
    if (in_world && !line.empty()) absl::StrAppend(&notation, line, "\n");
    if (in_world && line.empty()) world.Add(notation);
    if (line.empty() || line == "world") in_world = in_answer = false;
    if (in_answer) continue;
    absl::StrAppend(&out, line, "\n");
    if (line == "world") in_world = true;
    absl::string_view ask = line;
    if (!absl::ConsumePrefix(&ask, "ask ")) continue;
    in_answer = true;
    absl::StrAppend(&out, AnswerTo(world, ask));
  }
  return out;
}

TEST(SearchCases, AreAnsweredAsWritten) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_SEARCH_CASES)) {
    ++files;
    const std::string text = ReadAll(entry.path());
    const std::string answered = Answered(text);
    if (rewrite) {
      std::ofstream(entry.path()) << answered;
    } else {
      EXPECT_EQ(text, answered) << entry.path() << "; search_case_test --rewrite takes it over";
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace berth::placement

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  berth::placement::rewrite = argc > 1 && absl::string_view(argv[1]) == "--rewrite";
  return RUN_ALL_TESTS();
}
