"""What is wrong with a file that should hold recorded exchanges: where, what was got, what was expected."""

from __future__ import annotations

from partstream.errors import UnexpectedValueError

__all__ = [
    "BrokenArchiveError",
    "BrokenFlowError",
    "BundleContentError",
    "BundleError",
    "BundleTooLargeError",
    "DuplicateEntryError",
    "EncryptedEntryError",
    "MissingEntryError",
    "NotABundleError",
    "TruncatedArchiveError",
    "UnknownFormError",
    "UnknownFormatError",
    "UnlistedEntryError",
    "UnsafeEntryError",
    "UnsupportedArchiveError",
    "WrongDigestError",
]


class BundleError(UnexpectedValueError):
    """A file with recorded exchanges cannot be read, or cannot be written.

    Attributes:
        where: The place: `the file`, or an entry of it, with the field where it is JSON.
        got: What stands there, shortened.
        expected: What is valid there.
    """


class NotABundleError(BundleError):
    """The bytes are no bundle: no zip, or a zip without a manifest."""


class UnknownFormError(BundleError):
    """No form of recordings is known by the file's name, or by its content."""


class TruncatedArchiveError(BundleError):
    """The bytes begin as a zip, and end before its directory."""


class BrokenArchiveError(BundleError):
    """The parts of the zip contradict each other, or an entry does not unpack to what the directory says."""


class BrokenFlowError(BundleError):
    """A file of mitmproxy's flows has a value that is none, or a flow without what every flow has."""


class UnsupportedArchiveError(BundleError):
    """The zip uses what no bundle needs, such as another compression, or more than 4 GB."""


class EncryptedEntryError(BundleError):
    """An entry is encrypted."""


class UnsafeEntryError(BundleError):
    """An entry has a name that leads out of its folder, or is no plain file, such as a link."""


class DuplicateEntryError(BundleError):
    """Two entries have one name, or names that are one on some systems."""


class BundleTooLargeError(BundleError):
    """The file holds more than is read: entries, bytes of one entry, or bytes of all.

    Attributes:
        size: What it holds.
        limit: The most that is read.
    """

    def __init__(self, where: str, size: int, limit: int, unit: str) -> None:
        super().__init__(where, f"{size:,} {unit}", f"at most {limit:,}")
        self.size = size
        self.limit = limit


class UnknownFormatError(BundleError):
    """The manifest names a version of the format that this version does not read."""


class WrongDigestError(BundleError):
    """An entry is not what the manifest says: it was changed, or damaged."""


class MissingEntryError(BundleError):
    """The manifest lists an entry that is not there."""


class UnlistedEntryError(BundleError):
    """An entry is there that the manifest does not list."""


class BundleContentError(BundleError):
    """An entry does not hold what its place in the format demands, or a value cannot be written."""
