"""What can be wrong with a formula: its text, or its value where the symbols have certain values."""

from memstow.planner.model.errors import MemstowError


class FormulaError(MemstowError):
    """A text that is not a formula; `position` is the index of the character where that shows."""

    def __init__(self, code: str, message: str, position: int) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


class FormulaValueError(MemstowError):
    """A formula without a value at these symbols: a divisor that is not positive, a number too large."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
