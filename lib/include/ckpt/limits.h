#pragma once

#include <cstddef>
#include <cstdint>

/// Every cap in one place. A file past one of them is refused with ErrorCode::limit_exceeded and a message that says
/// what there is too much of, unless the constant's own comment says what happens instead. Each is far above what real
/// files hold (docs/formats/ gives the figures) and low enough that a small hostile file cannot take the machine's
/// memory or time.
namespace ckpt::limits {

inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;
inline constexpr std::uint64_t gib = 1024 * mib;

/// Bytes of one chunk when tensor data is copied, hashed or inflated. Fits the second-level cache.
inline constexpr std::size_t copy_chunk = 256 * kib;

/// gzip inside gzip: this many layers are opened, no more.
inline constexpr int gzip_depth = 2;

/// Members of a gzip file that its index may tell of, some 32 bytes of memory each: 1 TiB, or 64 GiB of small tensors.
/// Beyond it the file is read as any other.
inline constexpr std::uint64_t gzip_members = 2 * mib;

/// Bytes that compressed data within compressed data (gzip in gzip, deflated members in gzip) may come to, as a
/// multiple of the file's bytes on disk (deflate's own ceiling, which one layer cannot pass), and what is free.
inline constexpr std::uint64_t inflated_floor = gib;
inline constexpr std::uint64_t inflated_ratio = 1032;
constexpr std::uint64_t most_inflated(std::uint64_t bytes) {
  return bytes > UINT64_MAX / inflated_ratio ? UINT64_MAX : inflated_ratio * bytes;
}
constexpr std::uint64_t inflated_cap(std::uint64_t file_bytes) {
  const std::uint64_t most = most_inflated(file_bytes);
  return most > UINT64_MAX - inflated_floor ? UINT64_MAX : inflated_floor + most;
}

/// Bytes that one compressed stream is inflated to, all told, while it is read here and there, as a multiple of its
/// size, and what is free: thousands of tensors that lie across it would each have all of it inflated. A tensor is
/// gathered across the grain in as many passes as it has blocks of 32 MiB; going back to one costs 128 KiB or a
/// hundredth of the stream, and thousands may lie in any order. Where blocks are tiny, a mebibyte takes a tenth of a
/// second.
inline constexpr std::uint64_t reinflated_floor = 256 * mib;
inline constexpr std::uint64_t reinflated_ratio = 128;
constexpr std::uint64_t reinflated_cap(std::uint64_t size) {
  if (size > (UINT64_MAX - reinflated_floor) / reinflated_ratio) return UINT64_MAX;
  return reinflated_floor + reinflated_ratio * size;
}

/// Bytes that one pickle may span.
inline constexpr std::uint64_t pickle_bytes = 2 * gib;
/// Values (nodes) one pickle may make.
inline constexpr std::uint64_t pickle_values = 128 * mib;
/// … and no more than this, and this many times the bytes of the file on disk: a value takes far more memory than the
/// byte of a compressed file that asks for it. Real pickles in gzip or deflate are 5 to 20 times their compressed size.
inline constexpr std::uint64_t pickle_floor = 4 * mib;
inline constexpr std::uint64_t pickle_ratio = 64;
constexpr std::uint64_t pickle_cap(std::uint64_t file_bytes) {
  if (file_bytes >= (pickle_bytes - pickle_floor) / pickle_ratio) return pickle_bytes;
  return pickle_floor + pickle_ratio * file_bytes;
}
/// Values of a pickle that may span so many bytes: one may come of each, and takes some ninety of memory until it is
/// shown. It is four for each byte of a compressed file, of which those of real ones have at most as many.
inline constexpr std::uint64_t pickle_bytes_a_value = 16;
constexpr std::uint64_t pickle_value_cap(std::uint64_t bytes) {
  const std::uint64_t most = pickle_floor + bytes / pickle_bytes_a_value;
  return most < pickle_values ? most : pickle_values;
}
/// Tensors of one file's pickles, and some more for the values that they make: of a tensor that has arguments of its
/// own these are ten and more.
inline constexpr std::uint64_t pickle_tensors = 256 * kib;
inline constexpr std::uint64_t pickle_values_a_tensor = 8;
constexpr std::uint64_t pickle_tensor_cap(std::uint64_t values) {
  return pickle_tensors + values / pickle_values_a_tensor;
}
/// Names that the pickles of a checkpoint import, each counted once: some dozens in real files.
inline constexpr std::size_t pickle_globals = 64 * kib;
/// Bytes that the calls, ids and states of a pickle are given (long texts, long names, items of long tuples and states;
/// formats/pickle/sharing.h), each time they are given, and as a multiple of what there is to give: a few bytes fetch a
/// long value again and again. Real pickles share values of some bytes.
inline constexpr std::uint64_t pickle_shared = 64 * mib;
inline constexpr std::uint64_t pickle_shared_ratio = 16;
/// Files within files: a torch.save within a pickle within a tar.
inline constexpr int nesting = 8;
/// Bytes of the pickles of a file within another, as a multiple of its own bytes: there may be a million such.
inline constexpr std::uint64_t nested_pickle_floor = 64 * kib;
constexpr std::uint64_t nested_pickle_cap(std::uint64_t file_bytes) {
  if (file_bytes >= (pickle_bytes - nested_pickle_floor) / pickle_ratio) return pickle_bytes;
  return nested_pickle_floor + pickle_ratio * file_bytes;
}
/// Entries of a folder that is read as a checkpoint.
inline constexpr std::size_t folder_entries = 64 * kib;
/// Files of one checkpoint that are open at a time.
inline constexpr std::size_t open_files = 32;
/// Shards of one checkpoint, which their names count in five digits; tensors of their index, and its bytes, some 100
/// a tensor.
inline constexpr std::uint32_t shard_files = 99'999;
inline constexpr std::size_t index_tensors = 512 * kib;
inline constexpr std::uint64_t index_bytes = 64 * mib;
/// A text of a plain pickle stays in its file from this many bytes on: weights are there, and not in memory.
inline constexpr std::uint64_t pickle_far_text = 4 * kib;
/// Pickles behind the first one of a file whose names are looked at. Those behind them are not.
inline constexpr std::uint64_t pickles_behind = 1024;
/// Entries of a pickle's memo (an index may be higher).
inline constexpr std::uint64_t pickle_memo = 128 * mib;
/// Bytes of one line of a text opcode (protocol 0).
inline constexpr std::uint64_t pickle_line = 64 * mib;
/// Decimal digits of an integer literal that has to be converted (CPython's own default cap).
inline constexpr std::size_t integer_digits = 4300;

/// Members of one zip archive.
inline constexpr std::uint64_t zip_members = 16 * mib;
/// Bytes of a zip's central directory (of an archive that is compressed, no more than of a pickle).
inline constexpr std::uint64_t zip_directory_bytes = gib;
/// A deflated member may grow to this many times its compressed size (deflate's own ceiling is 1032).
inline constexpr std::uint64_t zip_ratio = 1032;
/// Bytes of a small member (version, byteorder, serialization_id …) that is held in memory.
inline constexpr std::uint64_t zip_small_member = 64 * mib;

/// Bytes of the model.json of a TorchScript file of 2019, and how deep it may be nested: two levels a module.
inline constexpr std::uint64_t script_model_bytes = 16 * mib;
inline constexpr int script_model_depth = 256;
/// Keys of one of its objects: torch's have 10 at most.
inline constexpr std::size_t script_model_fields = 64;
/// Members of one tar archive, and bytes of what stands before one of them (a long name, pax's records).
inline constexpr std::uint64_t tar_members = 64 * kib;
inline constexpr std::uint64_t tar_header_bytes = mib;
/// Bytes of the names of all of its members.
inline constexpr std::uint64_t tar_name_bytes = 32 * mib;
/// Files of an archive that are looked at for a checkpoint (a model has some ten beside it).
inline constexpr std::size_t archive_files = 4 * kib;

/// Bytes of the header of a numpy array: a line of some 128, and of a structured array a few for each of its fields.
inline constexpr std::uint64_t numpy_header_bytes = mib;

/// Bytes of the header of a safetensors file (the library takes no more; of one that is compressed, no more than of a
/// pickle), tensors and entries of metadata that one may have (there is one for each tensor that shares another's
/// bytes), and dimensions of all of them.
inline constexpr std::uint64_t safetensors_header_bytes = 100'000'000;
inline constexpr std::uint64_t safetensors_tensors = 256 * kib;
inline constexpr std::uint64_t safetensors_metadata = 256 * kib;
inline constexpr std::uint64_t safetensors_dimensions = 4 * mib;
/// How deep JSON may be nested in places that say nothing to ckpt (as deep as serde takes it).
inline constexpr std::size_t json_depth = 128;
/// Arrays in arrays of GGUF's metadata: this deep (real files have none).
inline constexpr std::size_t gguf_nesting = 8;
/// Bytes of its keys and of what stands under them, as text (a vocabulary of 256k tokens and their scores takes 8 MB).
/// A key past it is left out, with a warning.
inline constexpr std::uint64_t gguf_metadata_bytes = 16 * mib;
/// Tensors of one GGUF file (the largest have some thousands).
inline constexpr std::uint64_t gguf_tensors = 256 * kib;
/// Steps that joining a distributed checkpoint may take, and some more for each of its items: chunks, cuts between
/// them, parts of paths, places of lists. Real ones take below 20 an item.
inline constexpr std::uint64_t dcp_steps = mib;
/// Fields of one object of its metadata: torch's have 6 at most, and many objects may be given the same state.
inline constexpr std::uint64_t dcp_record_fields = 64;
inline constexpr std::uint64_t dcp_steps_an_item = 64;
/// How often over the values that several names share may be written into one.
inline constexpr std::uint64_t dcp_copies = 16;
constexpr std::uint64_t dcp_step_cap(std::uint64_t items) { return dcp_steps + dcp_steps_an_item * items; }

/// Of one file that is scanned: members, texts and files in files that are looked at. Past a cap of scan's a file's
/// verdict is unreadable, unless it is dangerous.
inline constexpr std::uint64_t scan_parts = mib;
/// Pickles of one file that are followed, those that stand one behind the other among them.
inline constexpr std::uint64_t scan_pickles = 256 * kib;
/// Values that the scan of one pickle keeps at a time: on its stack, in its memo, texts; bytes of the texts.
inline constexpr std::uint64_t scan_values = 16 * mib;
inline constexpr std::uint64_t scan_text_bytes = 64 * mib;
/// Bytes of a text that may be the name of something; a longer name is dangerous.
inline constexpr std::uint64_t scan_name_bytes = kib;
/// Instructions after which bytes that need be no pickle, and that named nothing so far, are taken for none.
inline constexpr std::uint64_t scan_patience = 64 * kib;
/// … and bytes.
inline constexpr std::uint64_t scan_patience_bytes = mib;
/// Names that are listed of one file, unknown ones half of that: those past it still count.
inline constexpr std::size_t scan_findings = 4 * kib;
/// Bytes of pickles that are followed in one file, for each of its own, and what is free.
inline constexpr std::uint64_t scan_floor = 64 * mib;
constexpr std::uint64_t scan_cap(std::uint64_t file_bytes) {
  if (file_bytes > (UINT64_MAX - scan_floor) / pickle_ratio) return UINT64_MAX;
  return scan_floor + pickle_ratio * file_bytes;
}

/// Bytes of a list of digests (what `ckpt digest` prints).
inline constexpr std::uint64_t digest_list_bytes = 64 * mib;

/// Bytes of what an earlier evaluation wrote: JSON, predictions, a partial result. Parsed, it takes up to 30 times
/// that.
inline constexpr std::uint64_t evaluation_bytes = 64 * mib;
/// How deep its JSON may be nested (what is written is so 4 deep), and how many cells its confusion may have.
inline constexpr int evaluation_depth = 16;
inline constexpr std::uint64_t confusion_cells = 16 * mib;
/// Positions of one answer, each of which has figures of its own (captchas have four to eight).
inline constexpr std::uint64_t answer_positions = 64 * kib;

/// Dimensions of one tensor: torch's sums refuse more. Each tensor has a copy of them, and a few bytes of a file
/// suffice to make one that has the shape of another.
inline constexpr std::size_t tensor_dimensions = 64;
/// Bins of the histograms of all tensors together, which are held until the last has been read: 8 bytes each.
inline constexpr std::uint64_t histogram_counts = 32 * mib;
/// Tensor names that one file may give rise to (shared containers are walked once a path): this many, and some more for
/// each tensor that it has.
inline constexpr std::uint64_t tensor_names = 256 * kib;
inline constexpr std::uint64_t names_a_tensor = 16;
/// Bytes of all of them (a tensor deep in containers has a long name).
inline constexpr std::uint64_t tensor_name_bytes = 64 * mib;
/// Bytes of all names that a walk or a selection looks at: those of other values, too. And of long keys of one pickle's
/// dicts and members of its sets, beside `pickle_shared_ratio`.
inline constexpr std::uint64_t walked_name_bytes = 256 * mib;
/// Steps of a walk through containers, and some more for each value of the pickle and each place in which one stands:
/// they may be shared exponentially.
inline constexpr std::uint64_t walk_steps = 4 * mib;
inline constexpr std::uint64_t walk_steps_a_value = 4;
constexpr std::uint64_t walk_step_cap(std::uint64_t extent) { return walk_steps + walk_steps_a_value * extent; }
/// Steps of a comparison of two files' values, and some more for what they have, likewise.
inline constexpr std::uint64_t diff_steps = 4 * mib;
inline constexpr std::uint64_t diff_steps_a_value = 4;
constexpr std::uint64_t diff_step_cap(std::uint64_t extent) { return diff_steps + diff_steps_a_value * extent; }
/// Stretches of storages that are looked at for their views, each view counted: thousands may have an element in each.
inline constexpr std::uint64_t sweep_steps = 8 * mib;
/// Logical bytes of a tensor, and of all views together, as a multiple of their storages' bytes, and the size below
/// which that is not asked.
inline constexpr std::uint64_t expansion_ratio = 64;
inline constexpr std::uint64_t expansion_floor = gib;

/// Pixels of a picture that is evaluated, and of a side of it (captchas have some thousand pixels, scans some million).
inline constexpr std::uint64_t picture_pixels = 16 * mib;
inline constexpr std::uint64_t picture_side = 64 * kib;
/// Bytes of its file: more than a picture of that size has in colours that compress badly.
inline constexpr std::uint64_t picture_bytes = 64 * mib;

/// Numbers of one sample of a test set (a picture, a clip), and labels of one of its files, which are held in memory.
inline constexpr std::uint64_t sample_elements = 256 * mib;
inline constexpr std::uint64_t dataset_labels = 16 * mib;

}  // namespace ckpt::limits
