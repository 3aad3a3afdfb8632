#include "ckpt/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "container/zip_builder.h"
#include "formats/pickled_arrays.h"
#include "formats/tar_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using zip_testing::build_zip;

const std::string evil = py::pickle(py::call(py::global("os", "system"), {py::str("true")}));
const std::string good = py::pickle(py::list({py::integer(1)}));

ScanResult scanned(const Bytes& bytes) { return scan(memory_source(bytes, "test.pt")); }
ScanResult scanned(const std::string& bytes) { return scanned(bytes_of(bytes)); }

/// The verdict, and of the first finding its place.
std::string told(const ScanResult& result) {
  std::string text(scan_verdict_name(result.verdict));
  if (result.findings.empty()) return text;
  const ScanFinding& first = result.findings.front();
  return text + ": " + first.module + "." + first.name + " at " + std::to_string(first.offset) + " of '" +
         first.stream + "' in '" + first.where + "'";
}
std::string told(const std::string& bytes) { return told(scanned(bytes)); }

std::string gzipped(const std::string& bytes) { return std::string(as_text(io_testing::gzipped(bytes_of(bytes)))); }

TEST(Scan, AFileOfKnownNamesIsSafe) {
  const ScanResult result = scanned(torch_testing::bytes_of(torch_testing::ZipFile{.object = torch_testing::weight()}));
  EXPECT_EQ(told(result), "safe");
  EXPECT_EQ(result.pickles, 1U);
  EXPECT_EQ(result.known, 3U);
  EXPECT_TRUE(result.recognised);
}

TEST(Scan, ANameOfAThirdPartyIsUnknown) {
  EXPECT_EQ(told(py::pickle(py::call(py::global("zoo", "Net"), {}))), "unknown: zoo.Net at 2 of '' in ''");
}

TEST(Scan, IdsAreJudgedWhereNothingIsCalled) {
  const auto of = [](const py::Code& first, const py::Code& place) {
    const py::Code storage = py::global("torch", "FloatStorage");
    return py::pickle(py::persistent(py::tuple({first, storage, py::str("0"), place, py::integer(4)})));
  };
  EXPECT_EQ(told(of(py::str("storage"), py::str("cpu"))), "safe");
  for (const std::string& odd : {of(py::global("torch", "FloatStorage"), py::str("cpu")), of(py::str("storage"), "]")})
    EXPECT_EQ(told(odd).substr(0, 29), "dangerous: torch.FloatStorage") << odd;
}

TEST(Scan, SaysHowANameIsReached) {
  const ScanFinding finding = scanned(evil).findings.at(0);
  EXPECT_EQ(finding.how, "GLOBAL, REDUCE");
  EXPECT_TRUE(finding.called);
  EXPECT_FALSE(scanned(py::pickle(py::global("os", "system"))).findings.at(0).called);
}

TEST(Scan, CountsBytesInTheFileWhereTheyStandThere) {
  const std::string zip = build_zip({{.name = "r/data.pkl", .data = evil}});
  EXPECT_EQ(told(zip), "dangerous: os.system at 42 of '' in 'member 'r/data.pkl''");
  EXPECT_EQ(zip.substr(42, 4), "cos\n");
}

TEST(Scan, CountsBytesInWhatIsInflated) {
  EXPECT_EQ(told(gzipped(evil)), "dangerous: os.system at 2 of 'gzip' in 'gzip'");
  const std::string stored = build_zip({{.name = "x", .data = evil}});
  EXPECT_EQ(told(gzipped(stored)), "dangerous: os.system at 33 of 'gzip' in 'gzip: member 'x''");
  const std::string packed =
      build_zip({{.name = "x", .data = zip_testing::deflate_stored(evil), .method = 8, .inflated_size = evil.size()}});
  EXPECT_EQ(told(packed), "dangerous: os.system at 2 of 'member 'x'' in 'member 'x''");
}

TEST(Scan, DangerOutweighsWhatCannotBeRead) {
  const ScanResult result = scanned(evil.substr(0, evil.size() - 1));
  EXPECT_EQ(result.verdict, ScanVerdict::dangerous);
  EXPECT_NE(result.error.find("ends after"), std::string::npos) << result.error;
  EXPECT_EQ(told(good.substr(0, good.size() - 1)), "unreadable");
}

