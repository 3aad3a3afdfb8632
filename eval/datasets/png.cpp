#include "datasets/png.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "datasets/damaged.h"

namespace ckpt::eval {
namespace {

/// What libpng's callbacks share with us.
struct Reading {
  std::span<const std::byte> file;
  std::size_t position = 0;
  bool ended = false;
  bool lacked_memory = false;
  std::array<char, 160> message = {};
};

/// libpng says of memory that runs out no more than that the picture is wrong.
png_voidp take_memory(png_structp png, png_alloc_size_t size) {
  void* const memory = ::operator new(size, std::nothrow);
  if (memory == nullptr) static_cast<Reading*>(png_get_mem_ptr(png))->lacked_memory = true;
  return memory;
}

void give_memory(png_structp, png_voidp memory) { ::operator delete(memory); }

void read_bytes(png_structp png, png_bytep out, std::size_t size) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (size > reading.file.size() - reading.position) {
    reading.ended = true;
    png_error(png, "the file ends");
  }
  std::memcpy(out, reading.file.data() + reading.position, size);
  reading.position += size;
}

void keep_message(png_structp png, png_const_charp message) {
  auto& reading = *static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading.message.data(), reading.message.size(), "%s", message);
  png_longjmp(png, 1);
}

void pass_over(png_structp, png_const_charp) {}

/// libpng leaves a call that fails by longjmp, to the setjmp in `attempt`: between the two stand only libpng and these
/// steps, none of which has anything that would want destroying.
template <class Step>
bool attempt(png_structp png, const Step& step) noexcept {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  step();
  return true;
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> file) {
    reading_.file = file;
    png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reading_, keep_message, pass_over, &reading_, take_memory,
                                    give_memory);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, &reading_, read_bytes);
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Pixels decode() {
    read_header();
    Pixels pixels{.width = png_get_image_width(png_, info_), .height = png_get_image_height(png_, info_)};
    check_size(pixels);
    pixels.mode = ask_for_mode();
    copy_palette(pixels);
    read_rows(pixels);
    return pixels;
  }

 private:
  void expect(bool done) const {
    if (done) return;
    if (reading_.lacked_memory) throw std::bad_alloc();
    if (reading_.ended) {
      throw Error(ErrorCode::truncated, "the picture ends early").expected("a PNG up to IEND").at(reading_.file.size());
    }
    throw Error(ErrorCode::corrupt, std::string("a damaged PNG (libpng: ") + reading_.message.data() + ")")
        .at(reading_.position);
  }

  void read_header() {
    expect(attempt(png_, [this] {
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size() names its own
      png_set_benign_errors(png_, 1);
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // gamma, profiles, texts …
      png_read_info(png_, info_);
    }));
  }

  void check_size(const Pixels& pixels) const {
    const auto size = std::to_string(pixels.width) + "×" + std::to_string(pixels.height) + " pixels";
    if (std::max(pixels.width, pixels.height) > limits::picture_side) {
      throw Error(ErrorCode::limit_exceeded, size)
          .expected("at most " + std::to_string(limits::picture_side) + " a side");
    }
    if (pixels.width * pixels.height > limits::picture_pixels) {
      throw Error(ErrorCode::limit_exceeded, size).expected("at most " + std::to_string(limits::picture_pixels));
    }
    if (png_get_rowbytes(png_, info_) * pixels.height / limits::inflated_ratio > reading_.file.size()) {
      throw Error(ErrorCode::truncated, size + " in " + std::to_string(reading_.file.size()) + " bytes")
          .expected("as many as such a picture deflates to");
    }
  }

  /// Asks libpng for rows of whole bytes, and says what they will hold.
  PixelMode ask_for_mode() {
    const int depth = png_get_bit_depth(png_, info_);
    const int colour = png_get_color_type(png_, info_);
    const bool wide_grey = depth == 16 && colour == PNG_COLOR_TYPE_GRAY;
    expect(attempt(png_, [=, this] {
      if (wide_grey) png_set_swap(png_);
      if (depth == 16 && !wide_grey) png_set_strip_16(png_);
      if (colour == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
      if (colour == PNG_COLOR_TYPE_PALETTE) png_set_packing(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    }));
    switch (colour) {
      case PNG_COLOR_TYPE_PALETTE:
        return PixelMode::palette;
      case PNG_COLOR_TYPE_RGB:
        return PixelMode::rgb;
      case PNG_COLOR_TYPE_RGB_ALPHA:
        return PixelMode::rgba;
      case PNG_COLOR_TYPE_GRAY_ALPHA:
        return PixelMode::grey_alpha;
      default:
        break;
    }
    if (depth == 1) return PixelMode::bilevel;
    return wide_grey ? PixelMode::grey16 : PixelMode::grey;
  }

  void copy_palette(Pixels& pixels) const {
    if (pixels.mode != PixelMode::palette) return;
    png_colorp colours = nullptr;
    int count = 0;
    png_get_PLTE(png_, info_, &colours, &count);
    for (int i = 0; i < count; ++i) pixels.palette.at(i) = {colours[i].red, colours[i].green, colours[i].blue};
  }

  void read_rows(Pixels& pixels) {
    const std::size_t row_bytes = pixels.width * bytes_a_pixel(pixels.mode);
    if (png_get_rowbytes(png_, info_) != row_bytes) throw Error(ErrorCode::corrupt, "rows of another length");
    pixels.bytes.resize(row_bytes * pixels.height);
    std::vector<png_bytep> rows(pixels.height);
    for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.bytes.data() + y * row_bytes;
    expect(attempt(png_, [this, &rows] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    }));
  }

  Reading reading_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Pixels decode_png(std::span<const std::byte> file, const std::string& name) {
  const auto* start = reinterpret_cast<png_const_bytep>(file.data());
  try {
    if (png_sig_cmp(start, 0, std::min<std::size_t>(file.size(), 8)) != 0) {
      throw Error(ErrorCode::unsupported, file.empty() ? "an empty file" : "no PNG by its first bytes")
          .expected("a picture in PNG")
          .at(0)
          .hint("in Python: PIL.Image.open(path).save('picture.png')");
    }
    return Decoder(file).decode();
  } catch (Error& error) {
    throw in_data(error, name);
  }
}

}  // namespace ckpt::eval
