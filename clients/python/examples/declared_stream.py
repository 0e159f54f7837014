"""Holds a lock with generated code alone, over the declared stream: `ClientService.Connect` of the contract.

`python examples/declared_stream.py NAME`, with the servers of `TENURE_ENDPOINTS`, separated by commas. It holds the
lock NAME until its input ends, whatever becomes of a server, and prints each state.
"""

import itertools
import os
import queue
import sys
import threading
import time
import uuid

import grpc

from tenure.v1 import client_pb2 as v1
from tenure.v1.client_pb2_grpc import ClientServiceStub

# snippet: stream
#: Numbers of the program's choice: each is used once, and is greater than those before.
SESSION, CLAIM = 1, 2


def now() -> float:
    """A clock that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Client:
    def __init__(self, name: str) -> None:
        session, claim = v1.DeclaredSession(), v1.DeclaredClaim(number=CLAIM, names=[name], queue=True)
        session.ttl.FromSeconds(5)
        self.declaration = v1.Declaration(session=SESSION, open=session, claims=[claim])
        self.id, self.epoch = uuid.uuid4().hex, 0
        self.known: set[int] = set()  # What the server has reported to exist.
        self.wanted, self.ended = True, False
        self.timing = v1.OpenState()
        self.sent: dict[int, float] = {}  # When each renewal was sent.
        self.renewed = now()  # When the last acknowledged one was.
        self.requests: queue.SimpleQueue[v1.ConnectRequest | None] = queue.SimpleQueue()

    def valid(self) -> bool:
        return now() < self.renewed + self.timing.valid_for.ToTimedelta().total_seconds()

    def connect(self, endpoint: str) -> None:
        """One stream, until it breaks or everything has ended."""
        self.requests, self.epoch, self.sent = queue.SimpleQueue(), self.epoch + 1, {0: now()}
        known, declared = sorted(self.known), [] if self.known else [self.declaration]
        hello = v1.Hello(client_id=self.id, epoch=self.epoch)
        if self.wanted:  # Otherwise what it has is withdrawn.
            hello = v1.Hello(client_id=self.id, epoch=self.epoch, known=known, declared=declared)
        self.requests.put(v1.ConnectRequest(hello=hello))
        broken = threading.Event()
        with grpc.insecure_channel(endpoint.removeprefix("http://")) as channel:
            responses = ClientServiceStub(channel).Connect(iter(self.requests.get, None))
            threading.Thread(target=self.renew, args=(broken,), daemon=True).start()
            try:
                while not self.ended:
                    self.handle(next(responses))
            except grpc.RpcError as error:
                print(f"disconnected {error.code().name}", flush=True)
            finally:
                broken.set()
                self.requests.put(None)

    def renew(self, broken: threading.Event) -> None:
        while not broken.wait(self.timing.renew_after.ToTimedelta().total_seconds() or 1):
            number = len(self.sent)
            self.sent[number] = now()
            self.requests.put(v1.ConnectRequest(keep_alive=v1.KeepAlive(number=number)))

    def handle(self, response: v1.ConnectResponse) -> None:
        if response.HasField("welcome") or response.HasField("kept_alive"):
            self.renewed = self.sent[response.kept_alive.number]
            self.ended = not self.wanted and not self.known
        for state in response.states.states:
            kind = state.WhichOneof("kind")
            print(f"{'session' if state.number == SESSION else 'lock'} {kind} token={state.held.token}", flush=True)
            if kind in ("open", "waiting", "held"):
                self.known.add(state.number)
            else:
                self.known.discard(state.number)
                self.ended = self.ended or state.number == SESSION
            if kind == "open":
                self.timing = state.open

    def release(self) -> None:
        sys.stdin.read()
        self.wanted = False
        withdrawal = v1.Change(withdraw=SESSION)  # Closes the session, with its claim.
        self.requests.put(v1.ConnectRequest(changes=v1.Changes(changes=[withdrawal])))


client = Client(sys.argv[1] if len(sys.argv) > 1 else "nightly-report")
threading.Thread(target=client.release, daemon=True).start()
for endpoint in itertools.cycle(os.environ.get("TENURE_ENDPOINTS", "127.0.0.1:7420").split(",")):
    if client.ended or (client.known and not client.valid()):
        break
    client.connect(endpoint)
# snippet end
