"""How schemathesis sends what our own media types hold: models as bytes, dumps of XLA as text."""

import schemathesis


def teach() -> None:
    """Tell schemathesis of them."""
    schemathesis.serializer.alias(["application/vnd.tflite", "application/onnx"], "application/octet-stream")
    schemathesis.serializer.alias("application/vnd.memstow.xla", "text/plain")


# As hooks of its command line, the module is only imported.
teach()
