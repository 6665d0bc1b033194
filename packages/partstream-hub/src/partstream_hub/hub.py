"""What the parts of one worker of a hub share, how it is set up, and who asks: keys, codes, and whose they are.

A key is `psk_ID_SECRET`: a public id by which it is found and named, and 256 random bits. So much randomness needs no
slow digest, and one SHA-256 tells whether a key is right. Nothing is asked for that: a worker has all digests in its
snapshot of the directory. Keys, and codes with which people get one, are shown once and known only by their digests.
"""

from __future__ import annotations
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.checks import dataclass, field
from partstream.codec.system import DATA
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.clients import Caller, KeyPlaces, given_keys
from partstream.server.requests import RequestFailedError
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from partstream_hub.budgets import HubWorker, WorkerSettings
from partstream_hub.directory import UNLIMITED, AuditLevel, Directory, Key, may_use
from partstream_hub.store.values import StoreUnreachableError

if TYPE_CHECKING:
    from partstream.server.models import CataloguedModel
    from partstream_hub.directory import BudgetRule, Owner, Person, RateLimits

# ---- Keys and codes ----

_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"  # letters and digits that people do not mistake for each other
_ID_LENGTH: Final = 10
_SECRET_BYTES: Final = 32
_KEY: Final = re.compile(rf"psk_([{_ALPHABET}]{{{_ID_LENGTH}}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
_CODE: Final = re.compile(r"psj_[A-Za-z0-9_-]{43}", re.ASCII)
_NO_DIGEST: Final = bytes(32)  # no text has this digest


class NewKey(NamedTuple):
    """A key that was just made, or a code without an id. Its text is nowhere else; its digest, 32 bytes, is kept."""

    id: str
    secret: Secret
    digest: bytes


def new_key() -> NewKey:
    """Makes a key of 256 random bits."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
    text = f"psk_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return NewKey(key_id, Secret(text), _digest(text))


def new_code() -> NewKey:
    """Makes a code of 256 random bits, with which its person gets a key once."""
    text = f"psj_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return NewKey("", Secret(text), _digest(text))


def code_digest(text: str) -> bytes | None:
    """The digest of a given code; None for a text that is none."""
    return _digest(text) if _CODE.fullmatch(text) else None


def read_key(text: str) -> tuple[str, bytes] | None:
    """The id and the digest of a given key; None for a text that is none."""
    found = _KEY.fullmatch(text)
    return None if found is None else (found[1], _digest(text))


def verified_key(directory: Directory, text: str, time: float) -> Key | None:
    """The key that a text is; None if it is unknown, wrong, expired or revoked, or its person or team is disabled.

    All of these take the same steps up to the comparison, which takes the same time wherever the digests differ.
    """
    said = read_key(text)
    key_id, digest = ("", _digest(text)) if said is None else said
    key = directory.keys.get(key_id)
    is_right = hmac.compare_digest(digest, _NO_DIGEST if key is None else key.digest)
    return key if key is not None and is_right and is_valid(directory, key, time) else None


def is_valid(directory: Directory, key: Key, time: float) -> bool:
    """Whether a key of the directory is accepted at a time: it is not expired and not revoked, its person is there, and
    neither the person nor the team is disabled."""
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= time):
        return False
    person = directory.people.get(key.person)
    if person is None or person.is_disabled:
        return False
    team = directory.team_of(person)
    return team is None or not team.is_disabled


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="surrogatepass")).digest()


# ---- Who asks ----

_RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class HubCaller(Caller):
    """Who asks a hub. The name is that of the person, to whom all belongs that the server remembers."""

    key_id: str  # what the key may do is looked up with every request: it may be revoked meanwhile


class HubAuthenticator:
    """Finds the person of a key, without I/O, in the newest snapshot that the worker has; None before the first."""

    def __init__(self, directory: Callable[[], Directory | None], time: Callable[[], float], places: KeyPlaces) -> None:
        self._directory = directory
        self._time = time
        self._places = places

    def __call__(self, headers: Mapping[str, str]) -> HubCaller | None:
        """The caller, if all headers for keys that a request has hold one and the same valid key.

        Two that differ are refused: otherwise a proxy before the hub that looks at one of them could be made to
        believe in another person than the hub does. Before the directory was read, a `RequestFailedError` says so.
        """
        directory = self._directory()
        if directory is None:
            said = "the hub is starting; try again"
            raise RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))
        given = given_keys(headers, self._places)
        if len(given) != 1:
            return None
        key = verified_key(directory, given.pop(), self._time())
        if key is None:
            return None
        return HubCaller(key.person, key.id, is_owner=directory.people[key.person].is_admin)


# ---- The hub ----


@dataclass(frozen=True, slots=True)
class DirectoryCaller:
    """Who asks, as the directory knows it now."""

    directory: Directory
    key: Key
    person: Person
    rules: tuple[BudgetRule, ...] = ()  # of the key, the person and the team
    limits: tuple[tuple[Owner, RateLimits], ...] = ()  # of those of them that have any
    audit: AuditLevel = AuditLevel.METADATA
    usable: dict[str, CataloguedModel] = field(default_factory=dict)  # models that it may use, as far as it is known


@dataclass(frozen=True, slots=True)
class Hub:
    """One worker of a hub."""

    worker: HubWorker
    settings: HubSettings
    _known: dict[str, DirectoryCaller] = field(default_factory=dict, init=False)  # who has asked, by his key

    def directory(self) -> Directory | None:
        """The newest snapshot; None before the first. Starts the worker where the server has not."""
        directory = self.worker.directory
        if directory is None:
            self.worker.begin()
        return directory

    def asking(self, caller: Caller) -> DirectoryCaller | None:
        """Who a caller is now; None if the key is accepted no more since it was checked, or there is none."""
        directory, key_id, now = self.worker.directory, getattr(caller, "key_id", ""), self.settings.clock()
        if (known := self._known.get(key_id)) is not None:
            if known.directory is directory:  # nothing but the time has changed
                return None if known.key.expires_at is not None and known.key.expires_at <= now else known
            self._known.clear()
        key = None if directory is None else directory.keys.get(key_id)
        if directory is None or key is None or not is_valid(directory, key, now):
            return None
        person = directory.people[key.person]
        limits = tuple((owner, one.rates) for owner, one in directory.owners_of(key) if one.rates != UNLIMITED)
        audit = AuditLevel.METADATA if (team := directory.team_of(person)) is None else team.policy.audit
        known = self._known[key_id] = DirectoryCaller(directory, key, person, directory.budgets_of(key), limits, audit)
        return known

    def may_use(self, caller: Caller, model_id: str) -> bool:
        """Whether a caller may use a model now."""
        asking = self.asking(caller)
        return asking is not None and may_use(asking.directory, asking.key, model_id)

    def require(self, caller: Caller | HubCaller) -> DirectoryCaller:
        """Who a caller is now; a `RequestFailedError` if the key is accepted no more."""
        asking = self.asking(caller)
        if asking is None:
            said = "the key of this connection is accepted no more; expected one that this server knows"
            raise RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said))
        return asking


def unreachable(error: StoreUnreachableError) -> RequestFailedError:
    """The refusal of a request that the database does not answer now."""
    said = f"the hub's database cannot be reached; ask again in {error.retry_after:g} s"
    return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=error.retry_after))


# ---- Settings ----

LOCKS: Final = "hub-workers"  # the folder of the workers' locks, in that of what a server keeps


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How one worker of a hub is set up."""

    serving: ServingSettings = field(default_factory=ServingSettings)  # keys and admission are the hub's all the same
    locks: Path = field(default_factory=lambda: DATA.path() / LOCKS)  # by which workers of this machine show their life
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    policy: str | None = None  # what of the owner's own looks at every request, as `file.py` or `file.py:name`
    policy_seconds: float = 5.0  # a request that it does not decide in this time is refused
    contact: str = ""  # whom refusals name to ask for more; empty for the names of the admins
    clock: Callable[[], float] = time.time  # in seconds since 1970, for the ledger and for keys that expire
