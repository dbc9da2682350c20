// The setting that says which virtual GPUs guests get.
#include "tracker/settings/mediated_types.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MediatedTypes, NameDevices) {  // T-207
  EXPECT_THAT(
      *ParseMediatedTypes({R"({"type": "nvidia-64"})",
                           R"({"type": "nvidia-63", "addresses": ["0000:84:00.0", "0000:85:00.0"],
               "resource_class": "CUSTOM_BIG_GPU", "max_instances": 4})"}),
      ElementsAre(
          MediatedType{"nvidia-64", {}, "VGPU", std::nullopt},
          MediatedType{"nvidia-63", {"0000:84:00.0", "0000:85:00.0"}, "CUSTOM_BIG_GPU", 4}));
  EXPECT_TRUE(ParseMediatedTypes({})->empty());
}

TEST(MediatedTypes, AreRefusedWithTheReason) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"nvidia-63"}, "text 1: nvidia-63 is not a JSON object"},
      {{R"(["a"])"}, "is not a JSON object"},
      {{"{}"}, "text 1: type is missing"},
      {{R"({"type": ""})"}, "type is not possible here"},
      {{R"({"type": "a", "class": "VGPU"})"}, "class is not possible here"},
      {{R"({"type": "a", "resource_class": "VCPU"})"}, "resource_class is not possible"},
      {{R"({"type": "a", "max_instances": 0})"}, "max_instances is not possible"},
      {{R"({"type": "a", "addresses": ["84:00.0"]})"}, "addresses must have PCI addresses"},
      {{R"({"type": "a", "addresses": ["0000:84:00.G"]})"}, "addresses must have PCI addresses"},
      {{R"({"type": "a"})", R"({"type": "a", "addresses": ["0000:84:00.0"]})"},
       "text 2: a is there twice"},
      {{R"({"type": "a", "addresses": ["0000:84:00.0"]})",
        R"({"type": "b", "addresses": ["0000:84:00.0"]})"},
       "text 2: 0000:84:00.0 is configured for two types: a and b"},  // T-207
      {{R"({"type": "a"})", R"({"type": "b"})"},
       "each device that no other text names is configured for two types: a and b"},  // T-207
  };
  for (const auto& [texts, said] : kCases) {
    const absl::Status status = ParseMediatedTypes(texts).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(said));
  }
}

}  // namespace
}  // namespace berth::tracker
