#include "tracker/audit/trait_tables.h"

namespace berth::tracker {
namespace {

// libvirt calls SSE3 pni, and CLMUL pclmuldq. The table has their usual names, too.
constexpr CpuFeatureTrait kCpuFeatures[] = {
    {"3dnow", "HW_CPU_X86_3DNOW"},
    {"abm", "HW_CPU_X86_ABM"},
    {"aes", "HW_CPU_X86_AESNI"},
    {"amx-bf16", "HW_CPU_X86_AMXBF16"},
    {"amx-int8", "HW_CPU_X86_AMXINT8"},
    {"amx-tile", "HW_CPU_X86_AMXTILE"},
    {"avx", "HW_CPU_X86_AVX"},
    {"avx2", "HW_CPU_X86_AVX2"},
    {"avx512-vpopcntdq", "HW_CPU_X86_AVX512VPOPCNTDQ"},
    {"avx512bitalg", "HW_CPU_X86_AVX512BITALG"},
    {"avx512bw", "HW_CPU_X86_AVX512BW"},
    {"avx512cd", "HW_CPU_X86_AVX512CD"},
    {"avx512dq", "HW_CPU_X86_AVX512DQ"},
    {"avx512er", "HW_CPU_X86_AVX512ER"},
    {"avx512f", "HW_CPU_X86_AVX512F"},
    {"avx512ifma", "HW_CPU_X86_AVX512IFMA"},
    {"avx512pf", "HW_CPU_X86_AVX512PF"},
    {"avx512vbmi", "HW_CPU_X86_AVX512VBMI"},
    {"avx512vbmi2", "HW_CPU_X86_AVX512VBMI2"},
    {"avx512vl", "HW_CPU_X86_AVX512VL"},
    {"avx512vnni", "HW_CPU_X86_AVX512VNNI"},
    {"bmi1", "HW_CPU_X86_BMI"},
    {"bmi2", "HW_CPU_X86_BMI2"},
    {"f16c", "HW_CPU_X86_F16C"},
    {"fma", "HW_CPU_X86_FMA3"},
    {"fma4", "HW_CPU_X86_FMA4"},
    {"gfni", "HW_CPU_X86_AVX512GFNI"},
    {"mmx", "HW_CPU_X86_MMX"},
    {"mpx", "HW_CPU_X86_MPX"},
    {"pclmuldq", "HW_CPU_X86_CLMUL"},
    {"pclmulqdq", "HW_CPU_X86_CLMUL"},
    {"pni", "HW_CPU_X86_SSE3"},
    {"sha-ni", "HW_CPU_X86_SHA"},
    {"sse", "HW_CPU_X86_SSE"},
    {"sse2", "HW_CPU_X86_SSE2"},
    {"sse3", "HW_CPU_X86_SSE3"},
    {"sse4.1", "HW_CPU_X86_SSE41"},
    {"sse4.2", "HW_CPU_X86_SSE42"},
    {"sse4a", "HW_CPU_X86_SSE4A"},
    {"ssse3", "HW_CPU_X86_SSSE3"},
    {"svm", "HW_CPU_X86_AMD_SVM"},
    {"svm", "HW_CPU_X86_SVM"},
    {"tbm", "HW_CPU_X86_TBM"},
    {"vaes", "HW_CPU_X86_AVX512VAES"},
    {"vmx", "HW_CPU_X86_INTEL_VMX"},
    {"vmx", "HW_CPU_X86_VMX"},
    {"vpclmulqdq", "HW_CPU_X86_AVX512VPCLMULQDQ"},
    {"xop", "HW_CPU_X86_XOP"},
};

}  // namespace

std::span<const CpuFeatureTrait> CpuFeatureTraits() { return kCpuFeatures; }

}  // namespace berth::tracker
