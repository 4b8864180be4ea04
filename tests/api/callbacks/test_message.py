"""Messages are signed as Standard Webhooks says, and secrets are what it says."""

import base64
import json
from pathlib import Path

import pytest

from memstow.api.http.samples import JOB
from memstow.api.webhooks import message_body, message_headers, read_secrets
from memstow.planner.model.errors import InputError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(64))).decode()


def secrets(folder: Path, text: str) -> tuple[bytes, ...]:
    path = folder / "secret"
    path.write_text(text)
    return read_secrets(path)


def test_the_signature_is_that_of_an_example_of_others(tmp_path: Path) -> None:
    """The libraries of Standard Webhooks are tested with this message."""
    headers = message_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', secrets(tmp_path, SECRET)
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_secret_signs_so_that_one_can_be_exchanged(tmp_path: Path) -> None:
    both = secrets(tmp_path, f"{SECRET}\n\n{OTHER}\n")
    signatures = message_headers("id", 1, b"{}", both)["webhook-signature"].split()
    alone = [message_headers("id", 1, b"{}", [secret])["webhook-signature"] for secret in both]
    assert signatures == alone
    assert len({*signatures}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "secret",
        SECRET.removeprefix("whsec_"),
        "whsec_c2hvcnQ=",
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_!" + SECRET[7:],
        f"{SECRET}\nwhsec_\n",
        "whsec_Käse",
    ],
)
def test_what_is_no_secret_is_refused_and_not_quoted(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="expected a secret in each line") as refused:
        secrets(tmp_path, text)
    assert SECRET[6:] not in str(refused.value)


def test_the_message_is_about_the_end_of_the_job() -> None:
    job = {**JOB, "state": "done", "finished": "2026-11-20T09:00:01.000Z"}
    message = json.loads(message_body(job))
    assert (message["type"], message["timestamp"]) == ("job.done", job["finished"])
    assert message["data"]["id"] == JOB["id"]
    assert not {"options", "callback"} & message["data"].keys()
