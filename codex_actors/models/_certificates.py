"""Whose certificates are believed, and what to do about one that is not."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ._errors import BadProvider

_FILE: Final = "SSL_CERT_FILE"
_FOLDER: Final = "SSL_CERT_DIR"
_ADDED: Final = "CODEX_CA_CERTIFICATE"

# Codes of OpenSSL's x509_vfy.h.
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_OTHER_NAME: Final = 62
_OTHER_ADDRESS: Final = 64


def make_ssl_context(
    environment: Mapping[str, str], fallback: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    """Return a context that believes whom the environment or the system says.

    Args:
        environment: ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` stand for the system's certificates;
            that in ``CODEX_CA_CERTIFICATE`` is believed in addition.
        fallback: Makes the context where OpenSSL knows of no file of the system's.

    Raises:
        BadProvider: if certificates cannot be loaded.
    """
    file, folder, added = (environment.get(name) or None for name in (_FILE, _FOLDER, _ADDED))
    if file is None and folder is None:
        context = _believing_the_system(fallback)
    else:
        with _blaming(_FILE if file else _FOLDER, file or folder):
            context = ssl.create_default_context(cafile=file, capath=folder)
    if added is not None:
        with _blaming(_ADDED, added):
            context.load_verify_locations(cafile=added)
    return context


def explain_refusal(error: ssl.SSLCertVerificationError) -> str:
    """Return why a certificate was refused, and what to do about it."""
    match error.verify_code:
        case code if code in {_NOT_YET_VALID, _EXPIRED}:
            remedy = "renew it, or set the clock of this machine"
        case code if code in {_OTHER_NAME, _OTHER_ADDRESS}:
            remedy = "correct the address, or the names in the certificate"
        case _:
            remedy = f"name a file with its authority's certificate in {_FILE} or {_ADDED}"
    return f"its certificate is refused: {error.verify_message.rstrip('.')}; {remedy}"


def _believing_the_system(fallback: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    paths = ssl.get_default_verify_paths()
    # What it calls plainly cafile and capath comes from the process's environment.
    file, folder = paths.openssl_cafile, paths.openssl_capath
    with _blaming("the system", file):
        if Path(file).is_file():
            return ssl.create_default_context(cafile=file, capath=folder)
        context = fallback()
        context.load_verify_locations(capath=folder)
        return context


@contextmanager
def _blaming(source: str, path: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadProvider(
            f"the certificates of {source}={path!r} cannot be loaded: {error.strerror or error}"
        ) from error
