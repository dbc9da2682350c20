// The table that says which trait each CPU feature gives to a node.
//
// Constant data.
#ifndef BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
#define BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_

#include <span>

namespace berth::tracker {

// A feature as libvirt names it, and a trait that a node with this feature has. A feature may occur
// in several entries, and so may a trait: one of its features is enough.
struct CpuFeatureTrait {
  const char* feature;
  const char* trait;
};

std::span<const CpuFeatureTrait> CpuFeatureTraits();

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
