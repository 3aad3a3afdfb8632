#include "mutator.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "pickle_mutator.h"

namespace ckpt::fuzz {
namespace {

constexpr std::size_t room = 4096;  // what one change may add
constexpr std::size_t most_inflated = 1 << 20;

std::uint32_t load(const Bytes& bytes, std::size_t at, int width) {
  std::uint32_t value = 0;
  for (int i = 0; i < width; ++i) value |= std::uint32_t{bytes[at + static_cast<std::size_t>(i)]} << (8 * i);
  return value;
}

void store(Bytes& bytes, std::size_t at, std::size_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * i));
}

std::uint32_t checksum(const std::uint8_t* data, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32(0, data, static_cast<uInt>(size)));
}

Bytes changed(Bytes bytes, Mutate mutate) {
  const std::size_t size = bytes.size();
  bytes.resize(size + room);
  bytes.resize(mutate(bytes.data(), size, bytes.size()));
  return bytes;
}

/// Of what is no archive.
Bytes changed_content(Bytes bytes, unsigned seed, Mutate mutate) {
  if (seed % 2 == 0)
    if (auto pickle = mutated_pickle(bytes, seed / 2, mutate)) return std::move(*pickle);
  return changed(std::move(bytes), mutate);
}

/// One stream in raw deflate: what it inflates to, and how many bytes it takes.
struct Inflated {
  Bytes bytes;
  std::size_t consumed = 0;
};

std::optional<Inflated> inflated(const std::uint8_t* data, std::size_t size) {
  z_stream stream{};
  if (::inflateInit2(&stream, -15) != Z_OK) return std::nullopt;
  static thread_local Bytes buffer(most_inflated);  // to fill as much with zeros takes as long as many a run
  stream.next_in = const_cast<Bytef*>(data);        // zlib's own promise is not to write there
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = buffer.data();
  stream.avail_out = static_cast<uInt>(buffer.size());
  const int status = ::inflate(&stream, Z_FINISH);
  ::inflateEnd(&stream);
  if (status != Z_STREAM_END) return std::nullopt;
  return Inflated{Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(stream.total_out)),
                  stream.total_in};
}

Bytes deflated(const Bytes& bytes, int level) {
  z_stream stream{};
  Bytes out(bytes.size() + bytes.size() / 8 + 128);
  if (::deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

bool is_gzip(const Bytes& bytes) { return bytes.size() > 18 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8; }

/// The plain header of ten bytes; members with more in it are only changed as they lie.
constexpr std::size_t gzip_header = 10;

/// A member around `content`; in two where `seed` says so.
Bytes gzipped(const Bytes& content, unsigned seed) {
  Bytes out;
  const std::size_t cut = seed % 3 == 0 ? content.size() / 2 : content.size();
  for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>(0, cut), {cut, content.size()}}) {
    if (from == to && from != 0) continue;
    const Bytes part(content.begin() + static_cast<std::ptrdiff_t>(from),
                     content.begin() + static_cast<std::ptrdiff_t>(to));
    const Bytes body = deflated(part, static_cast<int>(seed / 3 % 10));
    out.insert(out.end(), {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255});
    out.insert(out.end(), body.begin(), body.end());
    out.resize(out.size() + 8);
    store(out, out.size() - 8, checksum(part.data(), part.size()), 4);
    store(out, out.size() - 4, part.size(), 4);
  }
  return out;
}

/// Makes the trailer of the first member fit.
void mend_gzip(Bytes& bytes) {
  if (!is_gzip(bytes) || bytes[3] != 0) return;
  const auto body = inflated(bytes.data() + gzip_header, bytes.size() - gzip_header);
  if (!body) return;
  bytes.resize(std::max(bytes.size(), gzip_header + body->consumed + 8));
  store(bytes, gzip_header + body->consumed, checksum(body->bytes.data(), body->bytes.size()), 4);
  store(bytes, gzip_header + body->consumed + 4, body->bytes.size(), 4);
}

struct Member {
  Bytes entry;  // of the directory, its name and fields
  Bytes local;  // the header, its name and fields
  Bytes data;   // as it lies
  Bytes tail;   // what follows it: a descriptor
};

constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22;

