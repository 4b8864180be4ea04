"""Which workers a run may go to, by what they have and when they were heard."""

from memstow.planner.cluster.roster import Abilities, Needs, Notice, Roster, Seen, Standing, needs_of

NOTHING = Needs()
ORTOOLS = Needs(frozenset({"ortools"}))


class Watched:
    """A roster of workers with the numbers 1, 2, ..., and what it says."""

    def __init__(self, *libraries: dict[str, str], version: str = "2") -> None:
        self.notices: list[Notice] = []
        self.roster = Roster("2", 10.0, self.notices.append)
        self.heard = {f"w{number}": 0.0 for number in range(1, len(libraries) + 1)}
        self.pass_by(1.0)
        for address, its in zip(self.heard, libraries, strict=True):
            self.roster.learn(address, "p", Abilities(version, its))

    def pass_by(self, seconds: float, *alive: str) -> None:
        """Time passes, and these workers send heartbeats."""
        for address in alive:
            self.heard[address] += 1.0
        self.roster.update({address: Seen("p", 2, heard) for address, heard in self.heard.items()}, seconds)

    def fitting(self, needs: Needs = NOTHING) -> str:
        return " ".join(sorted(self.roster.fitting(needs)))

    def said(self) -> list[str]:
        return [notice.kind for notice in self.notices]


def test_a_worker_is_asked_before_it_gets_anything() -> None:
    roster = Roster("2", 10.0, lambda _notice: None)
    roster.update({"w": Seen("p", 2, 0.0)}, 1.0)
    assert roster.unknown() == {"w": "p"}
    assert not roster.fitting(Needs())
    roster.learn("w", "another process", Abilities("2", {}))
    assert roster.unknown() == {"w": "p"}, "that was the one before"
    roster.learn("w", "p", Abilities("2", {}))
    assert roster.fitting(Needs()) == {"w"}
    assert roster.threads() == 2
    roster.update({"w": Seen("q", 2, 0.0)}, 1.0)
    assert roster.unknown() == {"w": "q"}, "started again, perhaps with something else"


def test_silence_ends_with_a_heartbeat() -> None:
    watched = Watched({}, {})
    for _ in range(11):
        watched.pass_by(1.0, "w1")
    assert watched.fitting() == "w1"
    assert watched.roster.standings()["w2"] is Standing.SILENT
    watched.pass_by(1.0, "w1", "w2")
    assert watched.fitting() == "w1 w2"
    assert watched.said() == ["worker_silent", "worker_back"]


def test_a_worker_that_a_run_gave_up_is_silent_at_once() -> None:
    watched = Watched({}, {})
    watched.roster.suspect("w1")
    watched.roster.suspect("w1")
    watched.roster.suspect("nobody")
    assert watched.fitting() == "w2"
    assert watched.said() == ["worker_silent"]


def test_another_version_and_none_are_refused_and_named() -> None:
    watched = Watched({}, version="1")
    assert not watched.fitting()
    (notice,) = watched.notices
    assert notice.text == "worker w1 is not used: it has memstow 1, and here is 2"
    assert watched.roster.why_idle() is None
    for _ in range(12):
        watched.pass_by(1.0, "w1")
    assert watched.roster.why_idle() == "no worker of the cluster has memstow 2"
    assert watched.roster.why_none(ORTOOLS) is None, "those that come may have it"


def test_what_a_run_needs_decides_and_what_is_better_only_prefers() -> None:
    watched = Watched({}, {"ortools": "9"}, {"pulp": "3", "highspy": "1"})
    assert watched.fitting(ORTOOLS) == watched.fitting(needs_of("assign", True)) == "w2"
    assert watched.fitting(needs_of("highs", False)) == "w3"
    assert watched.fitting(needs_of("exact", False)) == watched.fitting(needs_of("auto", True)) == "w1 w2 w3"
    assert watched.fitting(needs_of("auto", False)) == "w2"
    del watched.heard["w2"]
    watched.pass_by(1.0)
    assert watched.fitting(needs_of("auto", False)) == "w3"


def test_what_no_worker_has_is_said_after_a_while() -> None:
    watched = Watched({})
    assert watched.roster.why_none(ORTOOLS) is None
    for _ in range(11):
        watched.pass_by(1.0, "w1")
    assert watched.roster.why_none(ORTOOLS) == "no worker of the cluster has ortools"
    assert watched.roster.why_none(Needs()) is None


def test_what_was_missing_there_is_not_tried_there_again() -> None:
    watched = Watched({"ortools": "9"}, {"ortools": "9"})
    program = Needs(program="./mine")
    watched.roster.note_lack("w1", ORTOOLS)
    watched.roster.note_lack("w2", program)
    assert (watched.fitting(ORTOOLS), watched.fitting(program)) == ("w2", "w1")


def test_libraries_that_differ_are_named() -> None:
    watched = Watched({"ortools": "9"}, {"ortools": "10"})
    (notice,) = watched.notices
    assert notice.text == "worker w2 has ortools 10, others have 9: results may differ"
    assert watched.fitting(ORTOOLS) == "w1 w2"
