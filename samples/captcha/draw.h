#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace captcha {

/// A picture of 120×50: red, green, blue, row by row.
struct Canvas {
  static constexpr int width = 120, height = 50;
  std::vector<std::uint8_t> rgb;
};

/// A code of four characters, A to Z and 0 to 9.
std::string random_code(std::mt19937& random);

/// The code as a captcha: each character in a size, slant and place of its own, over noise and lines. The generator
/// decides all of it.
Canvas draw(const std::string& code, std::mt19937& random);

}  // namespace captcha
