#include "tracker/cells/cpu_wishes.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tracker/cells/guest_fault.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

using Kind = GuestFaultKind;

absl::Status UnknownWord(Kind kind, absl::string_view name, absl::string_view word,
                         absl::string_view known) {
  return RefuseGuest(kind, name, absl::StrCat("must be ", known, ", but is '", word, "'"));
}

std::optional<CpuPolicy> CpuPolicyOf(absl::string_view word) {
  if (word == "shared") return CpuPolicy::kShared;
  if (word == "dedicated") return CpuPolicy::kDedicated;
  if (word == "mixed") return CpuPolicy::kMixed;
  return std::nullopt;
}

std::optional<CpuThreadPolicy> ThreadPolicyOf(absl::string_view word) {
  if (word == "prefer") return CpuThreadPolicy::kPrefer;
  if (word == "isolate") return CpuThreadPolicy::kIsolate;
  if (word == "require") return CpuThreadPolicy::kRequire;
  return std::nullopt;
}

absl::Status ReadPolicy(const GuestWishes& wishes, CpuWishes* out) {
  const absl::string_view word = SettingOf(wishes.flavor, "hw:cpu_policy");
  const std::optional<CpuPolicy> flavor = CpuPolicyOf(word);
  const std::optional<CpuPolicy> image = CpuPolicyOf(SettingOf(wishes.image, "hw_cpu_policy"));
  if (!flavor && !word.empty())
    return UnknownWord(Kind::kCpuPolicyUnknown, "hw:cpu_policy", word,
                       "shared, dedicated or mixed");
  const bool more_than_shared = flavor == CpuPolicy::kShared && image && image != flavor;
  const bool more_than_mixed = flavor == CpuPolicy::kMixed && image == CpuPolicy::kDedicated;
  if (more_than_shared || more_than_mixed) {
    return RefuseGuest(
        Kind::kCpuPolicyForbidden, "hw_cpu_policy",
        absl::StrCat("the image asks for more dedicated CPUs than the flavor's policy ", word,
                     " allows"));
  }
  out->policy = flavor ? flavor : image;
  return absl::OkStatus();
}

// Reads the thread policy. The flavor's policy decides; the image may choose only if the flavor
// gives none.
absl::Status ReadThreadPolicy(const GuestWishes& wishes, CpuWishes* out) {
  const auto found = wishes.flavor.find("hw:cpu_thread_policy");
  const std::optional<CpuThreadPolicy> image =
      ThreadPolicyOf(SettingOf(wishes.image, "hw_cpu_thread_policy"));
  if (found == wishes.flavor.end()) {
    out->thread_policy = image;
    return absl::OkStatus();
  }
  const std::optional<CpuThreadPolicy> flavor = ThreadPolicyOf(found->second);
  if (!flavor && !found->second.empty()) {
    return UnknownWord(Kind::kThreadPolicyUnknown, "hw:cpu_thread_policy", found->second,
                       "prefer, isolate or require");
  }
  if (flavor != CpuThreadPolicy::kPrefer && image && image != flavor) {
    return RefuseGuest(Kind::kThreadPolicyForbidden, "hw_cpu_thread_policy",
                       "the image asks for another thread policy than the flavor");
  }
  out->thread_policy = flavor;
  return absl::OkStatus();
}

absl::Status ReadEmulatorThreadsPolicy(const GuestWishes& wishes, CpuWishes* out) {
  const absl::string_view word = SettingOf(wishes.flavor, "hw:emulator_threads_policy");
  if (word == "share") out->emulator_threads_policy = EmulatorThreadsPolicy::kShare;
  if (word == "isolate") out->emulator_threads_policy = EmulatorThreadsPolicy::kIsolate;
  if (word.empty() || out->emulator_threads_policy) return absl::OkStatus();
  return UnknownWord(Kind::kEmulatorPolicyUnknown, "hw:emulator_threads_policy", word,
                     "share or isolate");
}

// Reads a list of virtual CPUs. If it begins with ^, it lists the CPUs that are excluded, and the
// result is all other virtual CPUs.
absl::StatusOr<CpuSet> ReadMask(absl::string_view name, absl::string_view text, int vcpus) {
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "^")) return ReadCpus(name, text);
  return ReadCpus(name, absl::StrCat("0-", vcpus - 1, ",", text));
}

