"""Encrypts Headwater's own connections where Spark's settings ask for encryption.

Rows that Spark moves use Spark's connections. The shards of a gang, and workers that reach files through the driver,
open connections of their own (Arrow Flight). These are encrypted, by TLS, if Spark's are: the driver makes a key and a
certificate, which last as long as it does, and its tasks get both with the token. Java's keytool makes them; where
there is none, no such connection is opened.
"""

from __future__ import annotations

import base64
import os
import secrets
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError

from headwater.core.errors import StateError
from headwater.exchange import TLS_NAME, Certificate
from headwater.spark.session.temporary import scratch

SETTINGS = (
    "spark.network.crypto.enabled",
    "spark.ssl.rpc.enabled",
    "spark.ssl.enabled",
    "spark.authenticate.enableSaslEncryption",
)
_PASSWORD = "HEADWATER_KEYSTORE_PASSWORD"
_PATIENCE = 120  # seconds
_asked: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()
_certificates: list[Certificate] = []
_lock = threading.Lock()


def asked_by(context: Any) -> str | None:
    """The first of Spark's settings that asks for encryption; None: none does."""
    if context not in _asked:  # a context keeps its settings, and reading them takes a while
        settings = context.getConf()
        _asked[context] = next((name for name in SETTINGS if settings.get(name, "false").lower() == "true"), None)
    return _asked[context]


def tls_for(context: Any) -> Certificate | None:
    """The certificate of this driver and its tasks; None: no setting asks for encryption.

    StateError where one does and no certificate can be made.
    """
    name = asked_by(context)
    if name is None:
        return None
    with _lock:
        if not _certificates:
            try:
                _certificates.append(_made(context))
            except (OSError, subprocess.SubprocessError, Py4JError) as problem:
                raise StateError(
                    f"{name} asks for encrypted connections, and Java's keytool made no certificate ({problem})"
                ) from problem
        return _certificates[0]


def _made(context: Any) -> Certificate:
    java = context._jvm
    tool = Path(str(java.java.lang.System.getProperty("java.home")), "bin", "keytool")
    password = secrets.token_hex(16)
    with scratch() as there:
        store = str(there / "store")
        command = [
            str(tool), "-genkeypair", "-alias", TLS_NAME, "-keyalg", "EC", "-groupname", "secp256r1",
            "-dname", f"CN={TLS_NAME}", "-ext", f"san=dns:{TLS_NAME}", "-startdate", "-1d", "-validity", "3650",
            "-storetype", "PKCS12", "-keystore", store, "-storepass:env", _PASSWORD,
        ]  # fmt: skip
        subprocess.run(
            command, env=os.environ | {_PASSWORD: password}, check=True, capture_output=True, timeout=_PATIENCE
        )
        letters = context._gateway.new_array(java.char, len(password))
        for at, letter in enumerate(password):
            letters[at] = letter
        source = java.java.io.FileInputStream(store)
        keys = java.java.security.KeyStore.getInstance("PKCS12")
        keys.load(source, letters)
        source.close()
    certificate = _encoded(context, "java.security.cert.Certificate", keys.getCertificate(TLS_NAME))
    key = base64.encodebytes(_encoded(context, "java.security.Key", keys.getKey(TLS_NAME, letters))).decode()
    return Certificate(
        ssl.DER_cert_to_PEM_cert(certificate).encode(),
        f"-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\n".encode(),
    )


def _encoded(context: Any, kind: str, thing: Any) -> bytes:
    """The result of `getEncoded`, by reflection: the gateway may not look into Java's own classes."""
    java = context._jvm
    nothing = context._gateway.new_array(java.java.lang.Class, 0), context._gateway.new_array(java.java.lang.Object, 0)
    return bytes(java.java.lang.Class.forName(kind).getMethod("getEncoded", nothing[0]).invoke(thing, nothing[1]))
