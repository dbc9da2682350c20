// MessageMutator: changes the fields of any message at random, by reflection.
//
// Bytes changed at random seldom make another valid message, and a random uuid never names an
// entity. So most new values are words that the caller knows, and one in eight is an odd one. Not
// thread-safe.
#ifndef BERTH_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define BERTH_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace berth::fuzz {

// What a field holds that has a name of some kind, and what any text may hold.
struct Words {
  std::vector<std::string> ids, classes, traits, suffixes, any;
  std::vector<std::string> hosts;   // empty: a host is any text
  std::vector<std::string> claims;  // ids of claims; empty: like any id
};

// Texts that no caller should send: U+0000, 128 KiB, control characters and the like.
const std::vector<std::string>& OddTexts();
// The uuid in other forms: upper-case, in braces, without dashes, with a prefix, with U+0000, and
// the nil uuid.
std::vector<std::string> FormsOf(const std::string& uuid);
// Whether the text has the canonical form of a uuid.
bool IsUuid(const std::string& text);

class MessageMutator {
 public:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  // A repeated field grows to `repeated_max` elements. Both arguments outlive the mutator.
  MessageMutator(const Words* words, std::mt19937* random, int repeated_max = 6)
      : words_(words), random_(random), repeated_max_(repeated_max) {}

  // Changes one field of `message`, or of a message in it, mostly to a value that makes sense.
  void Change(Message* message) { ChangeAt(message, 0); }
  // Gives one to three fields odd values: of a uuid another form, or the uuid of something else; an
  // odd text; an odd number; a list with many elements; or any change.
  void Spoil(Message* message);
  // Gives one uuid in the message another form. Returns false if the message has none.
  bool DisguiseUuid(Message* message);

  size_t Below(size_t end) { return (*random_)() % end; }

 private:
  // A field that is present, with its message; `index` is -1 for a field that is not repeated.
  struct Place {
    Message* message;
    const Field* field;
    int index;
  };

  template <typename Predicate>
  static void Collect(Message* message, Predicate wants, std::vector<Place>* found);
  static bool HoldsUuid(const Place& place);
  static std::string TextAt(const Place& place);
  static void PutText(const Place& place, const std::string& text);
  bool SpoilText(Message* message);
  bool SpoilNumber(Message* message);
  bool CopyElements(Message* message);

  void ChangeAt(Message* message, int depth);
  void ChangeRepeated(Message* message, const Field* field, int depth);
  void Fill(Message* message, int depth);
  void FillField(Message* message, const Field* field, int depth);
  void Set(Message* message, const Field* field);
  void Add(Message* message, const Field* field);
  const std::vector<std::string>& WordsFor(const Field* field) const;
  std::string Text(const Field* field);
  int64_t Number();
  int64_t OddNumber();
  double Fraction();
  int Enum();

  const Words* const words_;
  std::mt19937* const random_;
  const int repeated_max_;
};

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_MESSAGE_MUTATOR_H_