// Returns the realtime vCPUs, or none if the flavor asks for none. The mask of the image, if there
// is one, replaces the mask of the flavor.
absl::StatusOr<CpuSet> ReadRealtimeMask(const GuestWishes& wishes, const CpuWishes& cpus) {
  if (!IsYes(SettingOf(wishes.flavor, "hw:cpu_realtime"))) return CpuSet();
  const CpuSet all = CpuSet::Range(0, wishes.vcpus - 1);
  absl::string_view name = "hw_cpu_realtime_mask";
  absl::string_view text = SettingOf(wishes.image, name);
  if (text.empty()) {
    name = "hw:cpu_realtime_mask";
    text = SettingOf(wishes.flavor, name);
  }
  const absl::StatusOr<CpuSet> mask = text.empty() ? all : ReadMask(name, text, wishes.vcpus);
  if (!mask.ok()) return mask;
  const bool needs_other = *mask == all && !cpus.emulator_threads_policy;
  if (mask->empty() || needs_other || !mask->IsSubsetOf(all)) {
    return RefuseGuest(
        Kind::kRealtimeMaskInvalid, name,
        "must name at least one of the guest's vCPUs, and may name all of them only if "
        "hw:emulator_threads_policy is set");
  }
  return mask;
}

absl::StatusOr<CpuSet> ReadDedicatedMask(const GuestWishes& wishes) {
  constexpr absl::string_view kName = "hw:cpu_dedicated_mask";
  const absl::string_view text = SettingOf(wishes.flavor, kName);
  if (text.empty()) return CpuSet();
  const absl::StatusOr<CpuSet> mask = ReadMask(kName, text, wishes.vcpus);
  if (!mask.ok()) return mask;
  const CpuSet all = CpuSet::Range(0, wishes.vcpus - 1);
  if (!mask->empty() && *mask != all && mask->IsSubsetOf(all)) return mask;
  return RefuseGuest(Kind::kDedicatedMaskInvalid, kName,
                     "must name some of the guest's vCPUs, but not all of them");
}

// Whether `key` is `prefix`, perhaps with the number of a request group, then `:` and `name`: for
// example resources:PCPU and resources2:PCPU.
bool IsGroupKey(absl::string_view key, absl::string_view prefix, absl::string_view name) {
  if (!absl::ConsumePrefix(&key, prefix) || !absl::ConsumeSuffix(&key, name)) return false;
  if (!absl::ConsumeSuffix(&key, ":")) return false;
  int group = 0;
  return key.empty() || (absl::ascii_isdigit(key[0]) && absl::SimpleAtoi(key, &group) && group > 0);
}

// The sum of the flavor's wishes for the resource class. An amount that is no number counts as 0
// here: it is refused later, by the function that asks placement for it.
int64_t Requested(const GuestWishes& wishes, absl::string_view resource_class) {
  int64_t sum = 0;
  for (const auto& [key, text] : wishes.flavor) {
    int amount = 0;
    if (IsGroupKey(key, "resources", resource_class) && !absl::StrContains(text, '+') &&
        absl::SimpleAtoi(text, &amount)) {
      sum += amount;
    }
  }
  return sum;
}

// Reads wishes for the classes VCPU and PCPU, which are another form of the policies shared and
// dedicated. If emulator threads are isolated, the flavor asks for one PCPU more than the guest has
// vCPUs.
absl::Status ReadResources(const GuestWishes& wishes, CpuWishes* out) {
  const int64_t shared = Requested(wishes, "VCPU");
  const int64_t dedicated = Requested(wishes, "PCPU");
  if (shared == 0 && dedicated == 0) return absl::OkStatus();
  const absl::string_view name = dedicated != 0 ? "resources:PCPU" : "resources:VCPU";
  if (out->policy || (shared != 0 && dedicated != 0)) {
    return RefuseGuest(
        Kind::kResourcesConflict, name,
        "give only one of these three: resources:VCPU, resources:PCPU, or a CPU policy");
  }
  const bool isolate = out->emulator_threads_policy == EmulatorThreadsPolicy::kIsolate;
  if (dedicated != 0 && dedicated != wishes.vcpus + (isolate ? 1 : 0)) {
    return RefuseGuest(
        Kind::kResourcesConflict, name,
        absl::StrCat("must be ", wishes.vcpus + (isolate ? 1 : 0), ", one for each vCPU",
                     isolate ? " and one for the emulator threads" : "", ", but is ", dedicated));
  }
  out->policy = dedicated != 0 ? CpuPolicy::kDedicated : CpuPolicy::kShared;
  return absl::OkStatus();
}

