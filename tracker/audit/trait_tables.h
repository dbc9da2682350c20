// Which CPU feature stands for which trait.
#ifndef BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
#define BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_

#include <span>

namespace berth::tracker {

// A feature in libvirt's words and a trait that it stands for. A feature may stand for several.
struct CpuFeatureTrait {
  const char* feature;
  const char* trait;
};

std::span<const CpuFeatureTrait> CpuFeatureTraits();

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_TRAIT_TABLES_H_
