"""The bill of materials of a release, as CycloneDX: what is bundled or required, its licence and its hashes."""

from __future__ import annotations
import json
import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from tools.build_vsix import BUNDLED, locked
from tools.release.licences import Package

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["bill_of_materials", "packages_of_npm"]


def packages_of_npm(root: Path) -> list[Package]:
    """The packages of npm that are bundled into the extension: those of its lock that are not for development.

    Args:
        root: The folder of the project.
    """
    lock = json.loads((root / "extension" / "package-lock.json").read_text(encoding="utf-8"))
    return [
        Package(path.rpartition("node_modules/")[2], entry["version"], entry.get("license", ""))
        for path, entry in sorted(lock["packages"].items())
        if path and not entry.get("dev")
    ]


def bill_of_materials(
    version: str, epoch: int, packages: Iterable[Package], of_npm: Iterable[Package], artifacts: Mapping[str, str]
) -> str:
    """The bill of materials as JSON; the same arguments give the same text.

    Args:
        version: The version of the release.
        epoch: The seconds since 1970 that the release is dated with.
        packages: The Python packages that are bundled or required, each of which requirements.lock pins.
        of_npm: The packages of npm that are bundled.
        artifacts: The SHA-256 of each artifact, by its name.
    """
    itself = Component(
        name="partstream",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"pkg:pypi/partstream@{version}",
        purl=PackageURL("pypi", None, "partstream", version),
        licenses=[LicenseExpression("Apache-2.0")],
        components=[
            Component(
                name=name,
                type=ComponentType.FILE,
                bom_ref=name,
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one)],
            )
            for name, one in artifacts.items()
        ],
    )
    components = [*(_component(each, "pypi") for each in packages), *(_component(each, "npm") for each in of_npm)]
    bom = Bom(
        components=components,
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:pypi/partstream@{version}?date={epoch}"),
        metadata=BomMetaData(component=itself, timestamp=datetime.fromtimestamp(epoch, UTC)),
    )
    bom.register_dependency(itself, components)
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"


def _component(package: Package, kind: str) -> Component:
    is_bundled = kind == "npm" or package.name in BUNDLED
    # A package has a hash for each of its files: its wheel, its source distribution.
    hashes = re.findall(r"sha256:([0-9a-f]{64})", locked(package.name)) if kind == "pypi" else []
    namespace, _, name = package.name.rpartition("/")
    purl = PackageURL(kind, namespace or None, name, package.version)
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        licenses=[LicenseExpression(package.licence)] if package.licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one) for one in hashes],
        properties=[Property(name="partstream:bundled", value=str(is_bundled).lower())],
    )
