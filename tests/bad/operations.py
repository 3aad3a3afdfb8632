"""Every operation but those that each attack goes through, as a line in which FILE is the attack, OUT what would be written
and OTHER a sound file; of eval MODEL and SET are a sound model and its test set."""

import zlib

OPERATIONS = """
    inspect --json FILE
    verify --finite FILE
    verify --json FILE
    digest FILE
    diff FILE FILE
    diff --json FILE FILE
    check FILE --like FILE
    stats FILE
    stats --json FILE
    average FILE FILE OUT
    merge FILE OUT
    merge OTHER FILE OUT
    shard FILE OUT --max-size 1MB
    extract FILE a -o OUT
    extract FILE weight -o OUT
    strip-prefix FILE OUT
    add-prefix FILE OUT
    convert FILE OUT --weights-only
    convert FILE OUT --root auto --allow-unsafe
    convert FILE OUT --allow-unsafe --protocol 0
    convert FILE OUT --allow-unsafe --protocol 2 --no-gzip
    convert FILE OUT --allow-unsafe --keep *w*
    convert FILE OUT --allow-unsafe --drop *.bias --strip-optimizer
    convert FILE OUT --allow-unsafe --to cuda:1 --rename (.*)=x.\\1
    convert FILE OUT --allow-unsafe --map *=cpu --strip-prefix
    convert FILE OUT --allow-unsafe --contiguous --compact --dedupe
    convert FILE OUT --allow-unsafe --dtype float16 --gzip=9
    convert FILE OUT --allow-unsafe --dequantize --format torch
    convert FILE OUT --allow-unsafe --format torch-legacy --verify full
    convert FILE OUT --allow-unsafe --format safetensors --contiguous
    convert FILE OUT --allow-unsafe --format npz
    convert FILE OUT --allow-unsafe --format dcp
    convert FILE OUT --allow-unsafe --format torch-index --shard-size 1MB
""".strip().splitlines()

EVALUATIONS = """
    eval FILE --data SET --device cpu
    eval MODEL --data FILE --device cpu
    eval MODEL --data SET --baseline FILE --device cpu
""".strip().splitlines()
EVALUATED = 17  # of so many attacks that can be read one is: libtorch takes its time to start


def of(name, all_of_them):
    """Those for the attack of that name: one, and the same however many attacks there are."""
    return chosen(OPERATIONS, number_of(name), all_of_them)


def evaluations_of(name, all_of_them):
    """Those of eval for the attack of that name, which `inspect` reads."""
    number = number_of(name) // len(OPERATIONS)
    if number % EVALUATED and not all_of_them:
        return []
    return chosen(EVALUATIONS, number // EVALUATED, all_of_them)


def number_of(name):
    return zlib.crc32(name.encode())


def chosen(lines, number, all_of_them):
    lines = [line.strip() for line in lines]
    return lines if all_of_them else [lines[number % len(lines)]]
