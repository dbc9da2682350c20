#include "tests/counted/counted_cases.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

constexpr size_t kColumns = 13;
constexpr char kHeading[] = "case";

using Words = std::set<std::string>;
const Words kMoves = {"", "cold", "resize", "live", "evacuation"};
const Words kContexts = {"", "own", "other", "unnamed", "no-old", "no-new", "applied", "grown"};
const Words kPlaces = {"source", "destination", "node", "host", "elsewhere", "nowhere"};
const Words kFlavors = {"old", "new"};
const Words kNodes = {"source",  "destination", "both",
                      "neither", "source-host", "destination-host"};
const Words kBeside = {"",          "older",          "newer", "newer-over", "newer-elsewhere",
                       "same-time", "created-earlier"};
const Words kCounts = {"", "instance", "old", "new", "instance+old", "instance+new"};
const Words kOwners = {"", "own", "old", "new", "own+old", "own+new", "old+new"};

void CheckWords(const CountedCase& one) {
  EXPECT_TRUE(kMoves.contains(one.move)) << one.move;
  EXPECT_TRUE(kContexts.contains(one.context)) << one.context;
  EXPECT_TRUE(kPlaces.contains(one.instance)) << one.instance;
  EXPECT_TRUE(kFlavors.contains(one.flavor)) << one.flavor;
  EXPECT_TRUE(kNodes.contains(one.node)) << one.node;
  EXPECT_TRUE(kBeside.contains(one.beside)) << one.beside;
  EXPECT_TRUE(kCounts.contains(one.counts)) << one.counts;
  EXPECT_TRUE(kOwners.contains(one.owners)) << one.owners;
  EXPECT_EQ(one.has_move(), !one.status.empty());
}

}  // namespace

std::vector<CountedCase> ReadCountedCases() {
  const char* const other = std::getenv("BERTH_COUNTED_CASES");
  const std::string path = other != nullptr ? other : BERTH_COUNTED_CASES_FILE;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<CountedCase> cases;
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    for (const absl::string_view cell : absl::StrSplit(line, '|')) {
      const absl::string_view word = absl::StripAsciiWhitespace(cell);
      cells.emplace_back(word == "-" ? "" : word);
    }
    SCOPED_TRACE(line);
    EXPECT_EQ(cells.size(), kColumns);
    if (cells.size() != kColumns || cells[0] == kHeading) continue;
    cases.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7],
                     cells[8], cells[9], cells[10], cells[11]});
    CheckWords(cases.back());
    EXPECT_TRUE(names.insert(cells[0]).second) << "two cases have this name";
  }
  EXPECT_GT(cases.size(), 100u);
  return cases;
}

}  // namespace berth
