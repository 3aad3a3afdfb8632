#include "datasets/picture.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "eval/datasets/png_testing.h"

namespace ckpt::eval {
namespace {

using io_testing::error_of;
using png_testing::Picture;
using png_testing::png;
using png_testing::Row;

/// The picture in its own size.
Row tensor_of(const Picture& picture, PictureLayout layout) {
  return picture_tensor(png(picture), {picture.width, picture.height, layout}, "x.png");
}

Row rgb_of(const Picture& picture) { return tensor_of(picture, PictureLayout::rgb_columns); }
Row grey_of(const Picture& picture) { return tensor_of(picture, PictureLayout::grey_rows); }

TEST(Picture, OfACaptchaStandsByChannelThenColumn) {
  const Picture picture{.width = 2,
                        .height = 3,
                        .colour = PNG_COLOR_TYPE_RGB,
                        .rows = {{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}, {21, 22, 23, 24, 25, 26}}};
  EXPECT_EQ(rgb_of(picture), (Row{1, 11, 21, 4, 14, 24, 2, 12, 22, 5, 15, 25, 3, 13, 23, 6, 16, 26}));
}

TEST(Picture, OfADigitStandsByRow) {
  EXPECT_EQ(grey_of({.width = 3, .height = 2, .rows = {{1, 2, 3}, {4, 5, 6}}}), (Row{1, 2, 3, 4, 5, 6}));
}

TEST(Picture, HasTheSizeThatTheModelWants) {
  const auto file = png({.width = 3, .height = 2, .rows = {{1, 2, 3}, {4, 5, 6}}});
  EXPECT_EQ(picture_tensor(file, captcha_picture, "x.png").size(), 3U * 56 * 24);
  EXPECT_EQ(picture_tensor(file, digit_picture, "x.png").size(), 28U * 28);
}

TEST(Picture, OfNoSizeOrPastTheLimitIsRefused) {
  const auto file = png({.rows = {{9}}});
  const std::size_t most = limits::picture_side;
  for (const PictureShape shape : {PictureShape{0, 4, PictureLayout::grey_rows},
                                   {most, most, PictureLayout::grey_rows},
                                   {std::size_t{1} << 62, 4, PictureLayout::rgb_columns}}) {
    const auto error = error_of([&] { picture_tensor(file, shape, "x.png"); });
    ASSERT_TRUE(error) << shape.width;
    EXPECT_EQ(error->code(), ErrorCode::limit_exceeded) << shape.width;
  }
}

TEST(Picture, GreyBecomesThreeEqualChannels) { EXPECT_EQ(rgb_of({.rows = {{9}}}), (Row{9, 9, 9})); }

TEST(Picture, AlphaIsDropped) {
  EXPECT_EQ(rgb_of({.colour = PNG_COLOR_TYPE_RGB_ALPHA, .rows = {{10, 20, 30, 0}}}), (Row{10, 20, 30}));
  EXPECT_EQ(rgb_of({.colour = PNG_COLOR_TYPE_GRAY_ALPHA, .rows = {{10, 0}}}), (Row{10, 10, 10}));
}

TEST(Picture, IndicesBecomeTheirColours) {
  EXPECT_EQ(rgb_of({.colour = PNG_COLOR_TYPE_PALETTE, .rows = {{1}}, .palette = {{0, 0, 0}, {40, 50, 60}}}),
            (Row{40, 50, 60}));
}

TEST(Picture, SixteenBitsOfGreyEndAt255) {  // np.asarray(Image.open(…).convert("L")) of Pillow 13.0.0
  EXPECT_EQ(grey_of({.width = 4, .depth = 16, .rows = {{0, 7, 0, 255, 1, 0, 255, 255}}}), (Row{7, 255, 255, 255}));
}

TEST(Picture, ColoursBecomeTheirLuma) {  // 0.299, 0.587 and 0.114, rounded
  EXPECT_EQ(grey_of({.width = 3, .colour = PNG_COLOR_TYPE_RGB, .rows = {{255, 0, 0, 0, 255, 0, 0, 0, 255}}}),
            (Row{76, 150, 29}));
  EXPECT_EQ(grey_of({.colour = PNG_COLOR_TYPE_PALETTE, .rows = {{1}}, .palette = {{0, 0, 0}, {40, 50, 60}}}),
            (Row{48}));
}

TEST(Picture, OfAFile) {
  const io_testing::TemporaryFolder folder;
  const auto path = folder / "a.png";
  io_testing::put_file(path, png({.rows = {{9}}}));
  EXPECT_EQ(read_picture(path, {1, 1, PictureLayout::grey_rows}), (Row{9}));
}

TEST(Picture, ErrorsNameTheFile) {
  const io_testing::TemporaryFolder folder;
  const auto path = folder / "a.png";
  io_testing::put_file(path, io_testing::bytes_of("no picture"));
  const auto error = error_of([&] { read_picture(path, digit_picture); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->file(), path);
}

TEST(Picture, AFileThatIsNotThereIsAnErrorOfTheSystem) {
  EXPECT_EQ(error_of([] { read_picture("/nowhere/a.png", digit_picture); })->code(), ErrorCode::io);
}

}  // namespace
}  // namespace ckpt::eval
