"""System calls that a confined process may not make, and their numbers.

Numbers are from Linux 6.18: arch/x86/entry/syscalls/syscall_64.tbl for x86_64, and
include/uapi/asm-generic/unistd.h for aarch64. They never change; None: the machine has no such
call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MACHINES: Final = ("x86_64", "aarch64")
"""The machines whose numbers are known, in the order of the pairs below."""

NUMBERS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lchown": (94, None),
    "listen": (50, 201),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "recvmmsg": (299, 243),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "sendmmsg": (307, 269),
    "sendto": (44, 206),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}

OTHERS_MEMORY: Final = ("pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace")
"""They reach into other processes."""
PAST_THE_FILTER: Final = ("io_uring_enter", "io_uring_register", "io_uring_setup")
"""They would do other calls' work, unfiltered."""
KEYS: Final = ("add_key", "keyctl", "request_key")
"""Key rings are shared with processes outside."""
MOUNTS: Final = (
    *("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr"),
    *("move_mount", "open_tree", "open_tree_attr", "pivot_root", "setns", "umount2"),
)
"""What is where."""
MACHINE: Final = (
    *("acct", "bpf", "clock_settime", "delete_module", "fanotify_init", "finit_module"),
    *("init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "open_by_handle_at"),
    *("perf_event_open", "quotactl", "quotactl_fd", "reboot", "setdomainname", "sethostname"),
    *("settimeofday", "swapoff", "swapon", "userfaultfd"),
)
"""They change or watch the whole machine, or have been a way into the kernel."""
NETWORK: Final = ("accept", "accept4", "bind", "connect", "listen", "recvmmsg", "sendmmsg")
"""Without the network; sockets that are made in pairs do not need them."""
SHARED: Final = (
    *("msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop"),
    *("shmat", "shmctl", "shmget"),
)
"""Queues, semaphores and memory of System V, which have no paths; Landlock does not know them."""
METADATA: Final = (
    *("chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat"),
    *("file_setattr", "fremovexattr", "fsetxattr", "futimesat", "lchown", "lremovexattr"),
    *("lsetxattr", "removexattr", "removexattrat", "setxattr", "setxattrat", "utime"),
    *("utimensat", "utimes"),
)
"""They change what a file is like, not what is in it; Landlock does not know them."""
