#!/usr/bin/env python3
"""Installs a build into a temporary prefix and uses it as others would.

    tests/package/run.py --build build/release

By find_package, by pkg-config, from the sample, each public header alone, and the program itself, after the installed
tree has been moved. Ends with `N passed, N failed`.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import harness  # noqa: E402

INPUT = ROOT / "tests/data/foonet_cuda0.pt.gz"
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Skip(Exception):
    pass


class Tree:
    """An installed tree, moved once since it was installed, and a folder to work in."""

    def __init__(self, build, folder):
        self.work = folder
        self.prefix = folder / "moved"
        self.compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]
        self.run("cmake", "--install", build, "--prefix", folder / "first")
        (folder / "first").rename(self.prefix)
        self.lib = next(self.prefix.rglob("libckpt.so")).parent
        libtorch = re.search(r"^CKPT_LIBTORCH:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
        self.libtorch = Path(libtorch[1]) if libtorch else None

    def run(self, *command, **variables):
        """Runs a command that must succeed; returns what it printed."""
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        if "LD_LIBRARY_PATH" not in variables:
            environment.pop("LD_LIBRARY_PATH", None)
        done = subprocess.run([str(part) for part in command], cwd=self.work, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        if done.returncode:
            raise AssertionError(f"{' '.join(map(str, command))} (exit {done.returncode})\n{done.stdout}")
        return done.stdout

    def configure_and_build(self, source, name):
        self.run("cmake", "-S", source, "-B", self.work / name, "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={self.compiler}")
        self.run("cmake", "--build", self.work / name)
        return self.work / name

    def version(self):
        return re.search(r'CKPT_VERSION "(.*)"', (self.prefix / "include/ckpt/version.h").read_text())[1]

    def expect_consumer(self, output):
        expected = f"version {self.version()}\ndigests agree\ncaught io\n"
        assert output == expected, f"expected:\n{expected}got:\n{output}"


@check
def find_package_finds_it(tree):
    folder = tree.configure_and_build(HERE, "cmake-consumer")
    tree.expect_consumer(tree.run(folder / "consumer", INPUT, "by-cmake.pt"))


@check
def pkg_config_finds_it(tree):
    flags = tree.run("pkg-config", "--cflags", "--libs", "ckpt", PKG_CONFIG_PATH=tree.lib / "pkgconfig").split()
    tree.run(tree.compiler, *FLAGS, HERE / "consumer.cpp", *flags, "-o", "by-pkg-config")
    tree.expect_consumer(tree.run("./by-pkg-config", INPUT, "by-pkg-config.pt", LD_LIBRARY_PATH=tree.lib))


@check
def pkg_config_tells_the_version(tree):
    version = tree.run("pkg-config", "--modversion", "ckpt", PKG_CONFIG_PATH=tree.lib / "pkgconfig").strip()
    assert version == tree.version(), version


@check
def the_sample_works_as_its_page_says(tree):
    folder = tree.configure_and_build(ROOT / "samples/library", "sample")
    output = tree.run(folder / "to_cpu", INPUT, "by-sample.pt")
    assert re.fullmatch(r"[1-9]\d* tensors, \d+ names changed\n", output), output


@check
def every_public_header_stands_alone(tree):
    headers = sorted((tree.prefix / "include/ckpt").glob("*.h"))
    assert headers, "no headers are installed"
    torch = [f"-isystem{tree.libtorch}/include"] if tree.libtorch else []
    for header in headers:
        (tree.work / "alone.cpp").write_text(f"#include <ckpt/{header.name}>\n")
        tree.run(tree.compiler, *FLAGS, "-fsyntax-only", "-I", tree.prefix / "include", *torch, "alone.cpp")


@check
def all_public_headers_are_installed(tree):
    folders = ["lib", "formats", *(["eval"] if tree.libtorch else [])]
    ours = {path.name for folder in folders for path in (ROOT / folder / "include/ckpt").glob("*.h")}
    installed = {path.name for path in (tree.prefix / "include/ckpt").iterdir()}
    assert installed == ours | {"version.h"}, installed ^ (ours | {"version.h"})


@check
def the_program_runs_from_where_it_was_moved(tree):
    output = tree.run(tree.prefix / "bin/ckpt", "inspect", INPUT)
    assert "cuda:0" in output, output


@check
def the_program_uses_the_library_beside_it(tree):
    path = re.search(r"libckpt\.so\.[\d.]+ => (\S+)", tree.run("ldd", tree.prefix / "bin/ckpt"))
    assert path and Path(path[1]).resolve().is_relative_to(tree.prefix.resolve()), path


@check
def others_evaluate_and_convert_with_it(tree):
    if not tree.libtorch:
        raise Skip("built without libtorch (CKPT_LIBTORCH)")
    folder = tree.configure_and_build(HERE / "eval", "eval-consumer")
    digits = ROOT / "samples/digits"
    output = tree.run(folder / "evaluates", digits / "fnn_digits_dp.pt.gz", digits / "digits_test.pt.gz")
    assert output == "fnn: 390 of 397\n", output
    assert tree.run(folder / "converts", digits / "fnn_digits_dp.pt.gz", "converted.pt") == "10 tensors\n"
    tree.run(tree.prefix / "bin/ckpt", "diff", digits / "fnn_digits_dp.pt.gz", "converted.pt", "--ignore", "devices",
             "--ignore", "other")


@check
def evaluation_runs_from_where_it_was_moved(tree):
    if not tree.libtorch:
        raise Skip("built without libtorch (CKPT_LIBTORCH)")
    digits = ROOT / "samples/digits"
    output = tree.run(tree.prefix / "bin/ckpt", "eval", digits / "fnn_digits_dp.pt.gz", "--data",
                      digits / "digits_test.pt.gz", "--json")
    assert '"correct":390' in output, output


@check
def internals_are_hidden(tree):
    symbols = tree.run("nm", "-DC", "--defined-only", tree.lib / "libckpt.so")
    assert "ckpt::load(" in symbols, "ckpt::load is not exported"
    leaked = [line for line in symbols.splitlines() if re.search(r" [TBDRV] ckpt::(ZipReader|ZipWriter|format_table)", line)]
    assert not leaked, "\n".join(leaked)


@check
def another_minor_version_is_another_library(tree):
    major, minor, _ = tree.version().split(".")
    for library in tree.lib.glob("libckpt*.so"):
        soname = re.search(r"SONAME.*\[(.*)\]", tree.run("readelf", "-d", library))
        # The plug-in of kernels is loaded by its path.
        expected = f"{library.name}.{major}" + (f".{minor}" if major == "0" else "")
        assert "kernels" in library.name or soname and soname[1] == expected, soname and soname[1]


@check
def the_licence_is_installed(tree):
    assert list(tree.prefix.rglob("LICENSE")), "no LICENSE"


@check
def a_project_around_it_has_its_targets_and_modules_of_its_own(tree):
    source, modules = tree.work / "around", tree.work / "modules"
    source.mkdir(), modules.mkdir()
    for name in "Compiler", "Dependencies", "Install":
        (modules / f"{name}.cmake").write_text("message(FATAL_ERROR \"not ckpt's own\")\n")
    targets = ["ckpt::ckpt", *(["ckpt::eval", "ckpt::torch"] if tree.libtorch else [])]
    (source / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(around LANGUAGES CXX)\n"
        f"list(APPEND CMAKE_MODULE_PATH {modules})\nadd_subdirectory({ROOT} ckpt)\n"
        f"add_executable(program {HERE}/consumer.cpp)\ntarget_link_libraries(program PRIVATE {' '.join(targets)})\n")
    tree.run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={tree.compiler}",
             f"-DCKPT_LIBTORCH={tree.libtorch or ''}")


@check
def a_later_minor_version_is_refused(tree):
    major, minor, _ = tree.version().split(".")
    for asked, found in ((f"{major}.{minor}", "1"), (f"{major}.{int(minor) + 1}", "0")):
        source = tree.work / f"asks-for-{asked}"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(asks LANGUAGES CXX)\n"
                                               f"find_package(ckpt {asked} CONFIG QUIET)\nmessage(\"found: ${{ckpt_FOUND}}\")\n")
        output = tree.run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={tree.prefix}",
                          f"-DCMAKE_CXX_COMPILER={tree.compiler}")
        assert f"found: {found}\n" in output, f"{asked}: {output}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder, already built")
    options = parser.parse_args()
    suite = harness.Suite()
    with tempfile.TemporaryDirectory(prefix="ckpt-package-") as folder:
        tree = Tree(options.build.resolve(), Path(folder))
        for function in CHECKS:
            try:
                function(tree)
                suite.ok()
            except Skip as reason:
                suite.skip(function.__name__, reason)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                suite.fail(function.__name__, error)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
