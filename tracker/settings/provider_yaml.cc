#include "tracker/settings/provider_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr int64_t kNumberMax = 2147483647;
constexpr size_t kCustomNameMax = 255;
constexpr int64_t kNameMax = 200;
constexpr char kEveryRoot[] = "$COMPUTE_NODE";

// The fields of a map by their names.
using YamlFields = std::vector<std::pair<std::string, YAML::Node>>;

const YAML::Node* FindField(const YamlFields& fields, absl::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [name](const auto& field) { return field.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

// Whether `name` is CUSTOM_ and upper-case letters, digits and underscores.
bool IsCustom(absl::string_view name) {
  if (name.size() > kCustomNameMax || !absl::ConsumePrefix(&name, "CUSTOM_")) return false;
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isupper(letter) != 0 || std::isdigit(letter) != 0 || letter == '_';
  });
}

int64_t Characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
}

// YAML says with quotes that a text which looks like a number is not a number.
bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

class ProviderYaml {
 public:
  ProviderYaml(std::string file, ProviderFiles* files) : file_(std::move(file)), files_(files) {}

  absl::Status Read(const std::string& text) {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1 || !documents[0].IsMap()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ":1: the file must be one map with the fields meta and providers"));
    }
    BERTH_RETURN_IF_ERROR(ReadVersion(documents[0]));
    BERTH_ASSIGN_OR_RETURN(const YamlFields fields,
                           Fields(documents[0], "", {"meta", "providers"}));
    const YAML::Node* const providers = FindField(fields, "providers");
    if (providers == nullptr) return absl::OkStatus();
    BERTH_RETURN_IF_ERROR(CheckList(*providers, "providers"));
    for (size_t i = 0; i < providers->size(); ++i) {
      BERTH_RETURN_IF_ERROR(ReadEntry((*providers)[i], absl::StrCat("providers[", i, "]")));
    }
    return absl::OkStatus();
  }

 private:
  std::string Place(const YAML::Node& at) const {
    return absl::StrCat(file_, ":", at.Mark().line + 1);
  }
  absl::Status Wrong(const YAML::Node& at, absl::string_view field, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Place(at), ": ", field, ": ", what));
  }

  // Returns the fields of a map. Refuses a field that is there twice, and a field that is not in
  // `known`, unless the file has a newer version than this code. If `known` is empty, every field is
  // known.
  absl::StatusOr<YamlFields> Fields(const YAML::Node& map, const std::string& path,
                                    const std::vector<absl::string_view>& known) const {
    if (!map.IsMap()) return Wrong(map, path, "must be a map");
    YamlFields fields;
    for (const auto& field : map) {
      const std::string name = field.first.IsScalar() ? field.first.Scalar() : "?";
      const std::string inner = path.empty() ? name : absl::StrCat(path, ".", name);
      if (FindField(fields, name) != nullptr) return Wrong(field.first, inner, "is there twice");
      const bool is_known =
          known.empty() || std::find(known.begin(), known.end(), name) != known.end();
      if (!is_known && !newer_) return Wrong(field.first, inner, "is not a known field");
      fields.emplace_back(name, field.second);
    }
    return fields;
  }
  absl::Status CheckList(const YAML::Node& node, const std::string& path) const {
    return node.IsSequence() ? absl::OkStatus() : Wrong(node, path, "must be a list");
  }

  // The version decides whether other fields may be unknown, so it is read first.
  absl::Status ReadVersion(const YAML::Node& root) {
    constexpr char kField[] = "meta.schema_version";
    const YAML::Node meta = root["meta"];
    const YAML::Node version = meta && meta.IsMap() ? meta["schema_version"] : YAML::Node();
    if (!version || !version.IsScalar()) return Wrong(meta ? meta : root, kField, "is missing");
    const std::vector<std::string> parts = absl::StrSplit(version.Scalar(), '.');
    int major = 0;
    int minor = 0;
    if (!IsQuoted(version) || parts.size() != 2 || !absl::SimpleAtoi(parts[0], &major) ||
        !absl::SimpleAtoi(parts[1], &minor) || minor < 0) {
      return Wrong(version, kField, "must be a version in quotes, such as '1.0'");
    }
    if (major != 1) {
      return Wrong(version, kField,
                   absl::StrCat("is ", version.Scalar(), ", but only versions 1.N are supported"));
    }
    newer_ = minor > 0;
    if (newer_) {
      files_->warnings.push_back(absl::StrCat(
          Place(version), ": schema version ", version.Scalar(),
          " is newer than 1.0, so fields that this release does not know have no effect"));
    }
    return Fields(meta, "meta", {"schema_version"}).status();
  }

  absl::Status ReadEntry(const YAML::Node& node, const std::string& path) {
    BERTH_ASSIGN_OR_RETURN(const YamlFields fields, Fields(node, path, {}));
    if (const YAML::Node* const reserved = FindField(fields, "__source_file")) {
      return Wrong(*reserved, path + ".__source_file", "is a reserved name");
    }
    ProviderEntry entry;
    entry.source = Place(node);
    const YAML::Node* const who = FindField(fields, "identification");
    if (who == nullptr) return Wrong(node, path + ".identification", "is missing");
    BERTH_RETURN_IF_ERROR(ReadIdentification(*who, path + ".identification", &entry));
    if (const YAML::Node* const inventories = FindField(fields, "inventories")) {
      BERTH_RETURN_IF_ERROR(ReadInventories(*inventories, path + ".inventories", &entry));
    }
    if (const YAML::Node* const traits = FindField(fields, "traits")) {
      BERTH_RETURN_IF_ERROR(ReadTraits(*traits, path + ".traits", &entry));
    }
    files_->entries.push_back(std::move(entry));
    return absl::OkStatus();
  }

  absl::Status ReadIdentification(const YAML::Node& node, const std::string& path,
                                  ProviderEntry* entry) const {
    BERTH_ASSIGN_OR_RETURN(const YamlFields fields, Fields(node, path, {"uuid", "name"}));
    const YAML::Node* const uuid = FindField(fields, "uuid");
    const YAML::Node* const name = FindField(fields, "name");
    if ((uuid == nullptr) == (name == nullptr)) {
      return Wrong(node, path, "must have either uuid or name");
    }
    if (name != nullptr) {
      const bool good = name->IsScalar() && Characters(name->Scalar()) >= 1 &&
                        Characters(name->Scalar()) <= kNameMax;
      if (!good) return Wrong(*name, path + ".name", "must have 1 to 200 characters");
      entry->name = name->Scalar();
      return absl::OkStatus();
    }
    const std::string text = uuid->IsScalar() ? uuid->Scalar() : "";
    const std::optional<Uuid> parsed = ParseName(text);
    if (!parsed && text != kEveryRoot) {
      return Wrong(*uuid, path + ".uuid", "must be a uuid or $COMPUTE_NODE");
    }
    entry->uuid = parsed.value_or(Uuid());
    return absl::OkStatus();
  }

  // Returns the list `additional` of `node`, an empty one if it is absent.
  absl::StatusOr<YAML::Node> Additional(const YAML::Node& node, const std::string& path) const {
    BERTH_ASSIGN_OR_RETURN(const YamlFields fields, Fields(node, path, {"additional"}));
    const YAML::Node* const list = FindField(fields, "additional");
    if (list == nullptr) return YAML::Node(YAML::NodeType::Sequence);
    BERTH_RETURN_IF_ERROR(CheckList(*list, path + ".additional"));
    return *list;
  }

  absl::Status ReadInventories(const YAML::Node& node, const std::string& path,
                               ProviderEntry* entry) const {
    BERTH_ASSIGN_OR_RETURN(const YAML::Node list, Additional(node, path));
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string item = absl::StrCat(path, ".additional[", i, "]");
      BERTH_ASSIGN_OR_RETURN(const YamlFields classes, Fields(list[i], item, {}));
      for (const auto& [name, value] : classes) {
        const std::string at = absl::StrCat(item, ".", name);
        if (!IsCustom(name)) return Wrong(value, at, "must be a class whose name is CUSTOM_...");
        BERTH_ASSIGN_OR_RETURN(const AddedInventory inventory, ReadInventory(value, at));
        if (!entry->inventories.emplace(name, inventory).second) {
          return Wrong(value, at, "is there twice");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<AddedInventory> ReadInventory(const YAML::Node& node,
                                               const std::string& path) const {
    BERTH_ASSIGN_OR_RETURN(
        const YamlFields fields,
        Fields(node, path,
               {"total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"}));
    if (FindField(fields, "total") == nullptr) return Wrong(node, path + ".total", "is missing");
    AddedInventory inventory;
    const std::pair<const char*, int64_t*> numbers[] = {{"total", &inventory.total},
                                                        {"reserved", &inventory.reserved},
                                                        {"min_unit", &inventory.min_unit},
                                                        {"max_unit", &inventory.max_unit},
                                                        {"step_size", &inventory.step_size}};
    for (const auto& [name, target] : numbers) {
      const YAML::Node* const value = FindField(fields, name);
      if (value == nullptr) continue;
      const int64_t min = target == &inventory.reserved ? 0 : 1;
      if (!value->IsScalar() || IsQuoted(*value) || !absl::SimpleAtoi(value->Scalar(), target) ||
          *target < min || *target > kNumberMax) {
        return Wrong(*value, absl::StrCat(path, ".", name),
                     absl::StrCat("must be a whole number from ", min, " to ", kNumberMax));
      }
    }
    if (inventory.reserved > inventory.total) {
      return Wrong(node, path + ".reserved", "must not be more than the total");
    }
    const YAML::Node* const ratio = FindField(fields, "allocation_ratio");
    if (ratio == nullptr) return inventory;
    double& value = inventory.allocation_ratio;
    if (!ratio->IsScalar() || IsQuoted(*ratio) || !absl::SimpleAtod(ratio->Scalar(), &value) ||
        !(value > 0 && value <= std::numeric_limits<float>::max())) {
      return Wrong(*ratio, path + ".allocation_ratio", "must be a number above 0");
    }
    return inventory;
  }

  absl::Status ReadTraits(const YAML::Node& node, const std::string& path,
                          ProviderEntry* entry) const {
    BERTH_ASSIGN_OR_RETURN(const YAML::Node list, Additional(node, path));
    for (size_t i = 0; i < list.size(); ++i) {
      const YAML::Node item = list[i];
      if (!item.IsScalar() || !IsCustom(item.Scalar())) {
        return Wrong(item, absl::StrCat(path, ".additional[", i, "]"),
                     "must be a trait whose name is CUSTOM_...");
      }
      entry->traits.insert(item.Scalar());
    }
    return absl::OkStatus();
  }

  const std::string file_;
  ProviderFiles* const files_;
  bool newer_ = false;  // the schema is newer than this code, so unknown fields are skipped
};

}  // namespace

absl::Status ParseProviderFile(const std::string& file, const std::string& text,
                               ProviderFiles* files) {
  try {
    return ProviderYaml(file, files).Read(text);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", error.mark.line + 1, ": is not YAML: ", error.msg));
  }
}

}  // namespace berth::tracker
