// Random worlds and requests: small ones, in which all that requests can ask for comes up.
//
// Drawn from a seed: the same seed gives the same world and the same requests.
#ifndef BERTH_TESTS_WORLDS_RANDOM_REQUESTS_H_
#define BERTH_TESTS_WORLDS_RANDOM_REQUESTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "placement/values/candidate.h"
#include "tests/worlds/world.h"

namespace berth::placement {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  // 0 to below `sides`.
  int Roll(int sides) { return static_cast<int>(engine_() % static_cast<uint64_t>(sides)); }
  bool Chance(int percent) { return Roll(100) < percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Roll(static_cast<int>(from.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

// The names that requests choose among.
const std::vector<std::string>& Classes();
const std::vector<std::string>& Traits();
const std::vector<std::string>& Aggregates();

// A world of one to four trees, partly filled.
struct RandomWorld {
  RandomWorld(Dice& dice, bool sharing);
  World world;
  std::string notation;
  int providers = 0;
};

// A request over `world`; well-formed but for some that ask for nothing where they must.
CandidateRequest RandomRequest(Dice& dice, RandomWorld& world, bool suffixed);

// The number that an environment variable holds, or `otherwise`.
uint64_t NumberFrom(const char* variable, uint64_t otherwise);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_RANDOM_REQUESTS_H_
