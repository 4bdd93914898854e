"""One request and the answers of both servers: whether they differ, and in which parts."""

from collections import namedtuple

from .outcome import places, reason_text, shorten

CANCELLED = "TransactionCanceledException"

# The operation with both texts, and whether the members beside the texts are alike. Successes have no text, only members.
Part = namedtuple("Part", "operation ours theirs members_are_alike")


class Exchange:
    def __init__(self, operation, request, ours, theirs, tables=()):
        self.operation, self.request = operation, request
        self.ours, self.theirs = ours, theirs
        self.tables = tables

    def is_alike(self):
        return self.ours.same_as(self.theirs)

    def answers_are_sound(self):
        """Whether statuses go with their errors, and cancelled transactions have a reason for each action."""
        return all(
            answer.status == usual_status(answer.error) and (answer.error != CANCELLED or self.has_reasons_for_all(answer))
            for answer in (self.ours, self.theirs)
        )

    def has_reasons_for_all(self, cancelled):
        actions = self.request.get("TransactItems", [])
        return tells_its_reasons(cancelled) and len(cancelled.reasons()) == len(actions)

    def differing_parts(self):
        """The whole, or the reasons that differ where both servers cancel a transaction."""
        if self.cancelled_by_both():
            return self.differing_reasons()
        ours, theirs = self.ours.said(), self.theirs.said()
        if self.ours.error is None and self.theirs.error is None:
            # A condition on the two bodies has to explain these.
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
        """Where the answers differ beside their texts."""
        if self.ours.error != self.theirs.error:
            return ""
        if self.ours.status != self.theirs.status:
            return f"status {self.ours.status} and {self.theirs.status}"
        if self.ours.body != self.theirs.body:
            return shorten(places(self.ours.body, self.theirs.body))
        return "details of the message"


def rows_are_alike(ours, theirs):
    """Whether two reasons with one code give back the same row; which code a reason has is for its text to say."""
    return ours.get("Code") != theirs.get("Code") or ours.get("Item") == theirs.get("Item")


def tells_its_reasons(cancelled):
    codes = ", ".join(reason.get("Code", "no code") for reason in cancelled.reasons())
    return cancelled.message == f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"


def usual_status(error):
    if error is None:
        return 200
    return 500 if error in ("InternalFailure", "InternalServerError") else 400
