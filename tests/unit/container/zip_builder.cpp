#include <gtest/gtest.h>

#include "io/bytes.h"
#include "io/checksum.h"
#include "zip_builder.h"

namespace ckpt::zip_testing {
namespace {

template <class T>
void put(std::string& to, T value) {
  append_le(to, value);
}

}  // namespace

std::string zip64_field(std::span<const std::uint64_t> values) {
  std::string out;
  put(out, std::uint16_t{1});
  put(out, static_cast<std::uint16_t>(values.size() * 8));
  for (std::uint64_t value : values) put(out, value);
  return out;
}

std::string descriptor_of(const DescriptorShape& shape) {
  std::string out;
  if (shape.has_signature) put(out, std::uint32_t{0x08074b50});
  put(out, shape.crc);
  for (const std::uint64_t size : {shape.compressed_size, shape.size}) {
    if (shape.is_wide)
      put(out, size);
    else
      put(out, static_cast<std::uint32_t>(size));
  }
  return out;
}

std::string deflate_stored(std::string_view data) {
  std::string out = "\1";
  put(out, static_cast<std::uint16_t>(data.size()));
  put(out, static_cast<std::uint16_t>(~data.size()));
  return out.append(data);
}

std::string build_zip(const std::vector<ZipPart>& parts, const ZipShape& shape) {
  std::string out, directory;
  for (const ZipPart& p : parts) {
    out += p.gap;
    const auto offset = static_cast<std::uint32_t>(out.size());
    const std::uint32_t crc = p.crc.value_or(p.inflated_crc.value_or(crc32(0, as_bytes(p.data))));
    const auto packed = static_cast<std::uint32_t>(p.data.size());
    const auto size = static_cast<std::uint32_t>(p.inflated_size.value_or(p.data.size()));
    const auto flags = static_cast<std::uint16_t>(p.flags | (p.descriptor ? 8 : 0));
    const std::string local_name = p.local_name.value_or(p.name);

    put(out, std::uint32_t{0x04034b50});
    put(out, std::uint16_t{20});
    put(out, p.local_flags.value_or(flags));
    put(out, p.local_method.value_or(p.method));
    put(out, std::uint32_t{0});
    put(out, p.local_crc.value_or(p.descriptor ? p.placeholder : crc));
    put(out, p.local_compressed_size.value_or(p.descriptor ? p.placeholder : packed));
    put(out, p.local_size.value_or(p.descriptor ? p.placeholder : size));
    put(out, static_cast<std::uint16_t>(local_name.size()));
    put(out, static_cast<std::uint16_t>(p.local_extra.size()));
    out += local_name + p.local_extra + p.data;
    if (p.descriptor)
      out += p.descriptor_bytes.value_or(descriptor_of({.crc = crc, .compressed_size = packed, .size = size}));

    put(directory, std::uint32_t{0x02014b50});
    put(directory, std::uint16_t{0x031e});
    put(directory, std::uint16_t{20});
    put(directory, flags);
    put(directory, p.method);
    put(directory, std::uint32_t{0});
    put(directory, crc);
    put(directory, p.compressed_size.value_or(packed));
    put(directory, p.size.value_or(size));
    put(directory, static_cast<std::uint16_t>(p.name.size()));
    put(directory, static_cast<std::uint16_t>(p.central_extra.size()));
    put(directory, std::uint16_t{0});
    put(directory, p.disk);
    put(directory, std::uint16_t{0});
    put(directory, p.attributes);
    put(directory, p.offset.value_or(offset));
    directory += p.name + p.central_extra;
  }
  const auto directory_offset = static_cast<std::uint32_t>(out.size());
  const auto directory_size = static_cast<std::uint32_t>(directory.size());
  out += directory;

  if (shape.zip64) {
    const std::uint64_t record = out.size();
    put(out, std::uint32_t{0x06064b50});
    put(out, shape.record64_size.value_or(44));
    put(out, std::uint32_t{0x002d031e});
    put(out, std::uint64_t{0});
    put(out, shape.count64.value_or(parts.size()));
    put(out, shape.count64.value_or(parts.size()));
    put(out, shape.size64.value_or(directory_size));
    put(out, shape.offset64.value_or(directory_offset));
    put(out, std::uint32_t{0x07064b50});
    put(out, std::uint32_t{0});
    put(out, shape.record64_offset.value_or(record));
    put(out, shape.disks64);
  }
  put(out, std::uint32_t{0x06054b50});
  put(out, shape.disk);
  put(out, shape.disk);
  put(out, shape.count_here.value_or(shape.count.value_or(static_cast<std::uint16_t>(parts.size()))));
  put(out, shape.count.value_or(static_cast<std::uint16_t>(parts.size())));
  put(out, shape.directory_size.value_or(directory_size));
  put(out, shape.directory_offset.value_or(directory_offset));
  put(out, shape.comment_size.value_or(static_cast<std::uint16_t>(shape.comment.size())));
  return out + shape.comment + shape.after;
}

ByteSourcePtr source_of(std::string_view bytes) {
  const auto span = as_bytes(bytes);
  return memory_source({span.begin(), span.end()}, "test.zip");
}

std::string text_of(const ByteSource& source) { return std::string(as_text(read_all(source, UINT64_MAX))); }

TEST(ZipBuilder, BeginsWithALocalHeaderAndEndsWithAnEndRecord) {
  const std::string zip = build_zip({{.name = "a", .data = "x"}});
  EXPECT_EQ(zip.substr(0, 4), "PK\3\4");
  EXPECT_EQ(zip.substr(zip.size() - 22, 4), "PK\5\6");
}

}  // namespace ckpt::zip_testing