// Reads the trait for hyperthreading, which is another form of the thread policy: "required" means
// require, "forbidden" means isolate.
absl::Status ReadHyperthreading(const GuestWishes& wishes, CpuWishes* out) {
  constexpr absl::string_view kTrait = "HW_CPU_HYPERTHREADING";
  std::string word;
  for (const auto& [key, text] : wishes.flavor) {
    if (IsGroupKey(key, "trait", kTrait)) word = text;
  }
  if (word.empty() && SettingOf(wishes.image, absl::StrCat("trait:", kTrait)) == "required") {
    word = "required";
  }
  if (word.empty()) return absl::OkStatus();
  if (out->thread_policy) {
    return RefuseGuest(Kind::kResourcesConflict, absl::StrCat("trait:", kTrait),
                       "give either this trait or hw:cpu_thread_policy");
  }
  if (word == "required") out->thread_policy = CpuThreadPolicy::kRequire;
  if (word == "forbidden") out->thread_policy = CpuThreadPolicy::kIsolate;
  return absl::OkStatus();
}

absl::Status CheckWithoutPins(const CpuWishes& cpus, const CpuSet& realtime) {
  if (cpus.thread_policy) {
    return RefuseGuest(Kind::kThreadPolicyNeedsPinnedCpus, "hw:cpu_thread_policy",
                       "is only allowed together with dedicated CPUs");
  }
  if (cpus.emulator_threads_policy == EmulatorThreadsPolicy::kIsolate) {
    return RefuseGuest(Kind::kEmulatorPolicyNeedsPinnedCpus, "hw:emulator_threads_policy",
                       "isolate is only allowed together with dedicated CPUs");
  }
  if (!realtime.empty()) {
    return RefuseGuest(Kind::kRealtimeNeedsPinnedCpus, "hw:cpu_realtime",
                       "is only allowed together with dedicated CPUs");
  }
  return absl::OkStatus();
}

// Sets `pinned` of `out` to the vCPUs that are pinned according to the CPU policy of `out`.
absl::Status ChoosePinned(const GuestWishes& wishes, const CpuSet& dedicated,
                          const CpuSet& realtime, CpuWishes* out) {
  if (!out->wants_pins()) return CheckWithoutPins(*out, realtime);
  if (out->policy == CpuPolicy::kDedicated) {
    out->pinned = CpuSet::Range(0, wishes.vcpus - 1);
    if (dedicated.empty()) return absl::OkStatus();
    return RefuseGuest(Kind::kDedicatedMaskNeedsMixed, "hw:cpu_dedicated_mask",
                       "is only allowed together with hw:cpu_policy=mixed");
  }
  if (dedicated.empty() == realtime.empty()) {
    return RefuseGuest(Kind::kMixedNeedsOneMask, "hw:cpu_policy",
                       "mixed needs exactly one of hw:cpu_dedicated_mask and hw:cpu_realtime");
  }
  out->pinned = dedicated.Or(realtime);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CpuWishes> ReadCpuWishes(const GuestWishes& wishes) {
  CpuWishes cpus;
  for (const auto read : {ReadPolicy, ReadThreadPolicy, ReadEmulatorThreadsPolicy}) {
    BERTH_RETURN_IF_ERROR(read(wishes, &cpus));
  }
  BERTH_ASSIGN_OR_RETURN(const CpuSet realtime, ReadRealtimeMask(wishes, cpus));
  BERTH_ASSIGN_OR_RETURN(const CpuSet dedicated, ReadDedicatedMask(wishes));
  for (const auto read : {ReadResources, ReadHyperthreading}) {
    BERTH_RETURN_IF_ERROR(read(wishes, &cpus));
  }
  BERTH_RETURN_IF_ERROR(ChoosePinned(wishes, dedicated, realtime, &cpus));
  return cpus;
}

}  // namespace berth::tracker
