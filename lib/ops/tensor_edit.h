#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ckpt/checkpoint.h"
#include "model/tensor_calls.h"
#include "ops/tensor_place.h"

namespace ckpt {

/// Gives tensors other bytes: another storage, dtype, offset or stride. The calls that build them are rewritten where
/// they stand, so that whatever held a tensor still does, and Parameters and sparse tensors around it follow.
///
///     TensorEdit edit(std::move(checkpoint));
///     for (std::size_t i = 0; i < edit.views().size(); ++i) edit.set(i, edit.add(…, edit.views()[i].storage), …);
///     checkpoint = edit.finish();
class TensorEdit {
 public:
  /// What one call shows of a storage.
  struct View {
    std::uint32_t storage = 0;  ///< index into storages()
    TensorInfo info;            ///< as it lies in the whole of that storage
  };

  /// Throws Error (unsupported): the file is taken whole (ckpt/checkpoint.h).
  explicit TensorEdit(Checkpoint checkpoint);

  /// As it was given.
  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  /// Every call once, however many tensors come down to it. Tensors that are held as numpy arrays, and such as have no
  /// bytes, are none.
  [[nodiscard]] const std::vector<View>& views() const { return views_; }
  /// Those that a tensor of checkpoint() comes down to: one, or one a part.
  [[nodiscard]] std::vector<std::size_t> views_of(const Tensor& tensor) const;
  /// Storages that other values than these views hold as well, so that their bytes have to stay as they are.
  [[nodiscard]] std::vector<bool> held_otherwise() const;

  /// A storage to make others of. What is made of one shares the comparison with its recorded CRC-32, for which all of
  /// it is read, once (watch()).
  Storage material(std::uint32_t storage);
  /// A storage that is to be read where `origin` is. Its key may be that of `origin`: another is found where both stay.
  std::uint32_t add(Storage storage, std::uint32_t origin);
  void set(std::size_t view, std::uint32_t storage, TensorInfo info);

  /// Called once, last. Storages that nothing looks at any more are gone.
  Checkpoint finish();

 private:
  static constexpr std::size_t no_view = static_cast<std::size_t>(-1);
  struct Place {
    ValueId call = no_value;
    TensorPlace::Form form{};
    bool changed = false;
  };

  std::size_t find_view(const Tensor& tensor);
  [[nodiscard]] std::size_t view_at(ValueId tensor) const;
  void rewrite(std::size_t view);
  void rewrite_arguments(const Place& place, const View& view, ValueId storage);
  ValueId without_sign(ValueId metadata);
  void drop_sign(std::vector<ValueId>& items, std::size_t metadata_at);
  ValueId edited(ValueId tuple, const std::vector<ValueId>& items);
  void update(Tensor& tensor);
  void sort_storages();

  Checkpoint checkpoint_;
  TensorCalls calls_;
  std::vector<View> views_;
  std::vector<Place> places_;                                 ///< of the views
  std::unordered_map<ValueId, std::size_t> known_;            ///< the view of each tensor, by value; no_view
  std::unordered_map<ValueId, ValueId> unsigned_;             ///< without_sign() of each metadata, which may be shared
  std::unordered_map<std::uint32_t, ByteSourcePtr> watched_;  ///< of storages that others are made of
  std::vector<std::uint32_t> origins_;                        ///< of each storage: itself, or what it was made of
};

}  // namespace ckpt
