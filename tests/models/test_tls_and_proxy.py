"""Certificates and proxies, on real sockets."""

from __future__ import annotations

import datetime as dt
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
import trio
import trustme

from codex_actors.models import (
    BadProvider,
    ConnectionFailed,
    Prompt,
    ResponsesClient,
    ScriptedServer,
    Unauthorized,
    UnexpectedStatus,
    script_of,
)
from codex_actors.models._proxies import NamedProxy, find_proxy
from codex_actors.protocol import ItemDone, Message, Provider
from tests.integration.support import FULL, Place

KEY = "s3cret-key"
YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
"""Making keys is slow; no test changes it."""


@attrs.frozen
class Served:
    port: int
    script: ScriptedServer

    @property
    def base_url(self) -> str:
        return f"https://localhost:{self.port}/v1"

    @property
    def requests(self) -> int:
        return self.script.statistics().requests


@asynccontextmanager
async def listening(handler: Any) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


def server_side(stream: Any, certificate: trustme.LeafCert) -> trio.SSLStream[Any]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return trio.SSLStream(stream, context, server_side=True, https_compatible=True)


@asynccontextmanager
async def serving_tls(certificate: trustme.LeafCert | None = None) -> AsyncIterator[Served]:
    """Serve the Responses API over TLS; a client that hangs up at the certificate is no error."""
    shown = certificate or AUTHORITY.issue_cert("localhost")
    server = ScriptedServer(script_of([{"say": "hello"}]))

    async def handle(stream: trio.SocketStream) -> None:
        secured: Any = server_side(stream, shown)
        try:
            await secured.do_handshake()
        except trio.BrokenResourceError:
            await trio.aclose_forcefully(stream)
        else:
            await server.serve(secured)

    async with listening(handle) as port:
        yield Served(port, server)


@pytest.fixture
def authority_file(tmp_path: Path) -> str:
    path = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(path)
    return str(path)


async def ask(base_url: str, environment: dict[str, str]) -> str:
    """Ask the model something with a key; return its answer."""
    provider = Provider(id="test", base_url=base_url)
    client = ResponsesClient(provider, api_key=KEY, environment=environment)
    async with client, client.stream(Prompt(model="m", input=())) as channel:
        events = [event async for event in channel]
    items = [event.item for event in events if isinstance(event, ItemDone)]
    return "".join(item.text for item in items if isinstance(item, Message))


