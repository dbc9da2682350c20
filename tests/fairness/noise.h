// Noise makers: callers who ask for as much as they can get. Each is a process of its own at nice 19.
#ifndef BERTH_TESTS_FAIRNESS_NOISE_H_
#define BERTH_TESTS_FAIRNESS_NOISE_H_

#include <string>
#include <vector>

namespace berth::fairness {

struct NoiseSettings {
  std::string kind;
  std::string address;
  int hosts = 0;
  int seconds_max = 60;  // the process ends itself after so long
};

// A kind of noise.
struct NoiseKind {
  const char* name;
  const char* identity;  // of whoever makes it
  const char* words;     // what it does, for people
};
const std::vector<NoiseKind>& NoiseKinds();

// Makes noise of a kind that NoiseKinds has. Prints a line when it has begun, and goes on until
// standard input ends. Then prints how many calls were answered, refused and failed, as JSON, and ends
// the process. Calls with the certificate of the environment (tests/bench/credentials.h).
[[noreturn]] void MakeNoise(const NoiseSettings& settings);

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_NOISE_H_
