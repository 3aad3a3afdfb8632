#pragma once

#include <png.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "io/io_testing.h"

/// Small pictures for tests, written by libpng, and chunks of any content.
namespace ckpt::png_testing {

using Row = std::vector<std::uint8_t>;

struct Picture {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  int depth = 8;
  int colour = PNG_COLOR_TYPE_GRAY;
  std::vector<Row> rows = {{0}};  ///< as they stand in the file: packed, numbers of 16 bits with the high byte first
  std::vector<png_color> palette = {};
  int interlace = PNG_INTERLACE_NONE;
};

inline io_testing::Bytes png(Picture picture) {
  io_testing::Bytes file;
  png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(writer);
  const auto append = [](png_structp to, png_bytep data, std::size_t size) {
    auto& bytes = *static_cast<io_testing::Bytes*>(png_get_io_ptr(to));
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(data[i]));
  };
  png_set_write_fn(writer, &file, append, nullptr);
  png_set_IHDR(writer, info, picture.width, picture.height, picture.depth, picture.colour, picture.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!picture.palette.empty()) {
    png_set_PLTE(writer, info, picture.palette.data(), static_cast<int>(picture.palette.size()));
  }
  png_set_check_for_invalid_index(writer, 0);
  png_write_info(writer, info);
  std::vector<png_bytep> rows;
  for (Row& row : picture.rows) rows.push_back(row.data());
  png_write_image(writer, rows.data());
  png_write_end(writer, nullptr);
  png_destroy_write_struct(&writer, &info);
  return file;
}

/// The bytes i² · 7 + i · 53 + 11, of which the expectations computed by Pillow were made.
inline Row pattern(std::size_t size) {
  Row bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * i * 7 + i * 53 + 11);
  return bytes;
}

/// `pattern` as rows of `row_bytes`.
inline std::vector<Row> pattern_rows(std::size_t height, std::size_t row_bytes) {
  const Row all = pattern(height * row_bytes);
  std::vector<Row> rows;
  for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(row_bytes)) {
    rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(row_bytes));
  }
  return rows;
}

inline void append_be32(io_testing::Bytes& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(value >> shift));
}

inline io_testing::Bytes chunk(std::string_view kind, const io_testing::Bytes& data) {
  io_testing::Bytes body = io_testing::joined({io_testing::bytes_of(kind), data});
  io_testing::Bytes whole;
  append_be32(whole, static_cast<std::uint32_t>(data.size()));
  whole.insert(whole.end(), body.begin(), body.end());
  const auto size = static_cast<uInt>(body.size());
  append_be32(whole, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()), size)));
  return whole;
}

/// A file of the first bytes, the header that is told (of greyscale, not interlaced), `chunks` and an end.
inline io_testing::Bytes png_of(std::uint32_t width, std::uint32_t height, int depth,
                                const std::vector<io_testing::Bytes>& chunks) {
  io_testing::Bytes header;
  append_be32(header, width);
  append_be32(header, height);
  for (const int value : {depth, PNG_COLOR_TYPE_GRAY, 0, 0, 0}) header.push_back(static_cast<std::byte>(value));
  return io_testing::joined({io_testing::bytes_of("\x89PNG\r\n\x1a\n"), chunk("IHDR", header),
                             io_testing::joined(chunks), chunk("IEND", {})});
}

/// An IDAT that holds `size` zeros.
inline io_testing::Bytes zeros(std::size_t size) {
  const std::vector<Bytef> raw(size);
  uLongf used = compressBound(size);
  io_testing::Bytes packed(used);
  compress2(reinterpret_cast<Bytef*>(packed.data()), &used, raw.data(), size, 9);
  packed.resize(used);
  return chunk("IDAT", packed);
}

}  // namespace ckpt::png_testing
