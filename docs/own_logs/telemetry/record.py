"""A primary and two backups that run, each with OpenTelemetry's SDK, and one file of OTLP JSON that all export to.

Needs opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http (1.45). A span `put` of the primary begins as it
writes an entry and ends as it commits it; a backup logs `stored`.
"""

import argparse
import base64
import json
import queue
import random
import threading
import time
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

BACKUPS = ("b1", "b2")
IDS = ("traceId", "spanId", "parentSpanId")


def with_hexadecimal_ids(tree):
    """OTLP has ids in hexadecimal, where JSON of protobuf has base64."""
    if isinstance(tree, list):
        return [with_hexadecimal_ids(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: base64.b64decode(value).hex() if key in IDS else with_hexadecimal_ids(value) for key, value in tree.items()
    }


class OtlpFile:
    """The file: a line for each request, as the file exporter of the collector writes it."""

    def __init__(self, path):
        self.file, self.lock = path.open("w"), threading.Lock()

    def write(self, request):
        with self.lock:
            self.file.write(
                json.dumps(with_hexadecimal_ids(MessageToDict(request, use_integers_for_enums=True))) + "\n"
            )
            self.file.flush()


class Spans(SpanExporter):
    def __init__(self, to):
        self.to = to

    def export(self, spans):
        self.to.write(encode_spans(spans))
        return SpanExportResult.SUCCESS


class Logs(LogRecordExporter):
    def __init__(self, to):
        self.to = to

    def export(self, batch):
        self.to.write(encode_logs(batch))
        return LogRecordExportResult.SUCCESS

    def force_flush(self, timeout_millis=0):
        return True

    def shutdown(self):
        pass


class Backup(threading.Thread):
    """Stores the entries in their order, and acknowledges each after a while."""

    def __init__(self, name, to, acked, slowest):
        super().__init__(daemon=True)
        self.inbox, self.acked, self.slowest, self.random = queue.Queue(), acked, slowest, random.Random(name)
        self.node = name
        self.provider = LoggerProvider(Resource({"service.name": "backup", "service.instance.id": name}))
        self.provider.add_log_record_processor(BatchLogRecordProcessor(Logs(to), schedule_delay_millis=50))
        self.log = self.provider.get_logger("primary_backup")

    def run(self):
        while (entry := self.inbox.get()) is not None:
            time.sleep(self.random.uniform(0.001, self.slowest))
            self.log.emit(LogRecord(timestamp=time.time_ns(), body="stored", attributes={"entry": entry}))
            self.acked.put((self.node, entry))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", type=Path)
    options.add_argument("--hasty", action="store_true", help="commit what one backup has")
    chosen = options.parse_args()
    to, acked = OtlpFile(chosen.file), queue.Queue()
    provider = TracerProvider(resource=Resource({"service.name": "primary", "service.instance.id": "p"}))
    provider.add_span_processor(BatchSpanProcessor(Spans(to), schedule_delay_millis=50))
    tracer = provider.get_tracer("primary_backup")
    backups = [Backup("b1", to, acked, 0.02), Backup("b2", to, acked, 0.06)]
    for each in backups:
        each.start()
    spans, has = {}, dict.fromkeys(BACKUPS, 0)
    for entry in range(1, 9):
        spans[entry] = tracer.start_span("put", attributes={"entry": entry})
        for each in backups:
            each.inbox.put(entry)
        time.sleep(0.01)
    committed = 0
    while committed < len(spans):
        backup, entry = acked.get()
        has[backup] = entry
        agreed = (max if chosen.hasty else min)(has.values())
        while committed < agreed:
            committed += 1
            spans[committed].end()
    for each in backups:
        each.inbox.put(None)
        each.join()
        each.provider.shutdown()
    provider.shutdown()


if __name__ == "__main__":
    main()
