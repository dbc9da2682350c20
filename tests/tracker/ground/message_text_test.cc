// Texts from outside: what a message may have of them.
#include "tracker/ground/message_text.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

TEST(MessageText, IsCutBetweenCharacters) {
  struct Case {
    const char* text;
    size_t bytes_max;
    const char* want;
  };
  const Case kCases[] = {
      {"", 0, ""},
      {"abc", 3, "abc"},
      {"abc", 2, "ab"},
      {"a\u00fc", 3, "a\u00fc"},
      {"a\u00fc", 2, "a"},
      {"a\u20acb", 3, "a"},
      {"a\u20acb", 4, "a\u20ac"},
      {"\U0001F600\U0001F600", 7, "\U0001F600"},
      {"\U0001F600", 3, ""},
      {"\x80\x80\x80", 2, ""},  // no character begins there
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(CutText(test.text, test.bytes_max), test.want) << test.text << test.bytes_max;
  }
}

TEST(MessageText, HasNoByteThatAMessageCannotHave) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\x7F\xC2\x80\u07ff\u0800\uffff", "\x7F\xC2\x80\u07ff\u0800\uffff"},
      {"\U00010000\U0010FFFF", "\U00010000\U0010FFFF"},
      {std::string("a\0b", 3), "a?b"},
      {"a\x80z", "a?z"},  // a continuation of nothing
      {"a\xC3", "a?"},    // the end is missing
      {"\xC3(", "?("},    // the next character stays
      {"\xE2\x82", "??"},
      {"\xF0\x9F\x98z", "???z"},
      {"\xC0\xAF", "??"},  // longer than its character needs
      {"\xE0\x80\x80", "???"},
      {"\xF0\x80\x80\x80", "????"},
      {"\xED\xA0\x80", "???"},  // a surrogate
      {"\xED\x9F\xBF", "\xED\x9F\xBF"},
      {"\xF4\x90\x80\x80", "????"},  // beyond U+10FFFF
      {"\xFF\xFE", "??"},
  };
  for (const auto& [text, want] : kCases) EXPECT_EQ(MessageText(text), want);
}

}  // namespace
}  // namespace berth::tracker
