"""Callbacks go where an operator allows, however a URL or an address is written."""

import pytest

from memstow.api.webhooks import Allowed, place_of

ALLOWED = Allowed.of(["https://builds.example.com/memstow/", "http://[::1]:9090", "http://10.0.0.7:80"], [])


@pytest.mark.parametrize(
    "url",
    [
        "https://builds.example.com/memstow",
        "https://builds.example.com/memstow/",
        "https://builds.example.com/memstow/a/b?token=1&x=%20",
        "HTTPS://Builds.Example.COM:443/memstow/x",
        "http://[::1]:9090",
        "http://[::1]:9090/any",
        "http://10.0.0.7/any",
    ],
)
def test_what_begins_as_allowed_is_taken(url: str) -> None:
    assert ALLOWED.takes(place_of(url))


@pytest.mark.parametrize(
    "url",
    [
        "http://builds.example.com/memstow",
        "https://builds.example.com/",
        "https://builds.example.com/memstowaway",
        "https://builds.example.com/Memstow",
        "https://builds.example.com:8443/memstow",
        "https://builds.example.com./memstow",
        "https://builds.example.com.evil.org/memstow",
        "https://evil.org/https://builds.example.com/memstow",
        "http://[::1]/any",
        "http://[::2]:9090/",
    ],
)
def test_anything_else_is_not(url: str) -> None:
    assert not ALLOWED.takes(place_of(url))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/memstow",
        "//builds.example.com/memstow",
        "ftp://builds.example.com/memstow",
        "file:///etc/passwd",
        "https:///memstow",
        "https://builds.example.com@evil.org/memstow",
        "https://user:word@builds.example.com/memstow",
        "https://builds.example.com/memstow#part",
        "https://builds.example.com/memstow/../admin",
        "https://builds.example.com/memstow/%2e%2E/admin",
        "https://builds.example.com/memstow/..;x/admin",
        "https://builds.example.com/memstow/..%2fadmin",
        "https://builds.example.com/memstow/a%5c..%5cadmin",
        "https://builds.example.com\\@evil.org/memstow",
        "https://builds.example.com/memstow\r\nx: y",
        "https://builds.example.com/mem stow",
        "https://bücher.example/memstow",
        "https://builds.example.com:0/memstow",
        "https://builds.example.com:65536/memstow",
        "https://builds.example.com:x/memstow",
        "https://[::1/memstow",
        "https://" + "a" * 254 + "/",
        "https://builds.example.com/memstow/" + "a" * 2048,
    ],
)
def test_what_could_mean_two_places_is_no_url(url: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]{3}"):
        place_of(url)


def test_the_origin_holds_nothing_of_path_and_query() -> None:
    assert place_of("https://h.example/secret?token=1").origin == "https://h.example"
    assert place_of("http://[::1]:9090/secret").origin == "http://[::1]:9090"
    assert place_of("http://h.example:80").target == "/"


PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "10.0.0.7", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
    *("100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "192.88.99.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00::7", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.7", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_may_not_stand_for_an_address_that_is_not_public(address: str) -> None:
    assert not ALLOWED.takes_address(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8"])
def test_public_addresses_are_taken(address: str) -> None:
    assert ALLOWED.takes_address(address)


def test_networks_that_are_allowed_are_taken() -> None:
    allowed = Allowed.of([], ["10.0.0.0/8", "fd00::/64", "127.0.0.1"])
    taken = [entry for entry in PRIVATE if allowed.takes_address(entry)]
    assert taken == ["127.0.0.1", "10.0.0.7", "fd00::7", "::ffff:127.0.0.1", "::ffff:10.0.0.7"]