class TestCertificates:
    async def test_a_stranger_is_refused_and_the_remedy_is_named(self) -> None:
        async with serving_tls() as served:
            with pytest.raises(BadProvider, match=r"SSL_CERT_FILE or CODEX_CA_CERTIFICATE$") as e:
                await ask(served.base_url, {})

        assert "its certificate is refused: unable to get local issuer" in str(e.value)
        assert (served.requests, e.value.retryable, e.value.repeatable) == (0, False, False)

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CODEX_CA_CERTIFICATE"])
    async def test_a_file_with_the_authority(self, authority_file: str, variable: str) -> None:
        async with serving_tls() as served:
            assert await ask(served.base_url, {variable: authority_file}) == "hello"

    async def test_an_added_authority_takes_no_other_away(
        self, authority_file: str, tmp_path: Path
    ) -> None:
        other = trustme.CA(key_type=trustme.KeyType.ECDSA)
        other.cert_pem.write_to_path(tmp_path / "other.pem")
        environment = {
            "SSL_CERT_FILE": authority_file,
            "CODEX_CA_CERTIFICATE": str(tmp_path / "other.pem"),
        }
        for authority in (AUTHORITY, other):
            async with serving_tls(authority.issue_cert("localhost")) as served:
                assert await ask(served.base_url, environment) == "hello"

    async def test_named_certificates_stand_for_those_of_the_system(
        self, authority_file: str
    ) -> None:
        stranger = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert("localhost")
        async with serving_tls(stranger) as served:
            with pytest.raises(BadProvider, match="its certificate is refused"):
                await ask(served.base_url, {"SSL_CERT_FILE": authority_file})

    @pytest.mark.skipif(shutil.which("openssl") is None, reason="only openssl can name the file")
    async def test_a_folder_of_authorities(self, authority_file: str, tmp_path: Path) -> None:
        command = ["openssl", "x509", "-noout", "-hash", "-in", authority_file]
        name = (await trio.run_process(command, capture_stdout=True)).stdout.decode().strip()
        folder = tmp_path / "authorities"
        folder.mkdir()
        AUTHORITY.cert_pem.write_to_path(folder / f"{name}.0")

        async with serving_tls() as served:
            assert await ask(served.base_url, {"SSL_CERT_DIR": str(folder)}) == "hello"
            assert await ask(served.base_url, {"SSL_CERT_DIR": f"/nowhere:{folder}"}) == "hello"

    @pytest.mark.parametrize("name", ["model.test", "127.0.0.2"])
    async def test_a_certificate_for_another_name(self, authority_file: str, name: str) -> None:
        async with serving_tls(AUTHORITY.issue_cert(name)) as served:
            for host in ("localhost", "127.0.0.1"):
                base_url = f"https://{host}:{served.port}/v1"
                with pytest.raises(BadProvider, match="correct the address, or the names"):
                    await ask(base_url, {"SSL_CERT_FILE": authority_file})

        assert served.requests == 0

    async def test_a_certificate_that_has_expired(self, authority_file: str) -> None:
        expired = AUTHORITY.issue_cert("localhost", not_after=YESTERDAY)
        async with serving_tls(expired) as served:
            with pytest.raises(BadProvider, match="has expired; renew it, or set the clock"):
                await ask(served.base_url, {"SSL_CERT_FILE": authority_file})

        assert served.requests == 0

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CODEX_CA_CERTIFICATE"])
    @pytest.mark.parametrize("content", [None, "", "no certificate"])
    def test_a_file_without_certificates(
        self, tmp_path: Path, variable: str, content: str | None
    ) -> None:
        path = tmp_path / "empty.pem"
        if content is not None:
            path.write_text(content, "utf-8")

        with pytest.raises(BadProvider, match=f"{variable}='{path}' cannot be loaded: "):
            ResponsesClient(
                Provider(id="test", base_url="https://model.test"),
                environment={variable: str(path)},
            )

    async def test_a_server_that_speaks_no_tls(self) -> None:
        async def talk(stream: trio.SocketStream) -> None:
            async with stream:
                await stream.send_all(b"220 mail.test ESMTP\r\n")
                await stream.receive_some()

        async with listening(talk) as port:
            with pytest.raises(ConnectionFailed, match=r"(?i)wrong version number") as e:
                await ask(f"https://127.0.0.1:{port}", {})

        assert e.value.retryable

    async def test_the_whole_program(self, authority_file: str, tmp_path: Path) -> None:
        async with serving_tls() as served:
            place = Place.below(tmp_path, served.base_url)
            plain = {"SSL_CERT_FILE": "", "SSL_CERT_DIR": "", "NO_PROXY": "*", "no_proxy": "*"}
            refused = await place.run("exec", *FULL, "go", env=plain)
            trusted = await place.run(
                "exec", *FULL, "go", env=plain | {"CODEX_CA_CERTIFICATE": authority_file}
            )

        assert (refused.status, trusted.status, trusted.stdout) == (1, 0, "hello\n")
        assert "SSL_CERT_FILE or CODEX_CA_CERTIFICATE" in refused.stderr
        assert "Reconnecting" not in refused.stderr
        assert served.requests == 1


@attrs.define(eq=False)
class Proxy:
    """A proxy for one kind of requests: CONNECT. It keeps every byte that went through it."""

    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    certificate: trustme.LeafCert | None = None
    heads: list[bytes] = attrs.field(factory=list)
    passed: bytearray = attrs.field(factory=bytearray)
    port: int = 0

    @asynccontextmanager
    async def running(self, scheme: Literal["http", "https"] = "http") -> AsyncIterator[str]:
        async with listening(self.handle) as port:
            yield f"{scheme}://user:pass@localhost:{port}"

    async def handle(self, stream: trio.SocketStream) -> None:
        near: Any = server_side(stream, self.certificate) if self.certificate else stream
        async with near:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await near.receive_some()
            self.heads.append(head)
            await near.send_all(self.answer)
            if b" 200 " in self.answer:
                await self.connect(near, head.split()[1].decode())

    async def connect(self, near: Any, target: str) -> None:
        far = await trio.open_tcp_stream("127.0.0.1", int(target.rpartition(":")[2]))
        async with far, trio.open_nursery() as nursery:
            nursery.start_soon(self.copy, near, far, nursery.cancel_scope)
            nursery.start_soon(self.copy, far, near, nursery.cancel_scope)

    async def copy(self, source: Any, sink: Any, scope: trio.CancelScope) -> None:
        # An end that nobody announced is an end.
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while piece := await source.receive_some():
                self.passed += piece
                await sink.send_all(piece)
        scope.cancel()