/// The archive taken apart, as far as it is an ordinary one; none where it is not.
struct Archive {
  std::vector<Member> members;
  Bytes end;
};

std::optional<Archive> take_apart(const Bytes& bytes) {
  if (bytes.size() < end_size || load(bytes, 0, 4) != 0x04034b50) return std::nullopt;
  std::size_t end = bytes.size() - end_size;
  while (end > 0 && load(bytes, end, 4) != 0x06054b50) --end;
  if (end == 0) return std::nullopt;
  Archive archive{{}, Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end())};
  const auto cut = [&](std::size_t from, std::size_t to) {
    return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const std::size_t count = load(bytes, end + 10, 2), directory = load(bytes, end + 16, 4);
  std::size_t at = directory;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < count; ++i) {
    if (at + entry_size > end || load(bytes, at, 4) != 0x02014b50) return std::nullopt;
    const std::size_t length = entry_size + load(bytes, at + 28, 2) + load(bytes, at + 30, 2) + load(bytes, at + 32, 2);
    if (at + length > end) return std::nullopt;
    const std::size_t start = load(bytes, at + 42, 4), size = load(bytes, at + 20, 4);
    if (start + local_size > directory || directory > end) return std::nullopt;
    const std::size_t data = start + local_size + load(bytes, start + 26, 2) + load(bytes, start + 28, 2);
    if (data > directory || size > directory - data) return std::nullopt;
    archive.members.push_back({cut(at, at + length), cut(start, data), cut(data, data + size), {}});
    starts.push_back(start);
    at += length;
  }
  starts.push_back(directory);
  for (std::size_t i = 0; i < count; ++i) {
    Member& member = archive.members[i];
    const std::size_t begin = starts[i] + member.local.size() + member.data.size();
    if (starts[i + 1] < begin) return std::nullopt;  // not in the order of the directory
    member.tail = cut(begin, starts[i + 1]);
  }
  return archive;
}

/// Puts an archive together again, with offsets, sizes and checksums that fit.
Bytes put_together(Archive archive) {
  Bytes out, directory;
  for (Member& member : archive.members) {
    const bool is_deflated = load(member.entry, 10, 2) == 8;
    std::optional<Inflated> content;
    if (is_deflated) content = inflated(member.data.data(), member.data.size());
    const Bytes& plain = content ? content->bytes : member.data;
    const std::uint32_t crc = checksum(plain.data(), plain.size());
    const auto describe = [&](Bytes& record, std::size_t at) {
      store(record, at, crc, 4);
      store(record, at + 4, member.data.size(), 4);
      store(record, at + 8, plain.size(), 4);
    };
    describe(member.entry, 16);
    store(member.entry, 42, out.size(), 4);
    const bool has_descriptor = (load(member.local, 6, 2) & 8U) != 0;
    if (!has_descriptor) describe(member.local, 14);
    if (has_descriptor && member.tail.size() >= 12)
      describe(member.tail, member.tail.size() >= 16 && load(member.tail, 0, 4) == 0x08074b50 ? 4 : 0);
    for (const Bytes* part : {&member.local, &member.data, &member.tail})
      out.insert(out.end(), part->begin(), part->end());
    directory.insert(directory.end(), member.entry.begin(), member.entry.end());
  }
  store(archive.end, 8, archive.members.size(), 2);
  store(archive.end, 10, archive.members.size(), 2);
  store(archive.end, 12, directory.size(), 4);
  store(archive.end, 16, out.size(), 4);
  out.insert(out.end(), directory.begin(), directory.end());
  out.insert(out.end(), archive.end.begin(), archive.end.end());
  return out;
}

void change_member(Member& member, unsigned seed, Mutate mutate) {
  if (load(member.entry, 10, 2) != 8) {
    member.data = changed_content(std::move(member.data), seed, mutate);
  } else if (auto content = inflated(member.data.data(), member.data.size())) {
    member.data = deflated(changed_content(std::move(content->bytes), seed / 10, mutate), static_cast<int>(seed % 10));
  }
}

