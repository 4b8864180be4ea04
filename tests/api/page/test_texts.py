"""Texts between the page and the service: events, places in JSON, and every digit of a number."""

import json

from tests.api.page.modules import run

PARSE = """
import { EventParser } from "./service/events.ts";
export default ({text, pieces}) => pieces.map((long) => {
  const parser = new EventParser();
  const found = [];
  for (let at = 0; at < text.length; at += long) found.push(...parser.feed(text.slice(at, at + long)));
  return found.map((event) => [event.number, event.kind, String(event.data.value)]);
});
"""
RANGES = """
import { rangeOfPath } from "./editor/text.ts";
export default (cases) => cases.map(([text, path]) => {
  const {from, to} = rangeOfPath(text, path);
  return text.slice(from, to);
});
"""
PLACES = """
import { placeAt } from "./editor/text.ts";
export default (cases) => cases.map((text) => {
  const at = text.indexOf("|");
  const place = placeAt(text.replace("|", ""), at);
  return [place.expects, place.path, text.slice(place.from, at), [...place.names].sort()];
});
"""
PRETTY = """
import { pretty } from "./service/pretty.ts";
export default (texts) => texts.map(pretty);
"""
MEMBERS = """
import { membersOf } from "./model/json.ts";
export default (texts) => texts.map((text) => {
  const found = membersOf(new TextEncoder().encode(text));
  return found === null ? null : [...found].map(([name, bytes]) => [name, new TextDecoder().decode(bytes)]);
});
"""


def test_events_are_the_same_however_the_stream_is_cut() -> None:
    text = (
        ": memstow\n\nid: 1\nevent: phase\ndata: {}\n\n: ping\n\nid: 2\r\nevent: bound\r\n"
        f'data: {{"value": {2**62}}}\r\n\r\nevent: unnumbered\n\nid: 3\nevent:done\ndata\n\n'
    )
    pieces = list(range(1, len(text) + 1))
    expected = [[1, "phase", "undefined"], [2, "bound", str(2**62)]]
    for entry in run(PARSE, {"text": text.replace("\ndata\n", "\ndata: {}\n"), "pieces": pieces}):
        assert entry == [*expected, [3, "done", "undefined"]]


def test_a_path_leads_to_its_value_or_to_what_is_around_it() -> None:
    text = '{"a": {"b": [10, {"c": "x, \\"y\\": 1"}]}, "d e": null, "f": [[1, 2], [3]]}'
    cases = {
        "$.a.b[0]": "10",
        "$.a.b[1].c": '"x, \\"y\\": 1"',
        '$["d e"]': "null",
        "$.f[1][0]": "3",
        "$.f": '"f"',
        "$.a.b[1].missing": "{",
        "$": "{",
    }
    result = run(RANGES, [[text, path] for path in cases])
    assert dict(zip(cases, result, strict=True)) == cases


def test_a_place_in_lines_is_a_letter_of_json_and_a_cell_of_a_table() -> None:
    json_text = '{"a":\n  1e}'
    table = 'id, size ,"lower",upper\na,64KB,0,2\n"b, ""c""",4,,1x\n'
    cases = {
        (json_text, "line 2, column 4"): "e",
        (json_text, "line 2, byte 3"): "1",
        (table, "line 1, column 2"): "size",
        (table, "line 2, column size"): "64KB",
        (table, "line 3, column id"): '"b, ""c"""',
        (table, "line 3, column upper"): "1x",
        (table, "line 3, column 2"): "4",
        (table, "line 2"): "a,64KB,0,2",
        (table, "line 2, column none"): "a,64KB,0,2",
        (table, "line 9"): "",
    }
    result = run(RANGES, list(cases))
    assert dict(zip(cases, result, strict=True)) == cases


def test_what_can_be_written_is_known_also_where_the_text_is_not_complete() -> None:
    cases: dict[str, list[object]] = {
        "|": ["value", [], "", []],
        '{"|': ["name", [], '"', []],
        '{"a": 1, "b|"': ["name", [], '"b', ["a"]],
        '{"a": |': ["value", ["a"], "", ["a"]],
        '{"a": tr|': ["value", ["a"], "tr", ["a"]],
        '{"a": [1, {"x": "|': ["value", ["a", 1, "x"], '"', ["x"]],
        '{"a": [1, {"x": "y", "|"}, 3], "b": 2}': ["name", ["a", 1], '"', ["x"]],
        '{"|, "later": {"inner": 1}}': ["name", [], '"', ["later"]],
        '{|"later": 1}': ["name", [], "", ["later"]],
        '{"a" |': [None, ["a"], "", ["a"]],
        '{"a": 1 |': [None, ["a"], "", ["a"]],
    }
    result = run(PLACES, list(cases))
    assert dict(zip(cases, result, strict=True)) == cases


def test_text_that_is_made_pretty_says_the_same_to_the_last_digit() -> None:
    documents = [
        {"buffers": [{"id": "ä\n", "size": 2**62 - 1, "lifetime": [-(2**60), 2**60]}] * 30},
        [],
        {"x": 0.25, "y": True, "z": None, "w": {}},
    ]
    result = run(PRETTY, [json.dumps(document) for document in documents])
    assert [json.loads(text) for text in result] == documents
    assert max(map(len, result[0].split("\n"))) <= 110


def test_members_of_an_object_are_told_as_they_are_written() -> None:
    texts = ['{"a" : [1, 2 ],"b":12345678901234567890.5e3 , "c":"x"}', "[1]", "no", '{"a": 1} 2']
    assert run(MEMBERS, texts) == [
        [["a", "[1, 2 ]"], ["b", "12345678901234567890.5e3"], ["c", '"x"']],
        None,
        None,
        None,
    ]
