// The table that says which trait each CPU feature gives to a node.
//
// Constant data.
#ifndef BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
#define BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_

#include <span>

namespace berth::tracker {

// A CPU feature as libvirt names it, and a trait that a node with this feature has. Several entries
// may have the same feature, or the same trait. A node that has one of the features of a trait has
// the trait.
struct CpuFeatureTrait {
  const char* feature;
  const char* trait;
};

std::span<const CpuFeatureTrait> CpuFeatureTraits();

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
