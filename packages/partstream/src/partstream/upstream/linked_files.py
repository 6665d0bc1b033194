"""Fetches the files of an answer that the server gives by address.

The address comes from the model, so it is not trusted. It never gets the upstream's key or headers, it must not lead
into this machine or its network unless the upstream itself is there, and time and size are limited. Each redirect is
checked in the same way. A file that is not fetched is shown as a link.
"""

from __future__ import annotations
import asyncio
import logging
from contextlib import aclosing
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urljoin, urlsplit

from partstream._version import __version__
from partstream.codec.text import bare_media_type
from partstream.conversation.citations import linked_file
from partstream.conversation.media import sniff
from partstream.errors import PartstreamError
from partstream.lm.outputs import FileMode
from partstream.lm.parts import DataPart, ResponsePart
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import without_query
from partstream.upstream.http import Connections, HTTPAnswer, OutboundHead, place_of
from partstream.upstream.http_connection import PORTS, httpx2

_logger = logging.getLogger("partstream.upstreams")

_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

_GLOBAL_UNICAST: Final = ip_network("2000::/3")
"""The only part of IPv6 that is given to networks of the internet (IANA, IPv6 Address Space); what is outside of it
leads to hosts of an own network, as SIDs of segment routing do (RFC 9602), or nowhere."""
_INSIDE: Final = tuple(map(ip_network, ("2002::/16", "2001::/32", "3fff::/20", "192.88.99.0/24", "168.63.129.16/32")))
"""Networks that Python calls global: those whose addresses hold an IPv4 address that a gateway may lead to (RFC 3056,
RFC 4380, RFC 7526), documentation (RFC 9637), and the host of Azure's machines, which gives them their settings."""
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""What comes before the IPv4 address in an address of ISATAP (RFC 5214 section 6.1)."""


MOST_BYTES: Final = 16 * 1024 * 1024
"""Of a file."""
MOST_SECONDS: Final = 20.0
"""For a file, redirects included."""


class _NotFetchedError(Exception):
    """The reason why a file is not fetched; shows no secret."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tells whether an IP address is on the public internet, not on this machine or in its network."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP or address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not any(address in network for network in _INSIDE) and not address.is_multicast


async def fetched(configuration: GatewayConfiguration, part: DataPart) -> ResponsePart:
    """The file at the address of a part of an upstream's answer, as bytes; a link for the chat if it cannot be
    fetched. It goes the upstream's way through proxies."""
    address = part.data.decode()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            asked = address
            for _ in range(_MOST_REDIRECTS + 1):
                found = await _ask(configuration, asked)
                if isinstance(found, DataPart):
                    return found
                asked = urljoin(asked, found)
        reason = f"more than {_MOST_REDIRECTS} redirects"
    except TimeoutError:
        reason = f"it took longer than {MOST_SECONDS:g} s"
    except _NotFetchedError as error:
        reason = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, PartstreamError, OSError, ValueError) as error:
        reason = type(error).__name__
    _logger.info("a file of the answer is shown as a link: %s: %s", _shown(address), reason)
    return linked_file(address, FileMode.LINK) or part


async def _ask(own: GatewayConfiguration, address: str) -> DataPart | str:
    """The file, or the address that it is redirected to."""
    # Nothing of the upstream goes along: no key, no header, no cookie.
    to_file = GatewayConfiguration(
        address,
        allow_insecure_http=True,
        timeouts=own.timeouts,
        proxy=own.proxy,
        verify_certificates=own.verify_certificates,
    )
    address_of_host = await _checked(own.base_url, address)
    async with aclosing(Connections(to_file)) as connections:
        connections.open()
        place = place_of(address, urlsplit(address).path, "")
        if connections.proxy is None:  # a proxy looks the name up itself
            scheme, name, port, _ = place.origin
            place = place._replace(origin=(scheme, address_of_host, port, name))  # the name is in the certificate
        headers = {"host": place.host, "user-agent": f"partstream/{__version__}", "accept-encoding": "identity"}
        head = OutboundHead("GET", place, headers, {})
        async with aclosing(HTTPAnswer(await connections.send(head, b"", None), head)) as answer:
            if answer.status in _REDIRECTS and "location" in answer.fields:
                return answer.fields["location"]
            return await _read(answer)


async def _read(answer: HTTPAnswer) -> DataPart:
    if answer.status != 200:
        raise _NotFetchedError(f"HTTP {answer.status}")
    if answer.fields.get("content-encoding", "identity") != "identity":
        raise _NotFetchedError("it is compressed, although the request did not ask for that")
    said = bare_media_type(answer.fields.get("content-type", ""))
    if said == "text/html":
        raise _NotFetchedError("it is a web page")
    data = await answer.start(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _NotFetchedError(f"it has more than {MOST_BYTES:,} bytes")
    return DataPart(data, sniff(data) or said or "application/octet-stream")


async def _checked(base_url: str, address: str) -> str:
    """A checked IP address for the host: its name might mean another one a moment later."""
    url = urlsplit(address)
    if url.scheme not in PORTS or not url.hostname:
        raise _NotFetchedError("it is no http or https URL")
    if "@" in url.netloc:
        raise _NotFetchedError("it holds a user name")
    port = url.port or PORTS[url.scheme]
    # All IP addresses of the host; any of them may be used.
    rows = await asyncio.get_running_loop().getaddrinfo(url.hostname, port, type=1)  # SOCK_STREAM
    found = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    # Scheme, host and port (RFC 6454 section 4).
    own = urlsplit(base_url)
    origins = {(one.scheme, one.hostname, one.port or PORTS.get(one.scheme)) for one in (url, own)}
    if len(origins) > 1 and not all(map(is_public, found)):
        raise _NotFetchedError("it leads to this machine or its network")
    return str(found[0])


def _shown(address: str) -> str:
    """The address for the log; query and path are left out, because they may grant access to the file."""
    try:
        return urlsplit(without_query(address)).netloc
    except ValueError:
        return "an address that is none"
