#include "services/cli/text/provider_tree.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/bar.h"
#include "services/cli/text/display_width.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kBarWidths[] = {10, 5, 0};
constexpr int kDepthMax = 64;
constexpr char kColumnGap[] = "   ";
constexpr char kSharingTrait[] = "MISC_SHARES_VIA_AGGREGATE";
constexpr const char* kTraitsOfInterest[] = {
    kSharingTrait,           "COMPUTE_STATUS_DISABLED", "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F",
    "HW_CPU_X86_AMD_SEV_ES", "HW_CPU_X86_AMD_SEV",      "HW_CPU_X86_SGX",  "HW_NIC_SRIOV"};

// One resource in a line of the tree.
struct Cell {
  std::string resource_class;
  int64_t used = 0;
  int64_t capacity = 0;
};

struct Line {
  std::string head;  // the tree lines and the provider's name
  std::vector<Cell> cells;
  std::vector<std::string> words;  // shown after the cells: the age of the report, traits
  bool aged = false;               // the first word is the age of the report
  int more_traits = 0;             // the number of traits that are not among the words
};

// The widths of the cells, the same in all lines.
struct Layout {
  int head = 0;
  std::vector<int> classes;
  std::vector<int> used;
  std::vector<int> capacity;
  int bar = 0;

  int CellWidth(size_t i) const {
    return classes[i] + 1 + (bar > 0 ? bar + 1 : 0) + used[i] + 1 + capacity[i];
  }
  int Width() const {
    int width = head;
    for (size_t i = 0; i < classes.size(); ++i) width += CellWidth(i) + 3;
    return width;
  }
};

std::string Age(const pb::ProviderOwner& owner, absl::Time now) {
  const absl::Time reported = absl::FromUnixMicros(
      google::protobuf::util::TimeUtil::TimestampToMicroseconds(owner.reported_at()));
  const absl::Duration age = std::max(absl::ZeroDuration(), now - reported);
  const std::pair<const char*, absl::Duration> units[] = {
      {"d", absl::Hours(24)}, {"h", absl::Hours(1)}, {"m", absl::Minutes(1)}};
  for (const auto& [name, unit] : units) {
    if (age >= unit) return absl::StrCat("reported ", age / unit, name, " ago");
  }
  return absl::StrCat("reported ", absl::ToInt64Seconds(age), "s ago");
}

std::vector<Cell> CellsOf(const pb::Provider& provider) {
  std::vector<Cell> cells;
  for (const auto& [name, inventory] : provider.inventories()) {
    cells.push_back({name, inventory.used(), inventory.capacity()});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& left, const Cell& right) {
    return ClassBefore(left.resource_class, right.resource_class);
  });
  return cells;
}

void AddWords(const pb::Provider& provider, const TreeOptions& options, Line* line) {
  if (provider.parent_uuid().empty() && provider.has_owner()) {
    line->words.push_back(Age(provider.owner(), options.now));
    line->aged = true;
  }
  for (const std::string& trait : provider.traits()) {
    if (options.all_traits || IsTraitOfInterest(trait)) {
      line->words.push_back(Printable(trait));
    } else {
      ++line->more_traits;
    }
  }
}

class TreeLines {
 public:
  TreeLines(const Providers& members, const Providers& sharing, const TreeOptions& options)
      : members_(members), sharing_(sharing), options_(options) {
    std::set<std::string> uuids;
    for (const pb::Provider& member : members) uuids.insert(member.uuid());
    for (const pb::Provider& member : members) {
      const bool root = member.parent_uuid().empty() || !uuids.contains(member.parent_uuid());
      children_[root ? "" : member.parent_uuid()].push_back(&member);
    }
    for (auto& [parent, children] : children_) {
      std::sort(children.begin(), children.end(),
                [](const pb::Provider* left, const pb::Provider* right) {
                  return std::make_pair(left->name(), left->uuid()) <
                         std::make_pair(right->name(), right->uuid());
                });
    }
  }

  std::vector<Line> Make() {
    for (const pb::Provider* root : children_[""]) {
      Add(*root, "");
      const std::vector<const pb::Provider*> shared = SharedWith(root->root_uuid());
      Descend(*root, "", shared.empty(), 0);
      for (size_t i = 0; i < shared.size(); ++i) {
        Add(*shared[i], i + 1 == shared.size() ? "└╌ shared: " : "├╌ shared: ");
      }
    }
    return std::move(lines_);
  }

 private:
  void Add(const pb::Provider& provider, const std::string& before) {
    Line& line = lines_.emplace_back();
    line.head = absl::StrCat(before, Printable(provider.name()));
    line.cells = CellsOf(provider);
    AddWords(provider, options_, &line);
  }

  void Descend(const pb::Provider& parent, const std::string& before, bool closes, int depth) {
    if (depth >= kDepthMax) return;
    const std::vector<const pb::Provider*>& children = children_[parent.uuid()];
    for (size_t i = 0; i < children.size(); ++i) {
      const bool last = closes && i + 1 == children.size();
      Add(*children[i], before + (last ? "└─ " : "├─ "));
      Descend(*children[i], before + (last ? "   " : "│  "), true, depth + 1);
    }
  }

