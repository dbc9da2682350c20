// CandidateOrder: which candidates come first, as its author wrote it.
//
// A plain value. Everything is decided in whole numbers, so that every server on every machine
// answers the same.
#ifndef BERTH_PLACEMENT_CANDIDATE_ORDER_H_
#define BERTH_PLACEMENT_CANDIDATE_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace berth::placement {

enum class Strategy {
  kFirst,   // by rising root id (P-209)
  kSpread,  // where most is free
  kPack,    // where least is free
  kRandom,  // by chance, from the seed
};

struct NamedWeight {
  std::string name;
  double weight = 0;
};

struct CandidateOrder {
  Strategy strategy = Strategy::kFirst;
  std::vector<NamedWeight> class_weights;  // 0..1000; empty: 1 for each class asked for
  std::vector<NamedWeight> trait_weights;  // -1000..1000
  uint64_t seed = 0;                       // of kRandom

  // Whether anything but the root's id decides.
  bool given() const { return strategy != Strategy::kFirst || !trait_weights.empty(); }
};

inline constexpr double kWeightMax = 1000;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CANDIDATE_ORDER_H_
