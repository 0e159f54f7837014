"""An authority that signs certificates for a test, by `openssl`."""

import subprocess
from pathlib import Path
from typing import NamedTuple

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")


class Certified(NamedTuple):
    """Where a certificate and its key stand."""

    cert: Path
    key: Path


class Authority:
    """An authority, and the files that it has made."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._own = self._files("ca")
        _openssl(
            "req", "-x509", *NEW_KEY, "-keyout", self._own.key, "-out", self._own.cert, "-subj", f"/CN={folder.name}"
        )

    @property
    def ca(self) -> Path:
        """Its own certificate."""
        return self._own.cert

    def certify(self, file: str, *names: str) -> Certified:
        """A certificate with these names, such as `DNS:localhost`, in files that are called so."""
        files, request = self._files(file), self._folder / f"{file}.csr"
        alternatives = f"subjectAltName={','.join(names)}"
        _openssl(
            "req", *NEW_KEY, "-keyout", files.key, "-out", request, "-subj", f"/CN={file}", "-addext", alternatives
        )
        signing = ("-CA", self._own.cert, "-CAkey", self._own.key, "-CAcreateserial", "-copy_extensions", "copyall")
        _openssl("x509", "-req", "-in", request, *signing, "-out", files.cert)
        return files

    def _files(self, name: str) -> Certified:
        return Certified(self._folder / f"{name}.pem", self._folder / f"{name}.key")


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