  // Returns the providers of other trees that are in an aggregate of some member of this tree.
  std::vector<const pb::Provider*> SharedWith(const std::string& root_uuid) const {
    std::set<std::string> aggregates;
    for (const pb::Provider& member : members_) {
      if (member.root_uuid() != root_uuid) continue;
      aggregates.insert(member.aggregate_uuids().begin(), member.aggregate_uuids().end());
    }
    std::vector<const pb::Provider*> shared;
    for (const pb::Provider& provider : sharing_) {
      const bool meets =
          std::any_of(provider.aggregate_uuids().begin(), provider.aggregate_uuids().end(),
                      [&](const std::string& uuid) { return aggregates.contains(uuid); });
      if (provider.root_uuid() != root_uuid && meets) shared.push_back(&provider);
    }
    return shared;
  }

  const Providers& members_;
  const Providers& sharing_;
  const TreeOptions& options_;
  std::map<std::string, std::vector<const pb::Provider*>> children_;
  std::vector<Line> lines_;
};

Layout LayoutOf(const std::vector<Line>& lines, const Screen& screen) {
  Layout layout;
  for (const Line& line : lines) {
    layout.head = std::max(layout.head, DisplayWidth(line.head));
    const size_t count = std::max(layout.classes.size(), line.cells.size());
    layout.classes.resize(count);
    layout.used.resize(count);
    layout.capacity.resize(count);
    for (size_t i = 0; i < line.cells.size(); ++i) {
      const Cell& cell = line.cells[i];
      const auto widen = [](int* width, const std::string& text) {
        *width = std::max(*width, DisplayWidth(text));
      };
      widen(&layout.classes[i], cell.resource_class);
      widen(&layout.used[i], absl::StrCat(cell.used));
      widen(&layout.capacity[i], absl::StrCat(cell.capacity));
    }
  }
  for (const int width : kBarWidths) {
    layout.bar = screen.bars ? width : 0;
    if (screen.width == 0 || layout.Width() <= screen.width) break;
  }
  return layout;
}

std::string CellText(const Cell& cell, const Layout& layout, size_t i, const Screen& screen) {
  const std::string bar =
      layout.bar > 0 ? Bar(cell.used, cell.capacity, layout.bar, screen) + " " : "";
  return absl::StrCat(PaddedRight(cell.resource_class, layout.classes[i]), " ", bar,
                      PaddedLeft(absl::StrCat(cell.used), layout.used[i]), "/",
                      PaddedRight(absl::StrCat(cell.capacity), layout.capacity[i]));
}

// Returns how many traits are hidden: "+3 traits" if other traits are `shown`, else "3 traits".
std::string More(size_t hidden, bool shown) {
  if (hidden == 0) return "";
  return absl::StrCat(shown ? "+" : "", hidden, hidden == 1 ? " trait" : " traits");
}

// Returns as many words as fit into the remaining columns `room`, then the number of traits that
// are not shown. `room` -1: the columns are unlimited.
std::string Words(const Line& line, int room) {
  std::string text;
  std::string best;
  for (size_t said = 0; said <= line.words.size(); ++said) {
    if (said > 0) absl::StrAppend(&text, text.empty() ? "" : " ", line.words[said - 1]);
    const size_t unsaid = line.words.size() - said - (said == 0 && line.aged ? 1 : 0);
    const bool traits_shown = said > (line.aged ? 1 : 0);
    const std::string more = More(unsaid + line.more_traits, traits_shown);
    const char* gap = text.empty() || more.empty() ? "" : traits_shown ? " " : ", ";
    const std::string whole = absl::StrCat(text, gap, more);
    if (room < 0 || DisplayWidth(whole) <= room) best = whole;
  }
  return best;
}

std::string LineText(const Line& line, const Layout& layout, const Screen& screen) {
  std::string text = PaddedRight(line.head, layout.head);
  for (size_t i = 0; i < layout.classes.size(); ++i) {
    const int width = layout.CellWidth(i);
    const bool there = i < line.cells.size();
    const std::string cell = there ? CellText(line.cells[i], layout, i, screen) : "";
    absl::StrAppend(&text, kColumnGap, PaddedRight(cell, width));
  }
  if (!line.words.empty() || line.more_traits > 0) {
    const int room = screen.width == 0 ? -1 : std::max(0, screen.width - DisplayWidth(text) - 3);
    absl::StrAppend(&text, kColumnGap, Words(line, room));
  }
  absl::StripTrailingAsciiWhitespace(&text);
  return text + "\n";
}

}  // namespace

bool IsTraitOfInterest(const std::string& trait) {
  return absl::StartsWith(trait, "CUSTOM_") ||
         std::find(std::begin(kTraitsOfInterest), std::end(kTraitsOfInterest), trait) !=
             std::end(kTraitsOfInterest);
}

std::string ProviderTree(const Providers& members, const Providers& sharing,
                         const TreeOptions& options, const Screen& screen) {
  const std::vector<Line> lines = TreeLines(members, sharing, options).Make();
  const Layout layout = LayoutOf(lines, screen);
  std::string text;
  for (const Line& line : lines) absl::StrAppend(&text, LineText(line, layout, screen));
  return text;
}

}  // namespace berth::cli
