"""What a request needs to be let in, and what it may bring."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.serve.serving import COMMAND, PATIENCE, ROOT, Server, serving

pytestmark = pytest.mark.xdist_group("serve")
JSON = {"content-type": "application/json"}


def status(
    server: Server, path: str = "/api/health", method: str = "GET", body: bytes | None = None, **headers: str
) -> int:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request(method, path, body, given)[0]


def test_without_the_token_nothing_is_answered(routes: Server) -> None:
    for path in ("/", "/api/health", "/api/openapi.json", "/api/changes", "/page/app.js", "/api/nothing"):
        assert status(routes, path) == 401
        assert status(routes, path, authorization="Bearer wrong") == 401
    assert status(routes, "/?token=wrong") == 401
    assert status(routes, "/?token=") == 401
    assert status(routes, authorization=f"Basic {routes.token}") == 401
    assert status(routes, f"/api/health?token={routes.token}") == 401  # only the page's address takes it from there


def test_the_printed_address_gives_a_cookie_of_this_site(routes: Server) -> None:
    found, headers, _ = routes.request("GET", f"/?token={routes.token}")
    assert (found, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    name = cookie.partition(";")[0]
    assert status(routes, "/", cookie=name) == 200
    assert status(routes, "/", cookie=f"junk=; ;=,,; {name}; other=1") == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
    ],
)
def test_requests_from_other_sites_are_refused_whatever_they_carry(routes: Server, headers: dict[str, str]) -> None:
    assert status(routes, **routes.bearer, **headers) == 403
    assert status(routes, "/api/why", "POST", b"{}", **routes.bearer, **headers, content_type="application/json") == 403


def test_other_names_of_the_server_are_refused(routes: Server) -> None:
    """A name of another site that is made to point here would have its pages read ours."""
    assert status(routes, **routes.bearer, host="evil.example") == 421
    assert status(routes, **routes.bearer, host=f"evil.example:{routes.port}") == 421
    assert status(routes, **routes.bearer, host=f"localhost:{routes.port}") == 200


def test_sizes_are_bounded(routes: Server) -> None:
    large = b'{"text": "' + b"x" * (1 << 20) + b'"}'
    assert status(routes, "/api/check", "POST", large, **routes.bearer, content_type="application/json") == 413
    assert status(routes, "/api/health?" + "x" * 9_000, **routes.bearer) == 414
    chunked = {**routes.bearer, **JSON, "transfer-encoding": "chunked"}
    piece = b"%x\r\n%s\r\n" % (1 << 19, b"x" * (1 << 19))
    assert routes.request("POST", "/api/check", piece * 3 + b"0\r\n\r\n", chunked)[0] == 413
    deep = b"[" * 100_000
    assert status(routes, "/api/check", "POST", deep, **routes.bearer, content_type="application/json") == 400


def test_only_json_is_posted(routes: Server) -> None:
    assert status(routes, "/api/check", "POST", b"{}", **routes.bearer, content_type="text/plain") == 415
    assert status(routes, "/api/check", "POST", b"{", **routes.bearer, content_type="application/json") == 400
    assert status(routes, "/api/check", "POST", b"[1]", **routes.bearer, content_type="application/json") == 400
    assert status(routes, "/api/check", "DELETE", **routes.bearer) == 405


def test_answers_forbid_what_is_not_ours(routes: Server) -> None:
    for path in ("/api/health", "/", "/api/nothing"):
        headers = routes.request("GET", path, headers=routes.bearer)[1]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_files_beside_the_page_are_not_given(routes: Server) -> None:
    for path in ("/page/", "/page", "/page/../http/app.py", "/page/%2e%2e/__init__.py", "/page//etc/passwd"):
        assert status(routes, path, **routes.bearer) == 404


def test_nothing_is_changed_without_writable(routes: Server) -> None:
    before = routes.rows("link")
    assert routes.post("/api/apply", delete={"link": [list(row) for row in before]})["status"] == 403
    assert routes.rows("link") == before


def refused(folder: Path, *arguments: str) -> str:
    found = subprocess.run(
        [*COMMAND, "serve", *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert found.returncode != 0
    return found.stderr


def test_what_cannot_start_says_why(routes: Server, tmp_path: Path) -> None:
    program, links = f"{ROOT}/examples/routes.dl", f"link={ROOT}/examples/network/links.csv"
    assert "16 letters" in refused(tmp_path, program, "-i", links, "--token", "short")
    assert "is not a folder" in refused(tmp_path, program, "-i", links, "--watch", "link=nowhere")
    assert "is not a file" in refused(tmp_path, program, "-i", links, "--changes", "nowhere.jsonl")
    assert "cannot listen" in refused(tmp_path, program, "-i", links, "--port", str(routes.port))


def test_other_addresses_are_listened_at_with_the_token(tmp_path: Path) -> None:
    program, links = f"{ROOT}/examples/routes.dl", f"link={ROOT}/examples/network/links.csv"
    with serving(tmp_path, program, "-i", links, "--listen", "0.0.0.0") as server:
        assert status(server, host="a.name.of.this.machine") == 401
        assert status(server, **server.bearer, host="a.name.of.this.machine") == 200
