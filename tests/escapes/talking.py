"""Sending something out."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import ROOT, Attempt

_PACKET: Final = """
        def checksum(data):
            total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
            total = (total & 0xFFFF) + (total >> 16)
            return ~(total + (total >> 16)) & 0xFFFF
        body = TOKEN.encode()
        udp = struct.pack("!HHHH", 9, int(E["UDP_PORT"]), 8 + len(body), 0) + body
        here = socket.inet_aton("127.0.0.1")
        def ip(check):
            return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, check) + here + here
        packet = ip(checksum(ip(0))) + udp
"""
_COMPAT: Final = """
        memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        memory[:32] = bytes.fromhex(
            "534989f8418b00418b5804418b4808418b500c418b7010418b7814cd805bc3"
        ).ljust(32, b"\\x90")
        run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(base)
        def compat(*numbers):
            words = (*numbers, 0, 0, 0, 0, 0)[:6]
            memory[64:88] = struct.pack("6I", *(word & 0xFFFFFFFF for word in words))
            return run(base + 64)
"""

TALKING: Final = (
    Attempt(
        number=81,
        name="connect by TCP",
        breaks="read-only",
        goal="sent",
        language="python",
        script='socket.create_connection(("127.0.0.1", int(E["TCP_PORT"]))).sendall(b"x")',
    ),
    Attempt(
        number=82,
        name="connect by TCP, from a workspace",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script='socket.create_connection(("127.0.0.1", int(E["TCP_PORT"]))).sendall(b"x")',
    ),
    Attempt(
        number=83,
        name="connect by TCP over IPv6",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script='socket.create_connection(("::1", int(E["TCP6_PORT"]))).sendall(b"x")',
        needs="IPv6",
    ),
    Attempt(
        number=84,
        name="send data with the first packet",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket()
        sock.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", int(E["TCP_PORT"])))
        """,
    ),
    Attempt(
        number=85,
        name="connect by multipath TCP",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
        sock.connect(("127.0.0.1", int(E["TCP_PORT"])))
        """,
        needs="multipath TCP",
    ),
    Attempt(
        number=86,
        name="send by UDP",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.sendto(TOKEN.encode(), ("127.0.0.1", int(E["UDP_PORT"])))
        """,
    ),
    Attempt(
        number=87,
        name="hide data in a question to a name server",
        breaks="read-only",
        goal="sent",
        language="python",
        script="""
        name = TOKEN[:32].encode()
        question = struct.pack("!6H", 1, 256, 1, 0, 0, 0) + bytes([len(name)]) + name
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", int(E["UDP_PORT"])))
        sock.sendmsg([question + b"\\0\\0\\x10\\0\\1"])
        """,
    ),
    Attempt(
        number=88,
        name="send a packet made by hand",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script=_PACKET
        + """
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        sock.sendto(packet, ("127.0.0.1", 0))
        """,
        users=ROOT,
    ),
    Attempt(
        number=89,
        name="send a frame made by hand",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script=_PACKET
        + """
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind(("lo", 0x0800))
        sock.send(bytes(12) + b"\\x08\\x00" + packet)
        claim()
        """,
        users=ROOT,
    ),
    Attempt(
        number=90,
        name="connect to a Unix socket",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script='socket.socket(socket.AF_UNIX).connect(E["UNIX_SOCKET"])',
    ),
    Attempt(
        number=91,
        name="send to a Unix socket",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.sendto(b"x", E["UNIX_DATAGRAM"])
        """,
    ),
    Attempt(
        number=92,
        name="send to a Unix socket without sendto",
        breaks="read-only",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.sendmsg([b"x"], [], 0, E["UNIX_DATAGRAM"])
        """,
    ),
    Attempt(
        number=93,
        name="connect to an abstract socket",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script='socket.socket(socket.AF_UNIX).connect("\\0" + E["ABSTRACT"])',
    ),
    Attempt(
        number=94,
        name="send to an abstract socket without sendto",
        breaks="read-only",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.sendmsg([b"x"], [], 0, "\\0" + E["ABSTRACT_DATAGRAM"])
        """,
    ),
    Attempt(
        number=95,
        name="connect to a Unix socket through a link in the workspace",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        os.symlink(E["UNIX_SOCKET"], "door")
        socket.socket(socket.AF_UNIX).connect("door")
        """,
    ),
    Attempt(
        number=96,
        name="be handed a descriptor over a Unix socket",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(E["UNIX_HANDING"])
        os.write(socket.recv_fds(sock, 1, 1)[1][0], b"x")
        """,
    ),
    Attempt(
        number=97,
        name="ask the kernel about the network's devices",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script="""
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        sock.bind((0, 0))
        sock.send(struct.pack("IHHIIB3x", 20, 18, 0x301, 1, 0, 0))
        if b"lo" in sock.recv(65536):
            claim()
        """,
    ),
    Attempt(
        number=98,
        name="talk to the machine around this one",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        sock.settimeout(1)
        sock.connect((1, int(E["VSOCK_PORT"])))
        """,
        needs="vsock with a way back",
    ),
    Attempt(
        number=99,
        name="wait to be called from outside",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        sock = socket.socket()
        sock.settimeout(3)
        sock.bind(("127.0.0.1", int(E["CALLED_PORT"])))
        sock.listen()
        sock.accept()[0].sendall(TOKEN.encode())
        """,
    ),
    Attempt(
        number=100,
        name="connect by the system calls of 32-bit programs",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script=_COMPAT
        + """
        SOCKET, CONNECT = 359, 362
        memory[128:144] = struct.pack("=H", socket.AF_INET) + struct.pack(
            "!H4s8x", int(E["TCP_PORT"]), socket.inet_aton("127.0.0.1")
        )
        compat(CONNECT, compat(SOCKET, socket.AF_INET, socket.SOCK_STREAM, 0), base + 128, 16)
        """,
        needs="an x86_64 kernel that runs 32-bit programs",
    ),
    Attempt(
        number=101,
        name="connect by the system calls of the x32 kind",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        address = struct.pack("=H", socket.AF_INET) + struct.pack(
            "!H4s8x", int(E["TCP_PORT"]), socket.inet_aton("127.0.0.1")
        )
        sock = call(0x40000000 + 41, socket.AF_INET, socket.SOCK_STREAM, 0)
        call(0x40000000 + 42, sock, address, 16)
        """,
        needs="an x86_64 kernel with x32",
    ),
    Attempt(
        number=102,
        name="use a socket that was left open for us",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        for number in map(int, os.listdir("/proc/self/fd")):
            try:
                os.write(number, b"x") if number == int(E["INHERITED_SOCKET"]) else None
            except OSError:
                pass
        """,
    ),
    Attempt(
        number=103,
        name="use a folder that was left open for us",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/proc/self/fd/$INHERITED_FOLDER/canary"',
    ),
    Attempt(
        number=104,
        name="set up a queue of calls that no filter sees",
        breaks="workspace-write, network",
        goal="claimed",
        language="python",
        script="""
        if call(425, 4, ctypes.create_string_buffer(120)) > 0:
            claim()
        """,
        needs="io_uring",
    ),
)
