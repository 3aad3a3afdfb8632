#include "draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace captcha {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr int glyph_width = 5, glyph_height = 7;

/// Seven rows of five points a character, the leftmost point in the highest bit.
constexpr std::uint8_t glyphs[alphabet.size()][glyph_height] = {
    {0x0E, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11},  // A
    {0x1E, 0x11, 0x11, 0x1E, 0x11, 0x11, 0x1E},  // B
    {0x0F, 0x10, 0x10, 0x10, 0x10, 0x10, 0x0F},  // C
    {0x1E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1E},  // D
    {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x1F},  // E
    {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x10},  // F
    {0x0F, 0x10, 0x10, 0x13, 0x11, 0x11, 0x0F},  // G
    {0x11, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11},  // H
    {0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x1F},  // I
    {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0C},  // J
    {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11},  // K
    {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1F},  // L
    {0x11, 0x1B, 0x15, 0x15, 0x11, 0x11, 0x11},  // M
    {0x11, 0x19, 0x15, 0x15, 0x13, 0x11, 0x11},  // N
    {0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E},  // O
    {0x1E, 0x11, 0x11, 0x1E, 0x10, 0x10, 0x10},  // P
    {0x0E, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0D},  // Q
    {0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11},  // R
    {0x0F, 0x10, 0x10, 0x0E, 0x01, 0x01, 0x1E},  // S
    {0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04},  // T
    {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E},  // U
    {0x11, 0x11, 0x11, 0x11, 0x0A, 0x0A, 0x04},  // V
    {0x11, 0x11, 0x11, 0x15, 0x15, 0x1B, 0x11},  // W
    {0x11, 0x11, 0x0A, 0x04, 0x0A, 0x11, 0x11},  // X
    {0x11, 0x11, 0x0A, 0x04, 0x04, 0x04, 0x04},  // Y
    {0x1F, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1F},  // Z
    {0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E},  // 0
    {0x04, 0x0C, 0x14, 0x04, 0x04, 0x04, 0x1F},  // 1
    {0x0E, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1F},  // 2
    {0x1E, 0x01, 0x01, 0x0E, 0x01, 0x01, 0x1E},  // 3
    {0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02},  // 4
    {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E},  // 5
    {0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E},  // 6
    {0x1F, 0x01, 0x02, 0x04, 0x04, 0x08, 0x08},  // 7
    {0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E},  // 8
    {0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C},  // 9
};

using Colour = std::array<double, 3>;

/// In [low, high). The standard's distributions may differ from one library to another; this does not.
double between(std::mt19937& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random()) / 4294967296.0);
}

Colour colour(std::mt19937& random, double low, double high) {
  return {between(random, low, high), between(random, low, high), between(random, low, high)};
}

/// How much ink lies at a point of a glyph, 0 to 1: between its points, the weighted mean of the four around.
double ink(std::size_t glyph, double x, double y) {
  const double left = std::floor(x), top = std::floor(y);
  const auto point = [&](double column, double row) {
    if (column < 0 || row < 0 || column >= glyph_width || row >= glyph_height) return 0.0;
    return static_cast<double>(glyphs[glyph][static_cast<int>(row)] >> (glyph_width - 1 - static_cast<int>(column)) &
                               1);
  };
  const double right_part = x - left, low_part = y - top;
  const double upper = point(left, top) * (1 - right_part) + point(left + 1, top) * right_part;
  const double lower = point(left, top + 1) * (1 - right_part) + point(left + 1, top + 1) * right_part;
  // Steeper than the mean, so that strokes have edges.
  return std::clamp((upper * (1 - low_part) + lower * low_part) * 2 - 0.4, 0.0, 1.0);
}

void mix(std::vector<double>& picture, int x, int y, const Colour& colour, double share) {
  if (x < 0 || y < 0 || x >= Canvas::width || y >= Canvas::height) return;
  double* const pixel = picture.data() + (y * Canvas::width + x) * 3;
  for (std::size_t i = 0; i < 3; ++i) pixel[i] += (colour[i] - pixel[i]) * share;
}

void draw_character(std::vector<double>& picture, std::size_t glyph, double middle, std::mt19937& random) {
  const Colour paint = colour(random, 0, 130);
  const double angle = between(random, -0.35, 0.35), size = between(random, 3.6, 4.6);
  const double slant = between(random, -0.15, 0.15);
  const double x0 = middle + between(random, -2, 2), y0 = Canvas::height / 2.0 + between(random, -5, 5);
  for (int y = 0; y < Canvas::height; ++y)
    for (int x = static_cast<int>(middle) - 26; x < static_cast<int>(middle) + 26; ++x) {
      const double right = (x - x0) * std::cos(angle) + (y - y0) * std::sin(angle);
      const double down = (y - y0) * std::cos(angle) - (x - x0) * std::sin(angle);
      mix(picture, x, y, paint,
          ink(glyph, (right + slant * down) / size + (glyph_width - 1) / 2.0, down / size + (glyph_height - 1) / 2.0));
    }
}

void draw_line(std::vector<double>& picture, std::mt19937& random) {
  const Colour paint = colour(random, 60, 180);
  const double from = between(random, 0, Canvas::height), to = between(random, 0, Canvas::height);
  for (int x = 0; x < Canvas::width; ++x) {
    const double y = from + (to - from) * x / Canvas::width;
    mix(picture, x, static_cast<int>(y), paint, 0.8);
  }
}

}  // namespace

std::string random_code(std::mt19937& random) {
  std::string code;
  while (code.size() < 4) code += alphabet[random() % alphabet.size()];
  return code;
}

Canvas draw(const std::string& code, std::mt19937& random) {
  const Colour paper = colour(random, 200, 256);
  std::vector<double> picture;
  for (int i = 0; i < Canvas::width * Canvas::height; ++i) picture.insert(picture.end(), paper.begin(), paper.end());
  for (std::size_t i = 0; i < code.size(); ++i)
    draw_character(picture, alphabet.find(code[i]), 18 + 28 * static_cast<double>(i), random);
  for (int line = 0; line < 2; ++line) draw_line(picture, random);
  Canvas canvas;
  for (const double value : picture) {
    const double noisy = value + between(random, -16, 16);
    canvas.rgb.push_back(static_cast<std::uint8_t>(std::clamp(noisy, 0.0, 255.0)));
  }
  return canvas;
}

}  // namespace captcha
