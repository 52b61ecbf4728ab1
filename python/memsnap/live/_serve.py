# SPDX-License-Identifier: Apache-2.0
"""`memsnap serve`: the jobs of this machine as OpenMetrics. The rule: it answers on the loopback address alone unless another is named, it has two
pages, and it writes nothing."""

from __future__ import annotations

import argparse
import http.server
import ipaddress
import signal
import socket
import sys
import threading

from .. import _tools
from . import _source

_DEFAULT = "127.0.0.1:9877"
_PATIENCE_SECONDS = 10.0  # with a client that says nothing
_CONNECTIONS_MOST = 64
_INDEX = b"memsnap serve\n\n/metrics   OpenMetrics of the recordings of this machine; the names are in docs/live.md\n"


def address(text: str) -> tuple:
    """HOST:PORT, [IPv6]:PORT or :PORT, which is the loopback address."""
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or (":" in host and not text.startswith("[")):
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return host or "127.0.0.1", int(port)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TARGET", nargs="*", help="process ids, recordings and folders of them; without any, the processes of this user that record")
    parser.add_argument("--listen", type=address, default=address(_DEFAULT), metavar="HOST:PORT", help=f"where to answer ({_DEFAULT}); other than loopback only when named here")
    parser.add_argument("--sites", type=int, choices=range(0, 65), default=0, metavar="COUNT", help="also the birth sites with most live bytes of each device, by token (none)")
    parser.add_argument("--token-key", metavar="FILE", help="make tokens of sites with the bytes of this file, equal in all recordings")
    parser.add_argument("--pid", action="store_true", help="a label with the process id: a new series for each process")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _CONNECTIONS_MOST

    def __init__(self, where: tuple, handler):
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self._places = threading.BoundedSemaphore(_CONNECTIONS_MOST)
        super().__init__(where, handler)

    def process_request(self, request, client_address):
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request, client_address):
        pass  # a client that went away


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _handler(registry, only_local: bool):
    from prometheus_client.exposition import choose_encoder

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS
        server_version, sys_version = "memsnap", ""

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_GET(self) -> None:
            host = self.headers.get("Host", "").strip()
            name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
            path = self.path.partition("?")[0]
            if only_local and name and not _is_loopback(name):
                # A page of a browser here that had its own name lead to the loopback address.
                self._answer(403, "text/plain; charset=utf-8", b"this answers to names of the loopback address alone\n")
            elif path == "/metrics":
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._answer(200, kind, encode(registry))
            elif path == "/":
                self._answer(200, "text/plain; charset=utf-8", _INDEX)
            else:
                self._answer(404, "text/plain; charset=utf-8", b"there is /metrics alone\n")

        do_HEAD = do_GET

        def log_message(self, format, *arguments):
            pass

    return Handler


def run(options: argparse.Namespace) -> int:
    try:
        from prometheus_client.registry import CollectorRegistry

        from . import _metrics
    except ImportError:
        print("memsnap serve: the package prometheus_client is not here: pip install 'memsnap[serve]'", file=sys.stderr)
        return 2
    source = None
    try:
        source = _source.Source(options.targets, options.sites, options.token_key)
        source.look_around()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_metrics.Collection(source, options.sites, options.pid))
        host, port = options.listen
        server = _Server((host, port), _handler(registry, _is_loopback(host)))
    except (_tools.Missing, _source.Unusable) as problem:
        print(f"memsnap serve: {problem}", file=sys.stderr)
        return 3 if isinstance(problem, _source.Unusable) else 2
    except OSError as error:
        print(f"memsnap serve: cannot listen on {options.listen[0]}:{options.listen[1]}: {error.strerror or error}", file=sys.stderr)
        return 5
    shown = f"[{host}]" if ":" in host else host
    print(f"memsnap serve: http://{shown}:{server.server_address[1]}/metrics", file=sys.stderr, flush=True)
    if not _is_loopback(host):
        print("memsnap serve: others can read this over the network, without a password", file=sys.stderr, flush=True)

    def end(number, frame):
        threading.Thread(target=server.shutdown, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    try:
        server.serve_forever()
    finally:
        server.server_close()
        source.close()
    return 0
