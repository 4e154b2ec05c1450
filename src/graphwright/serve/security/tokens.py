"""Access tokens of an identity provider: signed JWTs with a fixed issuer, audience and set of algorithms."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from graphwright.constraints import Between, Checked, Constraint
from graphwright.errors import DataError, OptionError
from graphwright.serve.security.grants import SCOPES, Grant

if TYPE_CHECKING:
    from jwt import PyJWK, PyJWKClient, PyJWKSet

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Supported algorithms: only asymmetric ones, so that a verifier cannot create tokens."""
_MAX_TOKEN = 8_192  # characters
_FETCH_TIMEOUT = 5.0
_COOLDOWN = 30.0  # seconds between two requests of the key set for unknown keys, and after a failure
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_FILLED = Constraint("text", lambda value: isinstance(value, str) and bool(value.strip()))
_KNOWN = Constraint(
    f"a list of {', '.join(ALGORITHMS)}",
    lambda value: not isinstance(value, str) and bool(value) and set(value) <= set(ALGORITHMS),
)


@dataclass(frozen=True)
class TokenSettings(Checked):
    """Section [tokens] of server.toml.

    `issuer`, `audience`: required values of the claims `iss` and `aud`. `keys`: the provider's JSON Web Key Set: a file
    or an https address, such as https://login.example.org/jwks.json. `algorithms`: allowed algorithms. `scope_prefix`:
    prefix of the words in the claim `scope` (or `scp`), such as graphwright:read. `indexes_claim`: the claim with the
    list of index names, "*" for all; a token without it sees no index. `leeway`: allowed clock difference in seconds.
    """

    issuer: Annotated[str, _FILLED]
    audience: Annotated[str, _FILLED]
    keys: Annotated[str, _FILLED]
    algorithms: Annotated[tuple[str, ...], _KNOWN] = ("RS256", "ES256")
    scope_prefix: str = "graphwright:"
    indexes_claim: Annotated[str, _FILLED] = "graphwright_indexes"
    leeway: Annotated[float, Between(0, 300)] = 30.0

    def __post_init__(self) -> None:
        if isinstance(self.algorithms, list):  # from TOML
            object.__setattr__(self, "algorithms", tuple(self.algorithms))
        super().__post_init__()
        address = urlsplit(self.keys)
        if address.scheme == "http" and address.hostname not in _LOOPBACK:
            raise OptionError(f"keys is {self.keys!r}; unencrypted keys can be replaced in transit. Use https.")


@dataclass(frozen=True)
class VerifiedToken:
    """The rights of a token, and its expiry in seconds since 1970."""

    grant: Grant
    expires: float


class TokenVerifier:
    """Verifier of the tokens of one identity provider; thread-safe.

    Raises OptionError if the key set file is invalid, DataError if it cannot be read, ImportError without the packages
    of the extra `serve`. A key set at an address is first fetched when a token arrives.
    """

    def __init__(self, settings: TokenSettings) -> None:
        self.settings = settings
        self._keys: _KeyFile | _KeyAddress
        if urlsplit(settings.keys).scheme in ("http", "https"):
            self._keys = _KeyAddress(settings.keys)
        else:
            self._keys = _KeyFile(Path(settings.keys).expanduser())

    def check(self, token: str) -> VerifiedToken | None:
        """Return the rights of a token; None for an invalid one. May fetch the key set."""
        import jwt

        if len(token) > _MAX_TOKEN or token.count(".") != 2:
            return None
        settings = self.settings
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in settings.algorithms or not isinstance(header.get("kid"), str):
                return None
            key = self._keys.find(header["kid"])
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=list(settings.algorithms),
                issuer=settings.issuer,
                audience=settings.audience,
                leeway=settings.leeway,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, OverflowError):
            return None
        grant = self._grant(claims)
        return None if grant is None else VerifiedToken(grant, float(claims["exp"]))

    def _grant(self, claims: dict[str, Any]) -> Grant | None:
        """Return the rights in the claims; None without a scope of this server."""
        prefix = self.settings.scope_prefix
        granted = {word.removeprefix(prefix) for word in _words(claims, "scope", "scp") if word.startswith(prefix)}
        scopes = [scope for scope in SCOPES if scope in granted]
        if not scopes:
            return None
        indexes = set(_words(claims, self.settings.indexes_claim))
        subject = str(claims["sub"])
        return Grant(f"jwt:{subject}", subject, scopes[-1], None if "*" in indexes else tuple(sorted(indexes)))


def _words(claims: dict[str, Any], *names: str) -> Iterable[str]:
    """Yield the words of claims. A claim is a list of texts, or one text with spaces."""
    for name in names:
        value = claims.get(name, ())
        yield from value.split() if isinstance(value, str) else (item for item in value if isinstance(item, str))


class _KeyFile:
    """A key set in a file, read again if the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._read_at: float | None = None
        self._set = self._read()

    def find(self, name: str) -> PyJWK | None:
        with self._lock:
            try:
                if self._path.stat().st_mtime != self._read_at:
                    self._set = self._read()
            except (OSError, OptionError, DataError):
                pass  # the previous keys stay valid until the file can be read again
            return _signing_key(self._set, name)

    def _read(self) -> PyJWKSet:
        import jwt

        try:
            self._read_at = self._path.stat().st_mtime
            return jwt.PyJWKSet.from_json(self._path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise DataError(f"the key set {self._path} cannot be read ({error}); check [tokens] keys.") from error
        except (jwt.PyJWTError, ValueError, AttributeError, TypeError) as error:
            raise OptionError(f"{self._path} is not a JSON Web Key Set ({error}); correct [tokens] keys.") from error


class _KeyAddress:
    """A key set at an address, cached for ten minutes; after a failure, requests pause."""

    def __init__(self, address: str) -> None:
        import jwt

        self._client: PyJWKClient = jwt.PyJWKClient(
            address, lifespan=600, timeout=_FETCH_TIMEOUT, cooldown_duration=_COOLDOWN
        )
        self._failed_at = float("-inf")  # by time.monotonic()

    def find(self, name: str) -> PyJWK | None:
        import jwt

        if time.monotonic() - self._failed_at < _COOLDOWN:
            return None
        try:
            return self._client.get_signing_key(name)
        except jwt.PyJWKClientConnectionError:
            self._failed_at = time.monotonic()
            return None
        except (jwt.PyJWTError, ValueError, OSError):
            return None


def _signing_key(keys: PyJWKSet, name: str) -> PyJWK | None:
    usable = (key for key in keys.keys if key.public_key_use in ("sig", None))
    return next((key for key in usable if key.key_id == name), None)