class TestConnecting:
    @pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
    async def test_requests_go_through_the_proxy(self, authority_file: str, variable: str) -> None:
        proxy = Proxy()
        async with serving_tls() as served, proxy.running() as address:
            said = await ask(served.base_url, {variable: address, "SSL_CERT_FILE": authority_file})

        (head,) = proxy.heads
        assert (said, served.requests) == ("hello", 1)
        assert head.startswith(b"CONNECT localhost:%d HTTP/1.1\r\n" % served.port)
        assert b"proxy-authorization: basic dxnlcjpwyxnz" in head.lower()

    async def test_the_key_is_not_for_the_proxy(self, authority_file: str) -> None:
        proxy = Proxy()
        async with serving_tls() as served, proxy.running() as address:
            await ask(served.base_url, {"HTTPS_PROXY": address, "SSL_CERT_FILE": authority_file})

        (head,) = proxy.heads
        assert len(proxy.passed) > 1000
        for seen in (head, bytes(proxy.passed)):
            assert KEY.encode() not in seen
            assert b"authorization: bearer" not in seen.lower()

    async def test_a_proxy_behind_tls(self, authority_file: str) -> None:
        proxy = Proxy(certificate=AUTHORITY.issue_cert("localhost"))
        environment = {"SSL_CERT_FILE": authority_file}
        async with serving_tls() as served, proxy.running("https") as address:
            assert await ask(served.base_url, environment | {"HTTPS_PROXY": address}) == "hello"

        assert len(proxy.heads) == 1

    async def test_the_server_must_still_show_its_certificate(self) -> None:
        proxy = Proxy()
        async with serving_tls() as served, proxy.running() as address:
            with pytest.raises(BadProvider, match="through the proxy of HTTPS_PROXY: its certif"):
                await ask(served.base_url, {"HTTPS_PROXY": address})

        assert (len(proxy.heads), served.requests) == (1, 0)

    @pytest.mark.parametrize("listed", ["localhost", "*", "example.test, localhost"])
    @pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
    async def test_a_host_that_needs_no_proxy(
        self, authority_file: str, variable: str, listed: str
    ) -> None:
        proxy = Proxy()
        async with serving_tls() as served, proxy.running() as address:
            environment = {"HTTPS_PROXY": address, "SSL_CERT_FILE": authority_file}
            assert await ask(served.base_url, environment | {variable: listed}) == "hello"

        assert proxy.heads == []

    async def test_the_proxies_of_the_process_are_not_asked(
        self, authority_file: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        proxy = Proxy()
        async with serving_tls() as served, proxy.running() as address:
            monkeypatch.setenv("HTTPS_PROXY", address)
            monkeypatch.setenv("https_proxy", address)
            assert await ask(served.base_url, {"SSL_CERT_FILE": authority_file}) == "hello"

        assert proxy.heads == []

    @pytest.mark.parametrize(
        ("answer", "why"),
        [
            (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "407 "),
            (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", "502 Bad Gateway"),
            (b"", "Server disconnected"),
            (b"220 mail.test ESMTP\r\n\r\n", "illegal status line"),
        ],
        ids=["407", "502", "hangs up", "garbage"],
    )
    async def test_a_proxy_that_does_not_serve(self, answer: bytes, why: str) -> None:
        proxy = Proxy(answer)
        async with proxy.running() as address:
            with pytest.raises(ConnectionFailed, match="the proxy of HTTPS_PROXY") as e:
                await ask("https://model.test/v1", {"HTTPS_PROXY": address})

        assert why in str(e.value)
        assert "pass" not in str(e.value)
        assert len(proxy.heads) == 1

    async def test_a_proxy_that_is_not_there(self) -> None:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        await listener.aclose()

        with pytest.raises(ConnectionFailed, match="through the proxy of all_proxy: "):
            await ask("https://model.test", {"all_proxy": f"127.0.0.1:{port}"})

    @pytest.mark.parametrize("address", ["ftp://proxy.test:s3cret@x", "http://proxy:s3cret", "://"])
    def test_an_address_that_is_none(self, address: str) -> None:
        with pytest.raises(BadProvider, match="the proxy of HTTPS_PROXY has no address") as e:
            ResponsesClient(
                Provider(id="test", base_url="https://model.test"),
                environment={"HTTPS_PROXY": address},
            )

        assert "s3cret" not in str(e.value)
        assert e.value.__suppress_context__


class TestPlainHttp:
    """What is asked for without TLS, a proxy reads: it is handed the request itself."""

    async def test_requests_are_handed_to_the_proxy(self) -> None:
        server = ScriptedServer(script_of([{"say": "hello"}]))
        async with listening(server.serve) as port:
            said = await ask("http://model.test/v1", {"HTTP_PROXY": f"127.0.0.1:{port}"})

        assert said == "hello"

    async def test_a_user_in_the_address_is_for_the_server_and_in_no_message(self) -> None:
        heads: list[bytes] = []

        async def refuse(stream: trio.SocketStream) -> None:
            async with stream:
                heads.append(bytes(await stream.receive_some()))
                await stream.send_all(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")

        async with listening(refuse) as port:
            with pytest.raises(Unauthorized) as e:
                await ask(f"http://us%40er:passw0rd@127.0.0.1:{port}", {})

        assert b"Basic dXNAZXI6cGFzc3cwcmQ=" in heads[0]
        assert "passw0rd" not in str(e.value)

    @pytest.mark.parametrize("status", [407, 502])
    async def test_a_proxy_that_refuses(self, status: int) -> None:
        async def refuse(stream: trio.SocketStream) -> None:
            async with stream:
                await stream.receive_some()
                await stream.send_all(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % status)

        async with listening(refuse) as port:
            with pytest.raises(UnexpectedStatus) as e:
                await ask("http://model.test", {"HTTP_PROXY": f"http://127.0.0.1:{port}"})

        assert e.value.status == status


PROXY = {"HTTP_PROXY": "p:1", "https_proxy": "http://q:2", "ALL_PROXY": "http://r:3"}


class TestWhichProxy:
    @pytest.mark.parametrize(
        ("url", "environment", "found"),
        [
            ("http://model.test", PROXY, ("HTTP_PROXY", "http://p:1")),
            ("https://model.test", PROXY, ("https_proxy", "http://q:2")),
            ("https://model.test", PROXY | {"https_proxy": ""}, ("ALL_PROXY", "http://r:3")),
            ("http://model.test", PROXY | {"http_proxy": "s:4"}, ("http_proxy", "http://s:4")),
            (
                "http://model.test",
                PROXY | {"REQUEST_METHOD": "GET"},
                ("ALL_PROXY", "http://r:3"),
            ),
            ("https://model.test", {"HTTP_PROXY": "p:1"}, None),
            ("https://model.test", {}, None),
        ],
    )
    def test_the_first_that_is_set(
        self, url: str, environment: dict[str, str], found: tuple[str, str] | None
    ) -> None:
        expected = None if found is None else NamedProxy(*found)

        assert expected == find_proxy(url, environment)

    @pytest.mark.parametrize(
        ("url", "listed"),
        [
            ("https://model.test", "model.test"),
            ("https://model.test", "MODEL.test"),
            ("https://a.model.test", "model.test"),
            ("https://model.test", ".model.test"),
            ("https://a.model.test", "*.model.test"),
            ("https://model.test", "x, test ,y"),
            ("https://model.test", "model.test:443"),
            ("https://model.test:8443", "model.test:8443"),
            ("https://model.test", "*"),
            ("https://127.0.0.1:8080", "127.0.0.1"),
            ("https://127.0.0.1:8080", "127.0.0.1:8080"),
            ("https://10.1.2.3", "10.0.0.0/8"),
            ("https://[::1]:8080", "::1"),
            ("https://[::1]:8080", "[::1]"),
            ("https://[fd00::1]", "fd00::/8"),
        ],
    )
    def test_reached_directly(self, url: str, listed: str) -> None:
        assert find_proxy(url, PROXY | {"NO_PROXY": listed}) is None

    @pytest.mark.parametrize(
        ("url", "listed"),
        [
            ("https://model.test", ""),
            ("https://model.test", ",,"),
            ("https://mymodel.test", "model.test"),
            ("https://model.test", "a.model.test"),
            ("https://model.test", "model.test:80"),
            ("https://model.test.example", "model.test"),
            ("https://11.1.2.3", "10.0.0.0/8"),
            ("https://[::1]", "127.0.0.0/8"),
            ("https://model.test", "10.0.0.0/8"),
        ],
    )
    def test_reached_through_the_proxy(self, url: str, listed: str) -> None:
        assert find_proxy(url, PROXY | {"NO_PROXY": listed}) == NamedProxy(
            "https_proxy", "http://q:2"
        )

    def test_a_password_is_not_shown(self) -> None:
        assert "s3cret" not in repr(NamedProxy("HTTPS_PROXY", "http://me:s3cret@p"))
