"""Tokens of an identity provider: what is verified, and every known way around it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import serving

from graphwright.errors import DataError, OptionError
from graphwright.serve.security import tokens
from graphwright.serve.security.grants import Grant
from graphwright.serve.security.tokens import TokenSettings, TokenVerifier

jwt = pytest.importorskip("jwt", reason='needs the extra "serve"')
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")

ISSUER, AUDIENCE = "https://login.example.org/", "graphwright"
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
FORGED = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())


def key_set(**keys: Any) -> dict[str, Any]:
    algorithms = {"rsa": jwt.algorithms.RSAAlgorithm, "ec": jwt.algorithms.ECAlgorithm}
    public = {name: json.loads(algorithms[name[:3].rstrip("-")].to_jwk(key.public_key())) for name, key in keys.items()}
    return {"keys": [{**value, "kid": name, "use": "sig"} for name, value in public.items()]}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> TokenSettings:
    file = tmp_path_factory.mktemp("provider") / "jwks.json"
    file.write_text(json.dumps(key_set(rsa=RSA, ec=EC)))
    return TokenSettings(ISSUER, AUDIENCE, str(file), indexes_claim="indexes")


@pytest.fixture(scope="module")
def verifier(settings: TokenSettings) -> TokenVerifier:
    return TokenVerifier(settings)


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ida", "iat": now, "exp": now + 300, "scope": "openid graphwright:write"}  # fmt: skip # noqa: E501
    return {name: value for name, value in {**whole, "indexes": ["cities"], **changes}.items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **changes: Any) -> str:
    return str(jwt.encode(claims(**changes), key, algorithm, headers={"kid": "rsa", **(headers or {})}))


def granted(verifier: TokenVerifier, token: str) -> Grant | None:
    verified = verifier.check(token)
    return None if verified is None else verified.grant


def test_token_grants_scope_and_indexes(verifier: TokenVerifier) -> None:
    assert granted(verifier, signed()) == Grant("jwt:ida", "ida", "write", ("cities",))
    assert granted(verifier, signed(EC, "ES256", {"kid": "ec"})) == Grant("jwt:ida", "ida", "write", ("cities",))
    widest = granted(verifier, signed(scope=None, scp=["graphwright:admin", "graphwright:read"], indexes="*"))
    assert widest == Grant("jwt:ida", "ida", "admin", None)
    several = granted(verifier, signed(aud=["other", AUDIENCE], indexes=None))
    assert several is not None and several.indexes == ()  # none is named, so none is seen
    end = int(time.time()) + 300
    assert verifier.check(signed(exp=end)).expires == end  # type: ignore[union-attr]


def _unsigned() -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none', 'kid': 'rsa'})}.{part(claims())}."


def _with_public_key_as_secret() -> str:
    pem = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps(claims(scope="graphwright:admin")).encode()).rstrip(b"=")
    import hashlib
    import hmac

    mac = base64.urlsafe_b64encode(hmac.new(pem, header + b"." + body, hashlib.sha256).digest()).rstrip(b"=")
    return b".".join((header, body, mac)).decode()


def _altered() -> str:
    header, body, signature = signed().split(".")
    changed = json.loads(base64.urlsafe_b64decode(body + "==")) | {"scope": "graphwright:admin", "indexes": "*"}
    return f"{header}.{base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b'=').decode()}.{signature}"


NOW = int(time.time())
REFUSED: dict[str, Callable[[], str]] = {
    "unsigned": _unsigned,
    "public key as a secret": _with_public_key_as_secret,
    "altered": _altered,
    "key of somebody else": lambda: signed(FORGED),
    "own key in the header": lambda: signed(FORGED, headers={"jwk": key_set(rsa=FORGED)["keys"][0]}),
    "key set of somebody else": lambda: signed(FORGED, headers={"jku": "http://evil.example/jwks.json"}),
    "unknown key": lambda: signed(headers={"kid": "../../etc/passwd"}),
    "key of another algorithm": lambda: signed(headers={"kid": "ec"}),
    "algorithm that is not allowed": lambda: signed(algorithm="RS512"),
    "expired": lambda: signed(exp=NOW - 60),
    "without an end": lambda: signed(exp=None),
    "not valid yet": lambda: signed(nbf=NOW + 3_600),
    "other issuer": lambda: signed(iss="https://login.example.org.evil.example/"),
    "no issuer": lambda: signed(iss=None),
    "other audience": lambda: signed(aud="graphwright2"),
    "no audience": lambda: signed(aud=None),
    "no subject": lambda: signed(sub=None),
    "no scope": lambda: signed(scope=None),
    "scope of others": lambda: signed(scope="read write admin"),
    "critical extension": lambda: signed(headers={"crit": ["exp"], "b64": False}),
    "too long": lambda: signed(padding="x" * 9_000),
    "end that is no number": lambda: signed(exp="9999999999999999999999x"),
    "two parts": lambda: "a.b",
    "no text of a token": lambda: "\x00.\x00.\x00",
    "empty parts": lambda: "..",
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_invalid_token_is_refused(verifier: TokenVerifier, case: str) -> None:
    try:
        token = REFUSED[case]()
    except (TypeError, ValueError, jwt.PyJWTError) as error:  # newer versions do not even make some of them
        pytest.skip(f"cannot be made: {error}")
    assert verifier.check(token) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithms": ("HS256",)},
        {"algorithms": ("RS256", "none")},
        {"algorithms": ()},
        {"algorithms": "RS256"},
        {"issuer": " "},
        {"audience": ""},
        {"keys": "http://login.example.org/jwks.json"},
        {"leeway": 3_600},
    ],
    ids=str,
)
def test_weak_verification_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        TokenSettings(**{"issuer": ISSUER, "audience": AUDIENCE, "keys": "jwks.json", **changes})


def test_invalid_key_file_raises_error(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    with pytest.raises(DataError, match="cannot be read"):
        TokenVerifier(TokenSettings(ISSUER, AUDIENCE, str(file)))
    for content in ("", "{}", '{"keys": []}', '{"keys": [{"kty": "RSA"}]}', "[]"):
        file.write_text(content)
        with pytest.raises(OptionError, match="not a JSON Web Key Set"):
            TokenVerifier(TokenSettings(ISSUER, AUDIENCE, str(file)))


def test_changed_key_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(key_set(rsa=FORGED)))
    verifier = TokenVerifier(TokenSettings(ISSUER, AUDIENCE, str(file)))
    assert verifier.check(signed()) is None
    file.write_text(json.dumps(key_set(rsa=RSA, ec=EC)))
    assert verifier.check(signed()) is not None
    file.write_text("{")  # half written
    assert verifier.check(signed()) is not None


@contextmanager
def provider(replies: list[tuple[int, bytes, dict[str, str]]]) -> Iterator[tuple[str, list[str]]]:
    """Serve a key set: one reply for each request, the last for all that follow."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, headers = replies[min(len(paths), len(replies) - 1)]
            paths.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/jwks.json", paths
        finally:
            server.shutdown()
            thread.join()