TEST(Scan, AnArchiveThatItsReaderRefusesIsLookedThroughByItsHeaders) {
  const std::string zip = build_zip({{.name = "a", .data = good}, {.name = "r/data.pkl", .data = evil}});
  EXPECT_EQ(told(zip.substr(0, zip.size() - 30)).substr(0, 20), "dangerous: os.system");
  EXPECT_EQ(told(build_zip({{.name = "a", .data = evil, .local_name = "b"}})),
            "dangerous: os.system at 33 of '' in 'member 'b' ('a' in the directory)'");
  EXPECT_EQ(told(build_zip({{.name = "a", .data = good, .local_name = "b"}})), "unreadable");
}

TEST(Scan, NamesThatAreEqualButForCaseAreEachJudged) {
  EXPECT_EQ(told(build_zip({{.name = "a", .data = good}, {.name = "A", .data = good}})), "safe");
  EXPECT_EQ(told(build_zip({{.name = "a", .data = good}, {.name = "A", .data = evil}})).substr(0, 9), "dangerous");
}

TEST(Scan, FindsMembersThatTheDirectoryDoesNotList) {
  const std::string hidden = build_zip({{.name = "h", .data = evil}});
  const std::string gap = hidden.substr(0, hidden.find("PK\1\2"));
  const std::string zip = build_zip({{.name = "a", .data = good}, {.name = "b", .data = good, .gap = gap}});
  EXPECT_EQ(told(zip).substr(0, 9), "dangerous");
}

TEST(Scan, ArchivesOneBehindTheOtherAreEachJudged) {
  const std::string first = build_zip({{.name = "a", .data = good}});
  EXPECT_EQ(told(first + first), "safe");
  EXPECT_EQ(told(first + build_zip({{.name = "a", .data = evil}})).substr(0, 9), "dangerous");
}

TEST(Scan, APickleWhoseNamesAreNoneDoesNotHideTheNext) {
  EXPECT_EQ(told(good + "c1\n2\n." + evil).substr(0, 9), "dangerous");
}

TEST(Scan, AnArchiveBehindAPickleIsLookedInto) {
  EXPECT_EQ(told(good + build_zip({{.name = "a", .data = evil}})).substr(0, 9), "dangerous");
}

TEST(Scan, WhatOnlyBeginsAsAnArchiveDoesNotHideTheNext) {
  for (const std::string begin : {"PK\3\4", "PK\5\6", "PK\6\6"})
    EXPECT_EQ(told(good + begin + "\n." + evil).substr(0, 9), "dangerous") << begin;
  EXPECT_EQ(told(good + build_zip({{.name = "a", .data = "text\n\0"}})), "safe");
}

TEST(Scan, APickleByItsNameIsFollowedThoughItBeginsAsAnArchive) {
  const std::string plain = "PK\3\4\n0" + evil;
  EXPECT_EQ(told(build_zip({{.name = "r/data.pkl", .data = plain}})).substr(0, 20), "dangerous: os.system");
}

TEST(Scan, ATarThatIsBrokenIsLookedThroughByItsBlocks) {
  const std::string tar = tar_testing::tar_of(
      {{.name = "a", .data = "x"}, {.name = "b", .data = "x", .checksum_error = 1}, {.name = "c", .data = evil}});
  EXPECT_EQ(told(tar), "dangerous: os.system at 2562 of '' in 'member 'c''");
}

TEST(Scan, WhatARecordOfATarCallsIsFoundWhereItIsRefused) {
  const std::string plain = "cos\nsystem\n(S'true'\ntR";  // no opcode announces it
  const std::string record = tar_testing::tensor_record(7, 1, {2, 2}, {2, 1});
  const std::vector<std::string> refused[] = {{record, plain + "%"}, {record, plain + ".", record}};
  for (const std::vector<std::string>& records : refused) {
    const std::string tar = tar_testing::torch_tar_of({.tensors = records});
    EXPECT_EQ(told(tar), "dangerous: os.system at " + std::to_string(tar.find(plain)) + " of '' in ''");
  }
}

