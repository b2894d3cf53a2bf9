"""A Kafka broker of one process, on the loopback of this machine."""

from __future__ import annotations

import base64
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

_WAIT = 600


@contextmanager
def broker(jars: list[str], folder: Path, port: int, controller: int) -> Iterator[str]:
    """A Kafka of one process on this machine; where it is to be found."""
    folder.mkdir()
    properties = folder / "server.properties"
    properties.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"log.dirs={folder / 'data'}\noffsets.topic.replication.factor=1\nnum.partitions=2\n"
    )
    scala = next(Path(pyspark.__file__).parent.glob("jars/scala-library-*.jar"))
    java = ["java", "-Xmx256m", "-cp", ":".join([*jars, str(scala)])]
    given = ["-c", str(properties)]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", _cluster_id(), *given], check=True)
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=said, stderr=said)
    try:
        _await(process, port, folder)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _cluster_id() -> str:
    """The first letter is none that begins an option."""
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def _await(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + _WAIT
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError(f"the broker did not start: {(folder / 'said').read_text()[-2000:]}")