KEYS = json.dumps(key_set(rsa=RSA)).encode()


def test_key_set_address_is_read_once_for_many_tokens() -> None:
    with provider([(200, KEYS, {})]) as (address, paths):
        verifier = TokenVerifier(TokenSettings(ISSUER, AUDIENCE, address))
        assert paths == []
        for number in range(20):
            assert verifier.check(signed()) is not None
            assert verifier.check(signed(headers={"kid": f"unknown {number}"})) is None
        assert len(paths) <= 2


def test_failing_provider_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider([(500, b"", {}), (200, KEYS, {})]) as (address, paths):
        verifier = TokenVerifier(TokenSettings(ISSUER, AUDIENCE, address))
        for _ in range(20):
            assert verifier.check(signed()) is None
        assert len(paths) == 1
        monkeypatch.setattr(tokens, "_COOLDOWN", 0.0)
        assert verifier.check(signed()) is not None


def test_provider_redirect_is_not_followed() -> None:
    with provider([(200, KEYS, {})]) as (elsewhere, visited), provider([(302, b"", {"Location": elsewhere})]) as (address, _):  # noqa: E501 # fmt: skip
        assert TokenVerifier(TokenSettings(ISSUER, AUDIENCE, address)).check(signed()) is None
        assert visited == []


def test_server_accepts_tokens_beside_keys(cities: Path, tmp_path: Path, settings: TokenSettings) -> None:
    reader, other = signed(scope="graphwright:read"), signed(scope="graphwright:read", indexes=["towns"])
    with serving(cities, key=reader, tokens=settings, data=tmp_path / "data") as running:
        client = running.client
        assert client.get("/v1/indexes/cities").status_code == 200
        assert client.get("/v1/indexes/cities", headers={"Authorization": f"Bearer {other}"}).status_code == 404
        for case in ("unsigned", "altered", "expired", "key of somebody else"):
            headers = {"Authorization": f"Bearer {REFUSED[case]()}"}
            assert client.get("/v1/indexes", headers=headers).status_code == 401
        del client.headers["Authorization"]
        assert client.get("/v1/indexes").status_code == 401  # there is no key, yet the server is closed
        end = client.post("/session", json={"key": signed(scope="graphwright:read", exp=int(time.time()) + 100)})
        assert end.status_code == 200 and 0 < int(end.headers["set-cookie"].split("Max-Age=")[1].split(";")[0]) <= 100
        assert client.get("/v1/indexes").json()["indexes"][0]["name"] == "cities"  # by the cookie