TEST(Scan, WhereAFindingIsIsToldWithoutALongName) {
  const std::string long_name(60'000, 'a');
  const std::string tar = tar_testing::tar_of({{"././@LongLink", long_name + '\0', 'L'}, {"short", evil}});
  EXPECT_LT(told(tar).size(), 200U);
  EXPECT_LT(told(build_zip({{.name = long_name, .data = evil}})).size(), 200U);
}

TEST(Scan, AStorageIsAPickleOnlyWhereItIsAWholeOne) {
  const auto zip = [](const std::string& data) {
    return build_zip({{.name = "r/data.pkl", .data = good}, {.name = "r/data/0", .data = data}});
  };
  EXPECT_EQ(told(zip(evil)).substr(0, 9), "dangerous");
  EXPECT_EQ(told(zip("cos\nsystem\n.")).substr(0, 9), "dangerous");
  EXPECT_EQ(told(zip("cos\ncos\ncos\ncos\n")), "safe");
  EXPECT_EQ(told(zip(std::string(100'000, '('))), "safe");
}

/// One in 85 random storages begins with the code of an extension: 40,000 that do stand for 3.4 million.
TEST(Scan, StoragesOfRandomBytesAreNoPickles) {
  std::mt19937_64 random(4711);
  std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = good}};
  for (int i = 0; i < 40'000; ++i) {
    std::string data(64, '\0');
    for (char& c : data) c = static_cast<char>(random() & 0xffU);
    data[0] = static_cast<char>(0x82 + i % 3);
    parts.push_back({.name = "r/data/" + std::to_string(i), .data = data});
  }
  const ScanResult result = scanned(build_zip(parts));
  EXPECT_EQ(told(result), "safe");
  EXPECT_EQ(result.pickles, 1U);
}

TEST(Scan, ANumberOfAnExtensionInAStorageCountsInAPickleThatSaysThatItIsOne) {
  const auto zip = [](const std::string& data) {
    return build_zip({{.name = "r/data.pkl", .data = good}, {.name = "r/data/0", .data = data}});
  };
  for (const std::string& code : {std::string("\x82\7"), std::string("\x83\7\7"), std::string("\x84\7\7\7\7")}) {
    EXPECT_EQ(told(zip(code + ".")), "safe");
    EXPECT_EQ(told(zip(code + ")R.")), "safe");
    EXPECT_EQ(told(zip("N." + code + ".")), "safe");
    EXPECT_EQ(told(zip("\x80\2" + code + ".")).substr(0, 27), "dangerous: copyreg.extensio");
    EXPECT_EQ(told(zip("cos\nsystem\n0" + code + ")R.")).substr(0, 20), "dangerous: os.system");
    EXPECT_EQ(scanned(zip("cos\nsystem\n0" + code + ")R.")).findings.size(), 2U);
  }
}

TEST(Scan, NumbersThatReadAsAnExtensionAreNoPickleBehindOne) {
  // What a legacy file says before 898 and before 3,015,554 numbers.
  for (const std::string& count : {std::string("\x82\3\0\0\0\0\0\0", 8), std::string("\x82\3.\0\0\0\0\0", 8)})
    EXPECT_EQ(told(good + count + std::string(64, '\0')), "safe");
  EXPECT_EQ(told(good + "\x82\3)R.").substr(0, 27), "dangerous: copyreg.extensio");
  EXPECT_EQ(told("\x82\3.").substr(0, 27), "dangerous: copyreg.extensio");
  EXPECT_EQ(told("\x82\3)R").substr(0, 27), "dangerous: copyreg.extensio");
  EXPECT_EQ(told("\x82\3 random bytes"), "unreadable");
}

TEST(Scan, BytesThatNothingLoadsAreNoPickle) {
  EXPECT_EQ(told(py::pickle(py::dict({{py::str("a"), py::bytes(evil)}}), 3)), "safe");
}

TEST(Scan, LoadFromBytesIsAsHarmlessAsItsFiles) {
  using pickled_arrays::load_from_bytes;
  EXPECT_EQ(told(py::pickle(pickled_arrays::nested(), 3)), "safe");
  EXPECT_EQ(told(py::pickle(load_from_bytes(py::bytes(evil)), 3)).substr(0, 20), "dangerous: os.system");
  for (const std::string& data : {std::string(), std::string("text"), good,
                                  pickled_arrays::storage_file().substr(0, pickled_arrays::storage_file().size() - 4)})
    EXPECT_EQ(told(py::pickle(load_from_bytes(py::bytes(data)), 3)).substr(0, 42),
              "dangerous: torch.storage._load_from_bytes ")
        << data;
}

TEST(Scan, WhatIsLoadedFromBytesIsAStorageAndUsedAsOne) {
  using pickled_arrays::load_from_bytes;
  const std::string said = "dangerous: torch.storage._load_from_bytes ";
  const py::Code storage = load_from_bytes(py::bytes(pickled_arrays::storage_file()));
  EXPECT_EQ(told(py::pickle(storage, 3)), "safe");
  for (const char* use : {")R", "}b", "Na", "NNs", "]q\5h\0o"})
    EXPECT_EQ(told(py::pickle(storage + use, 3)).substr(0, said.size()), said) << use;
  const Bytes whole =
      torch_testing::bytes_of(torch_testing::LegacyFile{.object = py::global("numpy", "memmap"), .data = {}});
  EXPECT_EQ(told(py::pickle(load_from_bytes(py::bytes(as_text(whole))), 3)).substr(0, said.size()), said);
}

TEST(Scan, EachPickleOfALegacyFileIsFollowedInATarToo) {
  const py::Code calls = py::call(py::global("os", "system"), {});
  const Bytes whole = torch_testing::bytes_of(torch_testing::LegacyFile{.object = calls, .data = {}});
  std::string file(as_text(whole));
  file.replace(0, file.find('.'), "L119547037146038801333356L\nc1\n2\n0");  // unannounced, and no name of Python's
  for (const std::string& odd : {file, tar_testing::tar_of({{.name = "a", .data = file}})}) {
    const ScanResult result = scanned(odd);
    EXPECT_EQ(result.verdict, ScanVerdict::dangerous);
    EXPECT_TRUE(std::ranges::any_of(result.findings, [](const ScanFinding& found) { return found.name == "system"; }));
  }
}

TEST(Scan, AnArrayOfObjectsIsAPickle) {
  const auto npy = [](const std::string& descr, const std::string& data) {
    const std::string line = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }\n";
    return "\x93NUMPY\1" + std::string(1, '\0') + static_cast<char>(line.size()) + std::string(1, '\0') + line + data;
  };
  EXPECT_EQ(told(npy("|O", evil)).substr(0, 9), "dangerous");
  EXPECT_EQ(told(npy("|O", good)), "safe");
  EXPECT_EQ(told(npy("<f4", "cos\n")), "safe");
}

TEST(Scan, WhatStandsBehindAnArrayOfAnyDtypeIsLookedAt) {
  const auto npy = [](const std::string& descr, std::size_t bytes) {
    const std::string line = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }\n";
    return "\x93NUMPY\1" + std::string(1, '\0') + static_cast<char>(line.size()) + std::string(1, '\0') + line +
           std::string(bytes, '\0');
  };
  const std::string unannounced = "cos\nsystem\n(S'echo'\ntR.";
  const std::vector<std::pair<std::string, std::size_t>> arrays{
      {"'<f4'", 4},
      {"'|b1'", 1},
      {"'<U3'", 12},
      {"'|S2'", 2},
      {"'|V5'", 5},
      {"'<M8[s]'", 8},
      {"'>m8[25ns]'", 8},
      {"'<f16'", 16},
      {"'<c32'", 32},
      {"[('a', '<i4'), ('', '|V4'), (('t', 'b'), '<f8', (2, 3))]", 56},
      {"[('x', [('y', '<f4', (2,)), ('z', '<U2')])]", 16},
  };
  for (const auto& [descr, bytes] : arrays) {
    EXPECT_EQ(told(npy(descr, bytes)), "safe") << descr;
    EXPECT_EQ(told(npy(descr, bytes) + unannounced).substr(0, 9), "dangerous") << descr;
    EXPECT_EQ(told(npy(descr, bytes + 1) + unannounced).substr(0, 9), "safe") << descr;
  }
  // numpy reads those, and does not write them: where they end is not known.
  for (const char* descr : {"'float32'", "'f'", "('<f4', (2,))", "'<f4', 'descr': '<f4'", "'<M8[s'", "'U'"})
    EXPECT_EQ(told(npy(descr, 8) + unannounced).substr(0, 10), "unreadable") << descr;
}

TEST(Scan, AFrameThatEndsWithinAnInstructionIsSeenInAnyFile) {
  const std::string within = "\x95" + std::string("\2\0\0\0\0\0\0\0", 8) + "V\\u004\ncos\nsystem\n(S'echo'\ntR.";
  for (const std::string& file : {within, good + within, std::string(3, 'N') + within})
    EXPECT_EQ(told(file).substr(0, 9), "dangerous");
  // The readers that read a frame whole go on behind it.
  const std::string behind = "\x95" + std::string("\x04\0\0\0\0\0\0\0", 8) + "N.NN" + "cos\nsystem\n(S'echo'\ntR.";
  EXPECT_NE(told(behind), "safe");
}

TEST(Scan, AnArraysFieldsStandInTuples) {
  const auto npy = [](const std::string& descr) {
    const std::string line = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (99999,), }\n";
    const std::string late = "\x80\2" + std::string(80'000, 'N') + evil.substr(2);
    return "\x93NUMPY\1" + std::string(1, '\0') + static_cast<char>(line.size()) + std::string(1, '\0') + line + late;
  };
  for (const char* descr : {"['aT']", "{'aT'}", "['aT2']", "[('x', ['aT'])]", "[('aT'),]", "{'a': {'aT'}}"})
    EXPECT_EQ(told(npy(descr)).substr(0, 9), "dangerous") << descr;
  for (const char* descr : {"[('aT', '<f4')]", "[(('aT', 'b'), '<f4', (2,))]", "[('a', [('bT', '<f4')])]"})
    EXPECT_EQ(told(npy(descr)), "safe") << descr;
}

TEST(Scan, TensorsLieWithinTheirStorages) {
  using torch_testing::storage, torch_testing::tensor;
  const auto file = [](std::int64_t elements) {
    return torch_testing::bytes_of(torch_testing::ZipFile{.object = tensor(storage(), {elements}, {1})});
  };
  const ScanResult past = scanned(file(600));
  EXPECT_EQ(past.verdict, ScanVerdict::unreadable);
  EXPECT_TRUE(past.recognised);
  EXPECT_NE(past.error.find("reaches element 599"), std::string::npos) << past.error;
  const std::string whole(as_text(file(1))), broken(as_text(file(600)));
  EXPECT_EQ(told(whole), "safe");
  EXPECT_EQ(told(whole + whole), "safe");
  EXPECT_EQ(told(whole + broken), "unreadable");
  EXPECT_EQ(told(broken + whole), "unreadable");
  EXPECT_EQ(told(gzipped(broken)), "unreadable");
}

TEST(Scan, WhatIsNothingIsUnreadableAndNotRecognised) {
  for (const std::string& bytes :
       {std::string(), std::string("(c) Copyright\nby many\n"), std::string("\x89PNG\r\n\x1a\n")}) {
    const ScanResult result = scan(memory_source(bytes_of(bytes), "LICENSE"));
    EXPECT_EQ(result.verdict, ScanVerdict::unreadable);
    EXPECT_FALSE(result.recognised);
    EXPECT_FALSE(result.error.empty());
  }
}

TEST(Scan, AnImportUnderAPicklesNameCountsHoweverItIsSpelt) {
  const auto verdict = [](const std::string& bytes, const char* name) {
    return scan(memory_source(bytes_of(bytes), name)).verdict;
  };
  for (const char* const name : {"m.pt", "m.PKL", "m.bin.gz"})
    EXPECT_EQ(verdict("cmy mod\nfn\n\xff", name), ScanVerdict::dangerous) << name;
  EXPECT_EQ(verdict("cmy mod\nfn\n.", "m"), ScanVerdict::unreadable);  // as prose
  EXPECT_EQ(verdict("cmy mod\nfn\n." + good, "m"), ScanVerdict::dangerous);
  EXPECT_EQ(verdict(good + "cmy mod\nfn\n.", "m"), ScanVerdict::dangerous);
  EXPECT_EQ(verdict("cmy-mod\nfn\n.", "m"), ScanVerdict::dangerous);
}

TEST(Scan, DistributedMetadataThatBreaksOffIsNoProse) {
  const std::string text = "ccopyreg\nfn\n(torch.distributed.checkpoint.metadata\nMetadata\n";
  EXPECT_EQ(scan(memory_source(bytes_of(text), "m")).verdict, ScanVerdict::dangerous);
}

TEST(Scan, WhatIsPackedByOthersIsRecognisedAndNotJudged) {
  const ScanResult result = scanned("7z\xbc\xaf\x27\x1c" + std::string(100, '\0'));
  EXPECT_EQ(result.verdict, ScanVerdict::unreadable);
  EXPECT_TRUE(result.recognised);
}

TEST(Scan, ArraysInArraysAreNotOpenedForEver) {
  std::string file;
  for (int i = 0; i < 10'000; ++i) file += std::string("\x93NUMPY\1\0\0\0", 10);
  EXPECT_EQ(told(file), "unreadable");
  const std::string line = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }\n";
  file.clear();
  for (int i = 0; i < 10'000; ++i)
    file += std::string("\x93NUMPY\1\0", 8) + static_cast<char>(line.size()) + std::string(1, '\0') + line;
  EXPECT_EQ(told(file), "safe");
  EXPECT_EQ(told(file + evil).substr(0, 9), "dangerous");
}

TEST(Scan, ThreeLayersOfGzipAreNotOpened) {
  EXPECT_EQ(told(gzipped(gzipped(evil))).substr(0, 9), "dangerous");
  EXPECT_EQ(told(gzipped(gzipped(gzipped(evil)))), "unreadable");
}

TEST(Scan, DamageInGzipDoesNotHideWhatCameBefore) {
  std::string file = gzipped(evil);
  file[file.size() - 6] = static_cast<char>(file[file.size() - 6] ^ 1);
  EXPECT_EQ(told(file).substr(0, 9), "dangerous");
}

}  // namespace
}  // namespace ckpt
