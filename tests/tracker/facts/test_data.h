// Files of tests/tracker/data and the seed of random tests.
#ifndef BERTH_TESTS_TRACKER_FACTS_TEST_DATA_H_
#define BERTH_TESTS_TRACKER_FACTS_TEST_DATA_H_

#include <cstdint>
#include <string>

namespace berth::tracker {

// Where a file of tests/tracker/data is.
std::string TestDataPath(const std::string& name);

// The text of a file in tests/tracker/data; ends the process when it is not there.
std::string TestData(const std::string& name);

// The seed from BERTH_SEED, or a new one; printed, so that a failure can be repeated.
uint64_t TestSeed();

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_FACTS_TEST_DATA_H_
