#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ckpt/scan.h"
#include "format.h"
#include "pickle/trace.h"
#include "scan/part.h"
#include "scan/sparse_indices.h"

namespace ckpt::scanning {

/// Goes through the parts of one file: what is in each (walk.cpp), its pickles (walk_pickles.cpp), what they name
/// (findings.cpp), and whether their tensors have the numbers that they say (walk_tensors.cpp).
class Walk {
 public:
  Walk(const ByteSourcePtr& source, ScanResult& result);
  void run();
  /// The file without the gzip around it.
  [[nodiscard]] const ByteSource& innermost() const { return *innermost_; }

 private:
  /// What is still to be opened: parts that are archives, or texts that calls are given.
  struct Open {
    Part part;
    void (Walk::*as)(const Part& part);
  };
  /// A use of torch.storage._load_from_bytes, which is harmless where each of the files that it is given is.
  struct Loader {
    ScanFinding finding;
    bool doubt = false;
  };

  /// Pickles that stand one behind the other.
  struct Neighbours {
    std::uint64_t begin = 0, until = 0;  ///< of the first; behind where the last begins that is looked at
    bool is_legacy = false;              ///< they are the first ones of a legacy file
    bool fetch = false;                  ///< one behind the first fetches anything
    bool lack = false;                   ///< and has not stored it itself
  };

  void visit(const Part& part);
  void look_at(Part part);
  void count_headers(std::uint64_t bytes);
  bool open_archive(const Part& part, std::span<const std::byte> head);
  static std::optional<std::uint64_t> begin_of_tail(const Part& part);
  void open_tail(const Part& part, bool is_archive);
  void open_array(const Part& part);
  void note_packed(const Part& part, std::string_view head);
  void follow_pickles(const Part& part, bool is_archive, bool is_numbers);
  bool is_named_as_pickle(const Part& part) const;
  void judge_values(const Part& part, const pickle::Trace& trace, std::uint64_t begin, std::uint64_t until,
                    Verdict most = Verdict::dangerous);
  bool makes_legacy_magic(const Part& part, std::uint64_t at, const pickle::Trace& trace) const;
  void add_up_to_lack(const Part& part, std::uint64_t at, bool odd_too);
  void follow_as_one(const Part& part, const Neighbours& neighbours);
  pickle::Trace follow_pickle(const Part& part, std::uint64_t at);
  static bool is_pickle(const Part& part, const pickle::Trace& trace, bool believed, bool expected);
  void open_gzip(const Part& part);
  void open_zip(const Part& part);
  void open_tar(const Part& part);
  void open_text(const Part& part);
  bool open_behind(const Part& part, std::uint64_t at);
  bool open_rest(const Part& part, std::string_view format);
  void open_rest(const Part& part, std::uint64_t at);
  void read_others(const Part& part);
  void read_records(const Part& tar);
  bool read_uses(const Part& part, const Format& format, ReadContext::Met& met);
  void search_pickles(const Part& part);
  void follow_record(const Part& tar, std::uint64_t at);
  static bool is_loader(const pickle::TracedName& name);
  void keep_file(Part& part);
  void keep_pickle(const Part& part, const pickle::Trace& trace, std::uint64_t begin);
  void read_tensors();
  void read_tensors(const Part& part, const Format& format);
  void judge_states(const Part& part, const Checkpoint& file);

  /// `at`: where in the part's bytes; an error of what is compressed knows only where it lies in that.
  void note(const Error& error, const Part& part);
  void note(const Error& error, const Part& part, std::optional<std::uint64_t> at);
  /// `odd_too`: names that are spelt as none is.
  void add(const Part& part, const pickle::Trace& trace, bool odd_too);
  void add(ScanFinding finding);
  /// `trace`: of the pickle that it stands in, which knows how.
  void add_use(const Part& part, const GlobalUse& use, const pickle::Trace* trace = nullptr);
  void open_texts(const Part& part, const pickle::Trace& trace, const std::vector<std::size_t>& loaders);
  void doubt(const Part& part);
  void raise(ScanVerdict verdict) { result_.verdict = std::max(result_.verdict, verdict); }

  ByteSourcePtr source_;
  ScanResult& result_;
  ByteSourcePtr innermost_;
  ReadContext context_;
  std::uint64_t inflatable_;  ///< bytes that gzip within gzip may still come to
  std::deque<Open> open_;
  std::vector<std::pair<Part, const Format*>> files_;  ///< what torch loads by itself: the file, and those within it
  std::set<std::size_t> of_torch_;  ///< numbers, from 1, of those of which a pickle names anything of torch's
  SparseIndices indices_;
  std::vector<Loader> loaders_;
  std::set<std::pair<std::string, std::string>> known_;  ///< names
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, Verdict>
      listed_;  ///< names, where, offset
  std::uint64_t parts_ = 0, pickles_ = 0;
  std::uint64_t followed_ = 0;  ///< bytes of pickles
  std::uint64_t headers_ = 0;   ///< bytes that unlisted headers are taken for
};

}  // namespace ckpt::scanning
