"""A collector, as OpenTelemetry's own protocol has it: takes spans over gRPC and over HTTP, and keeps them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["Receiver", "attributes_of", "receiving"]


class Receiver:
    """`answers` is lowered to let every request hang, `refuses` is raised to refuse them."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.answers = threading.Event()
        self.answers.set()
        self.refuses = threading.Event()
        self.was_asked = threading.Event()

    def take(self, request: ExportTraceServiceRequest, headers: dict[str, str]) -> bool:
        self.was_asked.set()
        self.answers.wait(60)
        if self.refuses.is_set():
            return False
        self.headers.append(headers)
        self.requests.append(request)
        return True

    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resource(self) -> dict[str, object]:
        return attributes_of(self.requests[0].resource_spans[0].resource)


def attributes_of(something) -> dict[str, object]:
    """Of a span or of a resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in something.attributes}


@contextmanager
def receiving(protocol: str) -> Iterator[Receiver]:
    with (_over_grpc if protocol == "otlp-grpc" else _over_http)() as receiver:
        try:
            yield receiver
        finally:
            receiver.answers.set()


@contextmanager
def _over_grpc() -> Iterator[Receiver]:
    receiver = Receiver()

    class Service(TraceServiceServicer):
        def Export(self, request, context):  # noqa: N802
            if not receiver.take(request, dict(context.invocation_metadata())):
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")
            return ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(4))
    add_TraceServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    receiver.endpoint = f"http://127.0.0.1:{port}"
    try:
        yield receiver
    finally:
        server.stop(None).wait(10)


@contextmanager
def _over_http() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            headers = {name.lower(): value for name, value in self.headers.items()}
            is_known = self.path == "/v1/traces"
            taken = is_known and receiver.take(ExportTraceServiceRequest.FromString(body), headers)
            answer = ExportTraceServiceResponse().SerializeToString()
            # Whoever asked may have given up.
            with suppress(ConnectionError):
                self.send_response(200 if taken else 403 if is_known else 404)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    receiver.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
