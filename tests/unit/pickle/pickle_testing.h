#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/error.h"
#include "ckpt/value.h"
#include "pickle/emitter.h"
#include "pickle/machine.h"

/// What the tests of the pickle parts share: pickles from string literals, and values as text to compare.
namespace ckpt::pickle_testing {

/// A literal with its NUL bytes: b("K\0.").
template <std::size_t size>
std::string b(const char (&literal)[size]) {
  return {literal, size - 1};
}

/// `value` as `size` bytes, little-endian.
std::string le(std::uint64_t value, int size);
std::string repeated(std::string_view part, std::size_t count);

struct Loaded {
  ValueGraph graph;
  pickle::Program program;
};

Loaded load(std::string_view code);
/// The value as text, much as Python writes it: calls as `m.O(1)`, __new__ as `m.O.new(1)`, what changes a value as
/// `[]+=(1)`, `{}+={1: 2}`, `m.O()<-state`; a value met again as `#2`, by the order in which they are met.
std::string text_of(const ValueGraph& graph, ValueId id);
/// text_of() the pickle's root.
std::string text_of(std::string_view code);

/// What comes out where the pickle goes in, without an edit.
std::string again(std::string_view code);
std::string in_protocol(std::string_view code, int protocol);

/// The error that loading ends with; none where it loads.
std::optional<Error> error_of_loading(std::string_view code);

}  // namespace ckpt::pickle_testing

#define EXPECT_REFUSED(pickle_code, expected_code)                                 \
  do {                                                                             \
    const auto refusal = ckpt::pickle_testing::error_of_loading(pickle_code);      \
    ASSERT_TRUE(refusal.has_value());                                              \
    EXPECT_EQ(refusal->code(), ckpt::ErrorCode::expected_code) << refusal->what(); \
  } while (false)
