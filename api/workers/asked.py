"""What a small request asks for, by the names under which its answer is kept."""

from collections.abc import Callable

from memstow.api.operations.body import ParsedRequest, PlainBody, parse_request
from memstow.api.operations.encoding import buffer_ids, bytes_in_order, cache_key_of_owner
from memstow.api.operations.request_types import BodyForm, Limits
from memstow.api.store.plan_cache import owned
from memstow.planner.model.options import Options
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import is_in_order


class Asked:
    """What a request asks for. A plain problem stays columns for as long as nothing needs its objects."""

    def __init__(
        self, read: ParsedRequest | PlainBody, owner: str | None, read_whole: Callable[[], ParsedRequest]
    ) -> None:
        self.options: Options = read.options
        self.digest = owned(read.digest, owner)
        self.cache_key = cache_key_of_owner(read.cache_key, owner)
        self.owner = owner
        self.columns: Columns | None = read.columns if isinstance(read, PlainBody) else None
        self._request = None if isinstance(read, PlainBody) else read
        self._read_whole = read_whole

    @property
    def request(self) -> ParsedRequest:
        """The request with its document."""
        if self._request is None:
            self._request = self._read_whole()
        return self._request

    def ordered(self, plan: bytes) -> bytes:
        """The plan with its placements in the order of the request."""
        if self.columns is None:
            return bytes_in_order(buffer_ids(self.request.problem), plan)
        if is_in_order(self.columns, plan):
            return plan
        return bytes_in_order([self.columns.name(buffer) for buffer in range(len(self.columns))], plan)


def read_whole(body: bytes, form: BodyForm, limits: Limits) -> ParsedRequest:
    """The request of a body that was found to be a plain problem."""
    request = parse_request(body, form, limits)
    if not isinstance(request, ParsedRequest):
        raise AssertionError("a plain problem has no symbols")
    return request
