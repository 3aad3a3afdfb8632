#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/value.h"

/// What policy says of how known names are used. They make harmless values when they are called as picklers call them;
/// given something else, a few of them call what they are given, or take it for memory.
namespace ckpt {

enum class CallRisk : std::uint8_t {
  none,
  /// numpy.ndarray and its like take bytes for the memory of an array, which may be one of objects: their addresses. No
  /// pickler calls them: they are what numpy's _reconstruct is given.
  takes_memory,
  /// copyreg's functions make an object of the class that they are given first.
  makes_first,
  /// torch's _rebuild_from_type calls the function that it is given first, and gives what that makes a state.
  calls_first,
  /// numpy.dtype believes its state: sizes, offsets, whether elements are objects (see pickle/numpy_states.h).
  believes_state,
  /// Classes of dtypes would as well; none of them is pickled with a state.
  has_no_state,
  /// Python's own containers and numbers ask what they are made of for its items, which an object may answer with a
  /// method of its own. Picklers give them what is written out.
  iterates,
  /// Returns what it is given first: torch.jit's restore_type_tag, build_intlist and their like.
  returns_first,
  /// _codecs.encode makes bytes of a str by Latin-1, and by other codecs what no file should spell so.
  encodes,
  /// Layers, losses, optimizers are made by __new__ alone, and given their attributes: what else their constructors do
  /// goes by what these are given.
  is_made_bare,
  /// Made by __new__ alone as well, and nothing but data: uuid.UUID.
  is_made_plain,
  /// What is a value in a checkpoint: the function relu, numpy's classes, which _reconstruct and scalar are given; str.
  is_not_called,
  /// numpy's functions that make arrays out of bytes and of what follows (see pickle/numpy_states.h).
  makes_array,
  /// numpy's scalar() of bytes. Of a dtype of objects, older versions return what they are given, whatever it is.
  makes_scalar,
  /// numpy's functions for random generators, which may be told a function to call.
  makes_random,
};

CallRisk call_risk(std::string_view module, std::string_view name);

/// Whether copyreg's functions may be given a class of that risk to make: most are never made so, and those that take
/// bytes for memory, or a path for a file, would do it.
constexpr bool is_made_by_functions(CallRisk risk) {
  return risk != CallRisk::takes_memory && risk != CallRisk::is_not_called && risk != CallRisk::believes_state &&
         risk != CallRisk::has_no_state;
}

/// Whether Python's own container of that name takes items in that way. Of another one it would be an attribute that is
/// called, which the file may have set.
bool takes_items(std::string_view container, EffectKind how);

/// Whether a function of that name spells bytes, for the protocols that have no opcode for them.
bool spells_bytes(std::string_view name);

/// Whether a class or function of that module is one of those that numpy's constructors of random generators are given.
bool makes_bits(std::string_view module);

/// Whether Python's own copyreg._reconstructor may be given that class to begin with: its constructor is run.
bool is_plain_base(std::string_view module);

/// Whether what a known class of that module makes has whatever attributes the file gives it, methods among them: what
/// asks it for one may call anything.
bool has_any_attributes(std::string_view module);

/// Whether a function is of those that torch gives to its _rebuild_from_type.
bool is_rebuilt_by(std::string_view module);

/// Whether a class's constructor may take an address of memory by keyword (cdata, allocator), as torch's and numpy's
/// do; none of what they pickle is made so.
bool takes_addresses(std::string_view module);

/// Whether a function passes keywords on: copyreg.__newobj_ex__.
bool passes_keywords(std::string_view module, std::string_view name);

/// What stands for a part of a name that is no text of the pickle's.
inline constexpr std::string_view computed_name = "(computed)";

/// The module under which a text is judged that hands numpy an address of memory; its name is the text.
inline constexpr std::string_view text_module = "(text)";
/// The text without NULs: the bytes of one of numpy's texts, four a letter, are a text here, too.
std::string letters_of(std::string_view text);
/// Whether it does. No pickler writes it.
bool gives_memory(std::string_view text);
/// Whether it is the key under which a file names what PyTorch Lightning before 2.6 imports and calls when it loads a
/// checkpoint.
bool names_instantiator(std::string_view text);

}  // namespace ckpt
