"""What stands in the way of a mark, by the name of its row: written by hand, from a profile (`perf record`, `strace -c -f`),
and on the page for as long as a mark of the row is missed. A sentence that no longer holds goes.

    "digest": "a third of the time is read(2), in the same thread as the hash.",
"""

WHY = {
    "stats": "the histogram's range is known only when everything has been read, so that the file is read twice; the kernel's "
    "copying is 46 % of the processor time, which is as much as `cat` takes twice, and on two cores leaves half of the mark's "
    "time for the arithmetic (two histograms 26 %, range and sums 16 %, CRC-32 3 %). Mapping the file would save the copies, "
    "and end in a signal where another program shortens it.",
    "gunzip": "a stream without an index is inflated by one thread, and ISA-L's inflating is nearly all of the time: `igzip -d`, "
    "which does nothing else, is no more than 20 times as fast as Python either.",
    "digest-gz-ours": "a member is inflated whole, 2 ms for 512 KiB: the 8 of the tensor, and of the small ones between the "
    "large storages those that hold a local header of the archive, of which each is compared with the directory.",
    "extract-gz-ours": "as of the SHA-256 of one tensor.",
    "inspect-huge": "851 local headers are read, a system call each, and compared with the directory; it is at the mark, and what "
    "else the machine does decides.",
    "strip-prefix-many": "nothing by itself: no function takes more than 4 % but copying in memory (8 %). The pickle is read, "
    "written and read back, each of 70,000 storages and names goes through three hash tables, and a quarter of the time is the "
    "kernel's, mostly fresh pages.",
    "regzip-strip": "74 % of the processor time is the kernel's reading and writing, which is all that `cp` does; to look for "
    "headers that might begin within a member takes 13 %, to inflate the members where chance put one 6 %, the CRC-32 3 %.",
    "eval-fnn": "half of the time is starting: 0.16 s until libtorch's libraries are loaded, with `--help` as with a model.",
}
