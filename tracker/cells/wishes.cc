#include "tracker/cells/wishes.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tracker/cells/guest_fault.h"

namespace berth::tracker {
namespace {

struct ImageWords {
  absl::string_view name;
  std::vector<absl::string_view> words;
};

const std::vector<ImageWords>& WordsOfImages() {
  static const auto* const words = new std::vector<ImageWords>{
      {"hw_cpu_policy", {"shared", "dedicated", "mixed"}},
      {"hw_cpu_thread_policy", {"prefer", "isolate", "require"}},
      {"hw_pci_numa_affinity_policy", {"required", "preferred", "legacy", "socket"}}};
  return *words;
}

}  // namespace

absl::string_view SettingOf(const SettingsByName& settings, absl::string_view name) {
  const auto found = settings.find(std::string(name));
  return found == settings.end() ? absl::string_view() : absl::string_view(found->second);
}

bool IsYes(absl::string_view text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  constexpr std::array<absl::string_view, 6> kYes = {"1", "t", "true", "on", "y", "yes"};
  return std::find(kYes.begin(), kYes.end(), word) != kYes.end();
}

absl::StatusOr<CpuSet> ReadCpus(absl::string_view name, absl::string_view text) {
  absl::StatusOr<CpuSet> cpus = CpuSet::ParseMaybeEmpty(text);
  if (cpus.ok()) return cpus;
  return RefuseGuest(GuestFaultKind::kUnparsable, name, cpus.status().message());
}

absl::StatusOr<int64_t> ReadNumber(absl::string_view name, absl::string_view text) {
  int64_t number = 0;
  if (!absl::StrContains(text, '+') && absl::SimpleAtoi(text, &number)) return number;
  return RefuseGuest(GuestFaultKind::kUnparsable, name,
                     absl::StrCat("'", text, "' is not a whole number"));
}

absl::Status CheckImage(const SettingsByName& image) {
  for (const ImageWords& property : WordsOfImages()) {
    const auto found = image.find(std::string(property.name));
    if (found == image.end()) continue;
    const std::vector<absl::string_view>& words = property.words;
    if (std::find(words.begin(), words.end(), found->second) == words.end()) {
      return RefuseGuest(GuestFaultKind::kUnparsable, property.name,
                         absl::StrCat("must be one of ", absl::StrJoin(words, ", "), ", but is '",
                                      found->second, "'"));
    }
  }
  for (const auto& [name, text] : image) {
    absl::Status status;
    if (name == "hw_numa_nodes" || absl::StartsWith(name, "hw_numa_mem.")) {
      status = ReadNumber(name, text).status();
    } else if (absl::StartsWith(name, "hw_numa_cpus.")) {
      status = ReadCpus(name, text).status();
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace berth::tracker
