"""One stream: what is said on it, and who is told the answers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tenure.v1 import stream_pb2 as pb

#: Told an answer, with when the command was sent and when it is now.
Answered = Callable[[pb.Answer, int, int], None]


@dataclass
class Sent:
    """A command whose answer is to come."""

    answered: Answered
    at: int
    #: Whether more than one answer comes.
    goes_on: bool


class Stream:
    """The commands of one stream, numbered on from those of the streams before: their numbers are not used again."""

    def __init__(self, last_command: int) -> None:
        self.last_command = last_command
        self.sent: dict[int, Sent] = {}
        self.outgoing: deque[pb.Command] = deque()

    def send(self, command: pb.Command, answered: Answered, now: int, *, goes_on: bool = False) -> int:
        """Sends a command. Answers its id."""
        self.last_command += 1
        command.id = self.last_command
        self.sent[command.id] = Sent(answered, now, goes_on)
        # Renewals do not wait behind other commands.
        if command.WhichOneof("kind") == "keep_alive":
            self.outgoing.appendleft(command)
        else:
            self.outgoing.append(command)
        return command.id

    def cancel(self, command_id: int) -> None:
        """Ends a command that goes on."""
        self.last_command += 1
        self.outgoing.append(pb.Command(id=self.last_command, cancel=pb.CancelCommand(command_id=command_id)))
