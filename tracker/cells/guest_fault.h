// Describes what is wrong with the wishes of a flavor and an image: in words for people, and in a
// form for programs.
//
// Pure functions; values without state.
#ifndef BERTH_TRACKER_CELLS_GUEST_FAULT_H_
#define BERTH_TRACKER_CELLS_GUEST_FAULT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

enum class GuestFaultKind {
  kUnparsable,  // the text is no number, no list of CPUs, or no word that an image may have

  // A word that the setting does not know (T-271).
  kCpuPolicyUnknown,
  kThreadPolicyUnknown,
  kEmulatorPolicyUnknown,

  // The image and the flavor, or two settings of them, contradict each other.
  kCpuPolicyForbidden,  // the image asks for dedicated or mixed CPUs, the flavor for less (T-271)
  kThreadPolicyForbidden,  // the image's thread policy is not the flavor's (T-271)
  kNumaForbidden,          // flavor and image both describe cells (T-269)
  kPageSizeForbidden,      // the flavor does not let the image choose a page size (T-272)
  kLockedMemoryConflict,   // flavor and image do not agree whether memory is locked
  kResourcesConflict,      // resources:PCPU, or the hyperthreading trait, beside a policy (T-271)

  // A setting without the other setting that it needs.
  kThreadPolicyNeedsPinnedCpus,    // T-271
  kEmulatorPolicyNeedsPinnedCpus,  // T-271
  kRealtimeNeedsPinnedCpus,        // T-271
  kDedicatedMaskNeedsMixed,        // T-271
  kMixedNeedsOneMask,              // mixed takes a dedicated or a realtime mask, not both (T-271)
  kLockedMemoryNeedsPageSize,

  // A mask or a size that is out of range.
  kDedicatedMaskInvalid,  // the mask names no vCPU, every vCPU, or a vCPU that is not there (T-271)
  kRealtimeMaskInvalid,   // the same, for realtime vCPUs (T-271)
  kPageSizeInvalid,       // neither small, large, any nor a size (T-272)

  // The cells (T-269).
  kNodesInvalid,      // the number of cells is no whole number from 1 to 128
  kAsymmetric,        // vCPUs or memory cannot be divided evenly over the cells
  kIncomplete,        // CPUs and memory are not given for every cell
  kCpuOutOfRange,     // a cell names a vCPU that the guest does not have
  kCpuDuplicate,      // two cells name one vCPU
  kCpusUnassigned,    // a vCPU is in no cell
  kMemoryOutOfRange,  // the memory of all cells together is not the flavor's
};

struct GuestFault {
  GuestFaultKind kind = GuestFaultKind::kUnparsable;
  std::string field;  // the flavor's extra spec or the image's property, for example hw:numa_nodes

  friend bool operator==(const GuestFault&, const GuestFault&) = default;
};

// Returns InvalidArgument with the message `field: message`. FaultOf reads kind and field back from
// this status.
absl::Status RefuseGuest(GuestFaultKind kind, absl::string_view field, absl::string_view message);
// Returns nothing if `status` is not from RefuseGuest.
std::optional<GuestFault> FaultOf(const absl::Status& status);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_GUEST_FAULT_H_
