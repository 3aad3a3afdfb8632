"""A checkpoint of any size that takes no room on the disk: most of its numbers are zeros, in holes of the file."""

import struct
import zlib

from torchfile import Storage, Tensor, pickled, state_dict

GIB = 1 << 30
ALIGNMENT = 64
MOST_32 = 0xFFFFFFFF


def crc_of_zeros(size):
    block, crc = bytes(1 << 20), 0
    for _ in range(size // len(block)):
        crc = zlib.crc32(block, crc)
    return zlib.crc32(bytes(size % len(block)), crc)


class SparseZip:
    """Members whose bytes are given, or that many zeros."""

    def __init__(self, file, root):
        self.file, self.root, self.members = file, root.encode(), []
        self.known = {}  # CRC-32 by number of zeros

    def add(self, name, content=b"", zeros=0):
        if zeros and zeros not in self.known:
            self.known[zeros] = crc_of_zeros(zeros)
        crc = self.known[zeros] if zeros else zlib.crc32(content)
        size, name = zeros or len(content), self.root + b"/" + name.encode()
        at = self.file.tell()
        gap = -(at + 30 + len(name) + 4) % ALIGNMENT
        extra = struct.pack("<2sH", b"FB", gap) + b"Z" * gap
        self.file.write(struct.pack("<4s5H3I2H", b"PK\3\4", 0, 0, 0, 0, 33, crc, size, size, len(name), len(extra)))
        self.file.write(name + extra + content)
        self.file.seek(zeros, 1)
        self.members.append((name, crc, size, at))

    def close(self):
        begin = self.file.tell()
        for name, crc, size, at in self.members:
            far = struct.pack("<HHQ", 1, 8, at) if at >= MOST_32 else b""
            self.file.write(struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, crc, size, size, len(name), len(far), 0,
                                        0, 0, 0, MOST_32 if far else at) + name + far)
        end = self.file.tell()
        count, size = len(self.members), end - begin
        self.file.write(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, begin))
        self.file.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        self.file.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size, MOST_32, 0))


def save_sparse(path, gib):
    """`gib` tensors of 1 GiB of zeros, tagged cuda:0, and one of eight numbers."""
    large = {f"layer{i}.weight": Tensor([GIB // 4096, 1024], device="cuda:0") for i in range(gib)}
    small = Tensor([8], storage=Storage(8, record=struct.pack("<8f", *range(8))))
    data, storages = pickled(state_dict({**large, "small.bias": small}))
    with path.open("wb") as file:
        archive = SparseZip(file, "archive")
        archive.add("data.pkl", data)
        archive.add("byteorder", b"little")
        for key, storage in storages.items():
            if storage.record is None:
                archive.add(f"data/{key}", zeros=4 * storage.elements)
            else:
                archive.add(f"data/{key}", storage.record)
        archive.add("version", b"3\n")
        archive.close()
