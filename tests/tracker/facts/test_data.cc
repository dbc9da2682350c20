#include "tests/tracker/facts/test_data.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace berth::tracker {

std::string TestDataPath(const std::string& name) {
  return absl::StrCat(BERTH_TRACKER_TEST_DATA, "/", name);
}

std::string TestData(const std::string& name) {
  std::ifstream file(TestDataPath(name));
  if (!file) {
    std::fprintf(stderr, "no test data %s\n", name.c_str());
    std::abort();
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

uint64_t TestSeed() {
  const char* const given = std::getenv("BERTH_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace berth::tracker
