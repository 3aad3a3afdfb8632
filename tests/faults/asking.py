"""What is asked beside reading and writing, and answered with an error: who may do what with the old target, what lies in a folder."""

import errno
import os
import stat
import struct

from driver import read_log

ACCESS_LIST = "system.posix_acl_access"
OF_OWNER, OF_USER, OF_GROUP, OF_MASK, OF_ALL, NOBODY_IN_PARTICULAR = 1, 2, 4, 16, 32, 0xFFFFFFFF


def list_for_a_user():
    """acl(5) in the kernel's form: user 1000 may read and write, and the group nothing, though the mode says that it may."""
    entries = ((OF_OWNER, 7, NOBODY_IN_PARTICULAR), (OF_USER, 6, 1000), (OF_GROUP, 0, NOBODY_IN_PARTICULAR),
               (OF_MASK, 6, NOBODY_IN_PARTICULAR), (OF_ALL, 0, NOBODY_IN_PARTICULAR))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def lists_of_rights(suite, program, files, folders):
    """A list that cannot be handed on gives the group of a new target nothing, whatever the mode was."""
    with folders.temporary() as folder:
        target, log = folder / "out.pt", folder / "log"
        (folder / "tmp").mkdir()

        def convert(faults=""):
            target.write_bytes(b"old")
            os.setxattr(target, ACCESS_LIST, list_for_a_user())
            return program.run(["convert", files / "small.pt", target], folder, faults, log)

        try:
            whole = convert()
        except OSError as error:
            return suite.skip("lists of rights", f"no file has one here: {error.strerror}")
        calls = [call for call in read_log(log)[0] if call.kind == "attribute"]
        suite.equal("a list is handed on", (whole.status, os.getxattr(target, ACCESS_LIST)), (0, list_for_a_user()))
        given = [call.number for call in calls if call.function == "fsetxattr"]
        asked = [call.number for call in calls if call.function == "lgetxattr"]
        suite.equal("it is asked for and given once", (len(asked), len(given)), (1, 1))
        faults = [(given[0], number) for number in (errno.EOPNOTSUPP, errno.EPERM, errno.ENOSPC)]
        for call, number in [*faults, (asked[0], errno.EIO), (asked[0], errno.EPERM)]:
            done = convert(f"attribute:{call}:fail={number}")
            program.count("calls that failed")
            mode = stat.S_IMODE(target.stat().st_mode)
            what = "given" if call == given[0] else "told"
            suite.equal(f"it cannot be {what}: {os.strerror(number)}", (done.status, mode & 0o077, os.listxattr(target)), (0, 0, []))


def folders_that_do_not_say(suite, program, files, folders):
    """What cannot be listed to its end is never called safe."""
    with folders.temporary() as folder:
        (folder / "tmp").mkdir()
        args = ["scan", files / "shards"]
        whole = program.run(args, folder, log=folder / "log")
        calls = [call for call in read_log(folder / "log")[0] if call.kind == "list"]
        suite.check("a folder is listed", whole.status == 0 and len(calls) > len(os.listdir(files / "shards")), whole)
        for call in calls:
            done = program.run(args, folder, f"list:{call.number}:fail={errno.EIO}")
            program.count("calls that failed")
            told = b"shards: unreadable: cannot read the folder: Input/output error" in done.out
            suite.check(f"{call.function} {call.number} fails", done.status == 3 and told, done)
