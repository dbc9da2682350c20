// Messages with a value in each field, for tests that nothing of a message is lost.
#ifndef BERTH_TESTS_PLACEMENT_RECORDS_FILLED_MESSAGE_H_
#define BERTH_TESTS_PLACEMENT_RECORDS_FILLED_MESSAGE_H_

#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace berth {

// The value of each string.
inline constexpr char kFilledUuid[] = "0a1b2c3d-0000-4000-8000-00000000000f";

inline void SetScalar(const google::protobuf::Reflection& how,
                      const google::protobuf::FieldDescriptor* field,
                      google::protobuf::Message* message) {
  switch (field->cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
      return how.SetString(message, field, kFilledUuid);
    case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
      return how.SetInt32(message, field, 7);
    case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
      return how.SetInt64(message, field, 8);
    case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
      return how.SetBool(message, field, true);
    case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
      return how.SetEnumValue(message, field, 1);
    default:
      FAIL() << field->full_name();
  }
}

inline void AddScalar(const google::protobuf::Reflection& how,
                      const google::protobuf::FieldDescriptor* field,
                      google::protobuf::Message* message) {
  if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT32) {
    return how.AddInt32(message, field, 7);
  }
  ASSERT_EQ(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_STRING)
      << field->full_name();
  how.AddString(message, field, kFilledUuid);
}

// Gives every field of `message`, at any depth, a value that is not its default.
inline void FillAll(google::protobuf::Message* message) {
  const google::protobuf::Reflection& how = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = message->GetDescriptor()->field(i);
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      FillAll(field->is_repeated() ? how.AddMessage(message, field)
                                   : how.MutableMessage(message, field));
    } else if (field->is_repeated()) {
      AddScalar(how, field, message);
    } else {
      SetScalar(how, field, message);
    }
  }
}

}  // namespace berth

#endif  // BERTH_TESTS_PLACEMENT_RECORDS_FILLED_MESSAGE_H_
