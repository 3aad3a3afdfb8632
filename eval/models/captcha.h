#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt::eval {

/// What the captchas' data sets are labelled with, a class a character, and how many stand in one.
inline constexpr std::string_view captcha_alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
inline constexpr std::int64_t captcha_classes = captcha_alphabet.size();
inline constexpr std::int64_t captcha_positions = 4;
inline constexpr std::int64_t captcha_outputs = captcha_positions * captcha_classes;

}  // namespace ckpt::eval
