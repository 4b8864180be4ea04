"""How schemathesis sends our own media types: models and recordings as bytes, dumps of XLA as text."""

import schemathesis


def teach() -> None:
    """Tell schemathesis of them."""
    recorded = (f"application/vnd.memstow.torch-{what}" for what in ("snapshot", "trace"))
    binary = ["application/vnd.tflite", "application/onnx", *recorded]
    schemathesis.serializer.alias(binary, "application/octet-stream")
    schemathesis.serializer.alias("application/vnd.memstow.xla", "text/plain")


# As hooks of its command line, the module is only imported.
teach()
