#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "container/zip_reader.h"
#include "pickled_tensors/archive.h"
#include "torch_zip/details.h"

/// Where torch.save puts what in an archive: docs/formats/torch.md.
namespace ckpt::torch {

/// The folder that holds data.pkl and a version; every member lies in it. Throws Error: corrupt, unsupported (a
/// TorchScript archive, a zip of something else).
std::string find_root(const ZipReader& zip, const ByteSource& source);

/// Throws Error (corrupt) where the pickle names views of storages, which no zip holds.
void refuse_views(const Checkpoint& checkpoint);

/// A member within the root folder: the pickle, a storage, or a record, whose bytes `read` gives.
ZipDetails::Member describe_member(std::string_view name, bool is_storage, const std::function<ByteSourcePtr()>& read);

}  // namespace ckpt::torch
