"""TLS is verified: a server whose certificate no authority vouches for gets neither the key nor the book."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.models.llm.engine import Ask
from pipeline.models.llm.prompts import Message
from pipeline.retry import CallError, ErrorClass
from pipeline.settings import ModelProfile
from workers.models.openai_engine import OpenAIEngine

ANSWER = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}


class Office(ThreadingHTTPServer):
    """A server that keeps what it was told."""

    heard: list[str]


class Handler(BaseHTTPRequestHandler):
    """Answers every request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, Office)
        self.server.heard.append(self.headers.get("authorization", ""))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with key.pem and cert.pem for 127.0.0.1, which nobody vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=octavo-test",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def office(certificate: Path) -> Iterator[Office]:
    """The server."""
    made = Office(("127.0.0.1", 0), Handler)
    made.heard = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    made.socket = context.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def call(office: Office, host: str = "127.0.0.1", **more: Any) -> str:
    url = f"https://{host}:{office.server_address[1]}/v1"
    profile = ModelProfile.model_validate({"provider": "openai", "base_url": url, "model": "m", "timeout_s": 10} | more)
    engine = OpenAIEngine(profile, SecretStr("sk-secret"))
    try:
        return engine.complete(Ask(messages=[Message("user", "x")], max_tokens=5)).content
    finally:
        engine.close()


def test_a_certificate_that_nobody_vouches_for_stops_the_job_before_anything_is_sent(office: Office) -> None:
    with pytest.raises(CallError) as raised:
        call(office)
    assert (raised.value.code, raised.value.kind) == ("tls", ErrorClass.STOP)
    assert office.heard == []


def test_a_private_authority_is_trusted_where_the_profile_names_it_and_for_its_own_names_only(
    office: Office, certificate: Path
) -> None:
    authority = str(certificate / "cert.pem")
    assert call(office, ca_file=authority) == "yes"
    assert office.heard == ["Bearer sk-secret"]
    with pytest.raises(CallError) as raised:
        call(office, host="localhost", ca_file=authority)
    assert raised.value.code == "tls"
