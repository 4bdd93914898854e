"""One request and the answers of both servers, and the parts in which they differ."""

from collections import namedtuple

from .outcome import places, reason_text, shorten

CANCELLED = "TransactionCanceledException"

# The operation, both texts, and whether the other members are equal. Successes have no text, only members.
Part = namedtuple("Part", "operation ours theirs members_are_alike")


class Exchange:
    def __init__(self, operation, request, ours, theirs, tables=()):
        self.operation, self.request = operation, request
        self.ours, self.theirs = ours, theirs
        self.tables = tables

    def is_alike(self):
        return self.ours.same_as(self.theirs)

    def answers_are_sound(self):
        """Whether each error has its usual status, and each cancelled transaction a reason for every action."""
        return all(
            answer.status == usual_status(answer.error) and (answer.error != CANCELLED or self.has_reasons_for_all(answer))
            for answer in (self.ours, self.theirs)
        )

    def has_reasons_for_all(self, cancelled):
        actions = self.request.get("TransactItems", [])
        return tells_its_reasons(cancelled) and len(cancelled.reasons()) == len(actions)

    def differing_parts(self):
        """The whole answers; or, if both servers cancel a transaction, the reasons that differ."""
        if self.cancelled_by_both():
            return self.differing_reasons()
        ours, theirs = self.ours.said(), self.theirs.said()
        if self.ours.error is None and self.theirs.error is None:
            # Only a condition on the two bodies can explain a difference of two successes.
            return [Part(self.operation, ours, theirs, True)]
        alike = self.ours.error != self.theirs.error or self.ours.items() == self.theirs.items()
        return [Part(self.operation, ours, theirs, alike)]

    def cancelled_by_both(self):
        both = (self.ours, self.theirs)
        return all(answer.error == CANCELLED for answer in both) and self.ours.items() == self.theirs.items()

    def differing_reasons(self):
        pairs = zip(self.ours.reasons(), self.theirs.reasons())
        return [
            Part(f"{self.operation} reason", reason_text(ours), reason_text(theirs), rows_are_alike(ours, theirs))
            for ours, theirs in pairs
            if ours != theirs
        ]

    def where(self):
        """The members in which the answers differ, except for their texts."""
        if self.ours.error != self.theirs.error:
            return ""
        if self.ours.status != self.theirs.status:
            return f"status {self.ours.status} and {self.theirs.status}"
        if self.ours.body != self.theirs.body:
            return shorten(places(self.ours.body, self.theirs.body))
        return "details of the message"


def rows_are_alike(ours, theirs):
    """Whether two reasons with the same code return the same row. Different codes are compared as part of the texts."""
    return ours.get("Code") != theirs.get("Code") or ours.get("Item") == theirs.get("Item")


def tells_its_reasons(cancelled):
    codes = ", ".join(reason.get("Code", "no code") for reason in cancelled.reasons())
    return cancelled.message == f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"


def usual_status(error):
    if error is None:
        return 200
    return 500 if error in ("InternalFailure", "InternalServerError") else 400
