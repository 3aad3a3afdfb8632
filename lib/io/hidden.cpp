#include "ckpt/hidden.h"

#include <algorithm>
#include <array>

namespace ckpt {
namespace {

struct Range {
  char32_t first, last;
};

// The controls of C0 and C1, and Unicode's Default_Ignorable_Code_Point, Bidi_Control, line and paragraph separators
// and interlinear annotation.
constexpr std::array<Range, 21> hidden{{
    {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},        {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},
    {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},    {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},
    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0},    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE000, 0xF8FF}, {0xFFFE, 0xFFFF}, {0xE0000, 0x10FFFF},
}};

}  // namespace

bool is_hidden(char32_t point) {
  return std::any_of(hidden.begin(), hidden.end(),
                     [point](const Range& range) { return range.first <= point && point <= range.last; });
}

}  // namespace ckpt