Bytes mutated_zip(Archive archive, unsigned seed, Mutate mutate) {
  auto& members = archive.members;
  const std::size_t which = seed / 8 % members.size();
  switch (seed % 8) {
    case 0:
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 1:
      std::swap(members[which], members[seed / 64 % members.size()]);
      break;
    case 2:
      members[which].data.swap(members[seed / 64 % members.size()].data);
      break;
    case 3:
    case 4:
      change_member(members[which], seed / 64, mutate);
      break;
    default:  // the first is the pickle, which says the most
      change_member(members[0], seed / 64, mutate);
  }
  return put_together(std::move(archive));
}

constexpr std::size_t tar_block = 512, tar_size = 124, tar_checksum = 148, tar_magic = 257;

struct TarMember {
  Bytes header, data;
};

/// A tar archive taken apart, up to what is no header any more.
struct Tar {
  std::vector<TarMember> members;
  Bytes end;
};

std::optional<Tar> take_tar_apart(const Bytes& bytes) {
  Tar tar;
  std::size_t at = 0;
  const auto cut = [&](std::size_t size) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    at += size;
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(size));
  };
  while (bytes.size() - at >= tar_block && std::equal(&bytes[at + tar_magic], &bytes[at + tar_magic + 5], "ustar")) {
    const std::string digits(&bytes[at + tar_size], &bytes[at + tar_size + 11]);
    const std::size_t size = std::strtoul(digits.c_str(), nullptr, 8);
    const std::size_t left = bytes.size() - at - tar_block;
    if (size > left) break;
    const std::size_t padded = (size + tar_block - 1) / tar_block * tar_block;
    if (padded > left) break;
    Bytes header = cut(tar_block), data = cut(padded);
    data.resize(size);
    tar.members.push_back({std::move(header), std::move(data)});
  }
  if (tar.members.empty()) return std::nullopt;
  tar.end = cut(bytes.size() - at);
  return tar;
}

/// With sizes and checksums that fit.
Bytes put_tar_together(const Tar& tar) {
  Bytes out;
  for (auto [header, data] : tar.members) {
    const auto set = [&header = header](std::size_t at, const char* format, unsigned number, std::size_t width) {
      char text[16] = {};
      std::snprintf(text, sizeof text, format, number);
      std::copy_n(text, width, header.begin() + static_cast<std::ptrdiff_t>(at));
    };
    set(tar_size, "%011o", static_cast<unsigned>(data.size()), 12);
    std::fill_n(header.begin() + tar_checksum, 8, std::uint8_t{' '});
    unsigned sum = 0;
    for (const std::uint8_t byte : header) sum += byte;
    set(tar_checksum, "%06o", sum, 7);
    out.insert(out.end(), header.begin(), header.end());
    out.insert(out.end(), data.begin(), data.end());
    out.resize((out.size() + tar_block - 1) / tar_block * tar_block);
  }
  out.insert(out.end(), tar.end.begin(), tar.end.end());
  return out;
}

Bytes mutated_tar(Tar tar, unsigned seed, Mutate mutate) {
  auto& members = tar.members;
  const std::size_t which = seed / 8 % members.size();
  Bytes& data = members[which].data;
  switch (seed % 8) {
    case 0:
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 1:
      data.swap(members[seed / 64 % members.size()].data);
      break;
    default:
      data = changed_content(std::move(data), seed / 64, mutate);
  }
  return put_tar_together(tar);
}

}  // namespace

Bytes mutated(Bytes bytes, unsigned seed, Mutate mutate) {
  const unsigned rest = seed / 4;
  if (is_gzip(bytes) && bytes[3] == 0 && seed % 4 > 0) {
    if (auto body = inflated(bytes.data() + gzip_header, bytes.size() - gzip_header))
      return gzipped(mutated(std::move(body->bytes), rest, mutate), rest / 4);
  }
  if (seed % 4 > 0) {
    if (auto archive = take_apart(bytes); archive && !archive->members.empty())
      return mutated_zip(std::move(*archive), rest, mutate);
    if (auto tar = take_tar_apart(bytes)) return mutated_tar(std::move(*tar), rest, mutate);
  }
  bytes = changed_content(std::move(bytes), rest / 2, mutate);
  if (rest % 2 == 0) return bytes;
  mend_gzip(bytes);
  if (const auto tar = take_tar_apart(bytes)) return put_tar_together(*tar);
  auto archive = take_apart(bytes);
  return archive ? put_together(std::move(*archive)) : bytes;
}

}  // namespace ckpt::fuzz
