"""What is no checkpoint at all, under a checkpoint's name: only content decides."""

import bz2
import lzma
import zlib

from attack import Attack, fine, unsupported
from forge import torch_zip


def attacks():
    whole = torch_zip()
    for title, data, said in (
        ("empty", b"", "the file is empty"),
        ("one-byte", b"P", "this is text: 'P'"),
        ("two-bytes", b"PK", "this is text: 'PK'"),
        ("newline", b"\n", "this is text: ''"),
        ("zeros", bytes(1 << 20), "this is nothing but zeros at its beginning"),
        ("ones", b"\xff" * 1000, "no known format begins with ff ff"),
        ("7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(56), "this is a 7z archive"),
        ("7z-with-a-zip-inside", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24) + whole, "this is a 7z archive"),
        ("rar", b"Rar!\x1a\x07\1\0" + bytes(56), "this is a rar archive"),
        ("html", b"<!DOCTYPE html><html><body>Sign in</body></html>", "this is a web page"),
        ("html-lower", b"<!doctype html><p>", "this is a web page"),
        ("html-after-blanks", b"\n\n  <html>", "this is a web page"),
        ("html-upper", b"<HTML><HEAD>", "this is a web page"),
        (
            "xml-error",
            b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
            "this is XML: '<?xml version=",
        ),
        ("json-error", b'{"error": "Repository not found"}', 'this is JSON: \'{"error": "Repository not found"}\''),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "this is a Git LFS pointer"),
        ("xz", lzma.compress(whole), "this is an xz file"),
        ("bzip2", bz2.compress(whole), "this is a bzip2 file"),
        ("zlib", zlib.compress(whole), "this is a zlib stream"),
        ("zstd", b"\x28\xb5\x2f\xfd" + bytes(30), "this is a zstd file"),
        ("hdf5", b"\x89HDF\r\n\x1a\n" + bytes(100), "this is an HDF5 file"),
        ("gguf", b"GGUF" + bytes(60), "GGUF of version 0"),
        ("png", b"\x89PNG\r\n\x1a\n" + bytes(60), "this is a PNG picture"),
        ("jpeg", b"\xff\xd8\xff\xe0" + bytes(60), "this is a JPEG picture"),
        ("elf", b"\x7fELF\2\1\1" + bytes(60), "this is an ELF program"),
        ("pdf", b"%PDF-1.7\n" + bytes(60), "this is a PDF"),
        ("script-before-a-zip", b"#!/bin/sh\nexit\n" + whole, "no known format begins with 23 21 2f 62 69 6e 2f 73"),
        ("text", b"hello\n", "this is text: 'hello'"),
        ("escape-sequence", b"\x1b]0;owned\x07", "no known format begins with 1b 5d"),
    ):
        yield Attack(f"container-{title}.pt", data, unsupported(said))
    yield Attack("container-suffix-lies.png", whole, fine("weight"))
    yield Attack("container-suffix-lies.safetensors", whole, fine("weight"))
