// Golden files: what a screen looked like when somebody last looked at it.
//
// BERTH_REWRITE_GOLDEN=1 writes them anew; review the difference like code.
#ifndef BERTH_TESTS_SERVICES_CLI_CLI_GOLDEN_H_
#define BERTH_TESTS_SERVICES_CLI_CLI_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace berth::cli {

// Expects `text` to be what stands in golden/`name`.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(BERTH_GOLDEN_DIRECTORY) + "/" + name;
  if (std::getenv("BERTH_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is not there: BERTH_REWRITE_GOLDEN=1 writes it";
  const std::string golden((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  EXPECT_EQ(text, golden) << "differs from " << path;
}

}  // namespace berth::cli

#endif  // BERTH_TESTS_SERVICES_CLI_CLI_GOLDEN_H_
