#include "tests/fuzz/script_mutator.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tests/worlds/world.h"

namespace berth::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kDepthMax = 6;
constexpr int kRepeatedMax = 6;

// What a field of some kind of name is likely to hold, and what any text may.
struct Words {
  std::vector<std::string> ids, classes, traits, suffixes, any;
};

const Words& AllWords() {
  static const auto* const kWords = [] {
    auto* words = new Words;
    placement::World
        world;  // ids are those of the world of scripts: the names are met in one order
    for (const char* name : {"cn1", "pf1", "pf2", "cn2", "shr", "new1", "new2"}) {
      words->ids.push_back(world.provider(name).ToString());
    }
    for (const char* name : {"held1", "held2", "held3", "new1", "new2", "new3", "new4"}) {
      words->ids.push_back(world.consumer(name).ToString());
    }
    for (const char* name : {"agg1", "agg2"}) {
      words->ids.push_back(world.aggregate(name).ToString());
    }
    words->classes = {"VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "CUSTOM_A"};
    words->traits = {"HW_NUMA_ROOT", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_A", "CUSTOM_B"};
    words->suffixes = {"_A", "_B", ""};
    words->any = {"",
                  "a",
                  "fuzz",
                  "cn1",
                  "cn3",
                  "CUSTOM_",
                  "INSTANCE",
                  "MIGRATION",
                  std::string(255, 'A'),
                  std::string(256, 'A'),
                  std::string(1, '\0'),
                  "\xc3\xa4",
                  "AAAAAAAA-0000-4000-8000-00000000000A",
                  "not a uuid"};
    return words;
  }();
  return *kWords;
}

// What `field` most likely wants.
const std::vector<std::string>& WordsFor(const FieldDescriptor* field) {
  const Words& words = AllWords();
  const std::string where = absl::StrCat(field->containing_type()->name(), ".", field->name());
  if (absl::StrContains(where, "uuid") || absl::StrContains(where, "in_tree")) return words.ids;
  if (absl::StrContains(where, "suffix")) return words.suffixes;
  if (absl::StrContains(where, "Trait") || absl::StrContains(where, "trait") ||
      absl::StrContains(where, "any_of")) {
    return words.traits;
  }
  if (absl::EndsWith(where, ".key") || absl::StrContains(where, "class")) return words.classes;
  return words.any;
}

constexpr int64_t kNumbers[] = {0,
                                1,
                                2,
                                3,
                                4,
                                8,
                                10,
                                16,
                                -1,
                                1024,
                                std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::max() + int64_t{1},
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
constexpr double kFractions[] = {0,      1,
                                 16,     0.5,
                                 -1,     1e-9,
                                 1e308,  std::numeric_limits<double>::infinity(),
                                 1e-320, std::numeric_limits<double>::quiet_NaN()};

class Mutation {
 public:
  explicit Mutation(std::mt19937& random) : random_(random) {}

  // Changes one field of `message`, or of a message in it.
  void Change(Message* message, int depth) {
    const auto* descriptor = message->GetDescriptor();
    if (descriptor->field_count() == 0) return;
    const FieldDescriptor* field = descriptor->field(Below(descriptor->field_count()));
    // Rather a field that is there than one that is not: there it goes deeper.
    std::vector<const FieldDescriptor*> present;
    message->GetReflection()->ListFields(*message, &present);
    if (!present.empty() && Below(4) > 0) field = present[Below(present.size())];
    if (field->is_repeated()) {
      ChangeRepeated(message, field, depth);
    } else if (Below(8) == 0) {
      message->GetReflection()->ClearField(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const bool is_new = !message->GetReflection()->HasField(*message, field);
      Message* inner = message->GetReflection()->MutableMessage(message, field);
      if (depth >= kDepthMax) return;
      is_new ? Fill(inner, depth + 1) : Change(inner, depth + 1);
    } else {
      Set(message, field);
    }
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  // Gives a new message most of what it can hold.
  void Fill(Message* message, int depth) {
    if (depth > kDepthMax) return;
    const auto* descriptor = message->GetDescriptor();
    if (descriptor->field_count() > 0 && descriptor->field(0)->real_containing_oneof() != nullptr) {
      return FillField(message, descriptor->field(Below(descriptor->field_count())), depth);
    }
    for (int i = 0; i < descriptor->field_count(); ++i) {
      if (Below(3) > 0) FillField(message, descriptor->field(i), depth);
    }
  }

  void FillField(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection* reflection = message->GetReflection();
    if (field->is_repeated()) {
      for (size_t i = 0; i < Below(3); ++i) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
          Add(message, field);
        } else {
          Fill(reflection->AddMessage(message, field), depth + 1);
        }
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Fill(reflection->MutableMessage(message, field), depth + 1);
    } else {
      Set(message, field);
    }
  }

  void ChangeRepeated(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection* reflection = message->GetReflection();
    const int size = reflection->FieldSize(*message, field);
    const size_t choice = Below(6);
    if (size > 0 && choice == 0) return reflection->RemoveLast(message, field);
    if (size > 1 && choice == 1) {
      return reflection->SwapElements(message, field, static_cast<int>(Below(size)),
                                      static_cast<int>(Below(size)));
    }
    const bool of_messages = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (size > 0 && of_messages && (choice > 3 || size >= kRepeatedMax)) {
      if (depth >= kDepthMax) return;
      const int at = static_cast<int>(Below(size));
      return Change(reflection->MutableRepeatedMessage(message, field, at), depth + 1);
    }
    if (size >= kRepeatedMax) return reflection->RemoveLast(message, field);
    if (of_messages) {
      return Fill(reflection->AddMessage(message, field), depth + 1);
    }
    Add(message, field);
  }

  void Set(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetString(message, field, Text(field));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(message, field, Number());
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(message, field, static_cast<int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection->SetUInt64(message, field, static_cast<uint64_t>(Number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->SetDouble(message, field, kFractions[Below(std::size(kFractions))]);
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection->SetBool(message, field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection->SetEnumValue(message, field, static_cast<int>(Below(6)));
      default:
        return;
    }
  }

  void Add(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection->AddString(message, field, Text(field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      reflection->AddEnumValue(message, field, static_cast<int>(Below(6)));
    }
  }

  std::string Text(const FieldDescriptor* field) {
    const auto& words = Below(8) == 0 ? AllWords().any : WordsFor(field);
    return words[Below(words.size())];
  }
  int64_t Number() {
    return Below(4) == 0 ? kNumbers[Below(std::size(kNumbers))] : static_cast<int64_t>(Below(30));
  }

  std::mt19937& random_;
};

void SetClaimant(const std::string& id, placement::v1::ClaimConsumer* consumer) {
  consumer->set_consumer_uuid(id);
  consumer->mutable_new_consumer();
  consumer->set_project_id("fuzz");
  consumer->set_user_id("fuzz");
  consumer->set_consumer_type("INSTANCE");
}

}  // namespace

Script ValidScript() {
  const std::vector<std::string>& ids = AllWords().ids;
  Script script;
  auto* query = script.add_steps()->mutable_find_candidates()->mutable_query();
  (*query->add_groups()->mutable_resources())["VCPU"] = 1;
  auto* devices = query->add_groups();
  devices->set_suffix("_A");
  (*devices->mutable_resources())["SRIOV_NET_VF"] = 1;
  query = script.add_steps()->mutable_find_candidates()->mutable_query();
  (*query->add_groups()->mutable_resources())["DISK_GB"] = 1;
  (*query->mutable_groups(0)->mutable_resources())["VCPU"] = 1;
  auto* claim = script.add_steps()->mutable_set_allocations()->add_consumers();
  claim->set_consumer_uuid(ids[10]);
  claim->mutable_new_consumer();
  claim->set_project_id("fuzz");
  claim->set_user_id("fuzz");
  claim->set_consumer_type("INSTANCE");
  auto* allocation = claim->add_allocations();
  allocation->set_provider_uuid(ids[0]);
  (*allocation->mutable_resources())["VCPU"] = 2;
  auto* place = script.add_steps()->mutable_claim();
  SetClaimant(ids[11], place->mutable_consumer());
  (*place->mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  auto* places = script.add_steps()->mutable_claim_many();
  places->set_affinity(placement::v1::MEMBER_AFFINITY_DIFFERENT_ROOTS);
  for (const std::string& id : {ids[12], ids[13]}) {
    auto* member = places->add_members();
    SetClaimant(id, member->mutable_consumer());
    (*member->mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  }
  script.add_steps()->mutable_ensure_trait()->set_name("CUSTOM_A");
  script.add_steps()->mutable_delete_allocations()->set_consumer_uuid(ids[10]);
  auto* child = script.add_steps()->mutable_create_provider();
  child->set_uuid(ids[5]);
  child->set_name("new1");
  child->set_parent_uuid(ids[0]);
  return script;
}

void Mutate(Script* script, std::mt19937& random) {
  Mutation mutation(random);
  const size_t times = 1 + random() % 8;
  for (size_t i = 0; i < times; ++i) mutation.Change(script, 0);
}

}  // namespace berth::fuzz
