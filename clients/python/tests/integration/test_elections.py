"""Elections and groups against a real server."""

import asyncio

import pytest

from tenure import Assignments, InvalidError, LostError, LostReason, RefusedError, Standing, assign, v1
from tenure.aio import Client, Election, Hold
from tests.integration.server import Server
from tests.integration.waiting import holder, met, soon, vacant, waiting


class Candidate:
    """Leads until it is to resign, and records its terms."""

    def __init__(self, client: Client, name: str) -> None:
        self.terms: asyncio.Queue[int] = asyncio.Queue()
        self.ends: asyncio.Queue[int] = asyncio.Queue()
        self.resign = asyncio.Event()
        self.election = client.election("boss", owner=name, ttl=2)
        self.task = asyncio.ensure_future(self.election.lead(self._body))

    async def _body(self, hold: Hold) -> None:
        self.resign.clear()
        self.terms.put_nowait(hold.token)
        try:
            await self.resign.wait()
        finally:
            self.ends.put_nowait(hold.token)

    async def stop(self) -> None:
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task


async def test_one_leads_at_a_time_and_the_next_has_a_higher_token(client: Client, server: Server) -> None:
    async with Client(server.endpoint) as other:
        ann = Candidate(client, "ann")
        first = await soon(ann.terms.get())
        bob = Candidate(other, "bob")
        await waiting(client, "boss")
        leader = await ann.election.leader()
        assert leader is not None
        assert (leader.owner, leader.token) == ("ann", first)
        ann.resign.set()
        second = await soon(bob.terms.get())
        assert second > first
        await client.evict(v1.EvictRequest(name="boss", operator="ops"))
        assert await soon(bob.ends.get()) == second, "the body was cancelled"
        assert await soon(ann.terms.get()) > second
        await bob.stop()
        await ann.stop()
        await vacant(client, "boss")


async def test_observer_receives_each_leader_and_the_lack_of_one(client: Client) -> None:
    leaders = client.election("boss").observe()
    assert await soon(anext(leaders)) is None
    leadership = await client.election("boss", owner="ann").campaign()
    leader = await soon(anext(leaders))
    assert leader is not None
    assert (leader.owner, leader.token) == ("ann", leadership.token)
    await leadership.release()
    assert await soon(anext(leaders)) is None


async def test_leader_loop_runs_at_its_period_and_hands_over_on_request(client: Client) -> None:
    ran: asyncio.Queue[int] = asyncio.Queue()

    async def body(hold: Hold) -> None:
        ran.put_nowait(hold.token)

    election = client.election("boss", stall_after=5)
    leading = asyncio.ensure_future(election.lead_every(0.05, body))
    tokens = [await soon(ran.get()) for _ in range(4)]
    assert len(set(tokens)) == 1
    following = asyncio.ensure_future(client.election("boss").campaign())
    await waiting(client, "boss")
    claim = await soon(client.transfer(v1.TransferRequest(name="boss", operator="ops")))
    leadership = await soon(following)
    assert leadership.token == claim.token
    await leadership.release()
    leading.cancel()
    with pytest.raises(InvalidError, match="period"):
        await election.lead_every(0, body)


async def test_leader_only_functions_run_only_while_leading(client: Client) -> None:
    election = client.election("boss", owner="ann")
    begun = asyncio.Event()

    @election.leader_only
    async def job(answer: int, last: bool) -> int:
        begun.set()
        if last:
            await asyncio.get_running_loop().create_future()
        return answer

    assert await job(1, False) is None
    async with election:
        await leading(election)
        assert await job(2, False) == 2
        begun.clear()
        running = asyncio.ensure_future(job(3, True))
        await soon(begun.wait())
        await client.evict(v1.EvictRequest(name="boss", operator="ops"))
        with pytest.raises(LostError):
            await soon(running)
    await vacant(client, "boss")
    assert await job(4, False) is None


async def test_leader_resigns_only_when_leader_only_functions_have_ended(client: Client) -> None:
    election = client.election("boss", owner="ann")
    begun, ended, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @election.leader_only
    async def job() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await may_end.wait()
            ended.set()

    await soon(election.__aenter__())
    await leading(election)
    running = asyncio.ensure_future(job())
    await soon(begun.wait())
    stopping = asyncio.ensure_future(election.__aexit__(None, None, None))
    await asyncio.wait([stopping], timeout=0.2)
    assert holder(await client.get_lock("boss")), "the job has not ended"
    assert not stopping.done()
    may_end.set()
    await soon(stopping)
    assert ended.is_set()
    with pytest.raises(LostError):
        await soon(running)
    await vacant(client, "boss")


async def leading(election: Election) -> None:
    """Until a candidate in the background leads."""
    await met(lambda: election.leadership is not None)


def divide(group: v1.Group) -> Assignments:
    return assign(group, lambda position, _: f"{group.config}-{position}")


async def test_members_share_the_assignments_of_the_leader(client: Client, server: Server) -> None:
    standings: dict[str, asyncio.Queue[Standing]] = {"ann": asyncio.Queue(), "bob": asyncio.Queue()}

    async def until(name: str, assignment: str) -> Standing:
        while True:
            standing = await soon(standings[name].get())
            if standing.is_current and standing.assignment == assignment:
                return standing

    async with Client(server.endpoint) as other:
        await client.configure_group("work", "x")
        ann = asyncio.ensure_future(
            client.group("work", owner="ann", ttl=2).take_part(divide, standings["ann"].put_nowait)
        )
        assert (await until("ann", "x-0")).leads
        bob = asyncio.ensure_future(
            other.group("work", owner="bob", ttl=2).take_part(divide, standings["bob"].put_nowait)
        )
        assert not (await until("bob", "x-1")).leads
        revision = (await client.get_group("work")).config_revision
        await client.configure_group("work", "y", expected_revision=revision)
        await until("bob", "y-1")
        with pytest.raises(RefusedError) as refused:
            await client.configure_group("work", "z", expected_revision=revision)
        assert refused.value.reason == "CONFIG_CONFLICT"
        ann.cancel()
        assert (await until("bob", "y-0")).leads
        bob.cancel()
        await asyncio.wait({ann, bob})


async def test_membership_assigns_is_lost_and_leaves(client: Client) -> None:
    first = await client.group("work", metadata={"size": "3"}).join()
    session = await client.session()
    second = await client.group("work", session=session).join()
    group = (await client.get_group("work")).members
    assert [member.number for member in group] == [first.number, second.number]
    assert dict(group[0].metadata) == {"size": "3"}
    with pytest.raises(InvalidError):
        await second.assign(second.standing.group, {})
    async for standing in first.standings():
        if len(standing.group.members) == 2:
            await first.assign(standing.group, assign(standing.group, lambda position, _: str(position)))
            break
    async for standing in second.standings():
        if standing.assignment is not None:
            assert standing.assignment == "1"
            break
    await session.close()
    assert (await soon(second.lost())).reason == LostReason.CLOSED
    await first.leave()
    assert not (await client.get_group("work")).members


async def test_candidate_in_the_background_tries_on_after_rejections(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    # The id is in use: a rejection that is not temporary, until that session is closed.
    taken = await client.session(id="candidate")
    election = client.election("boss", owner="ann", id="candidate")
    with pytest.raises(RefusedError) as refused:
        await election.lead_every(1, lambda _: asyncio.sleep(0))
    assert refused.value.reason == "SESSION_IN_USE"
    async with election:
        await met(lambda: "the campaign for boss failed" in caplog.text)
        assert election.leadership is None
        assert not election.is_healthy()
        await taken.close()
        await leading(election)
        assert election.is_healthy()
    assert not election.is_healthy()
    await vacant(client, "boss")


async def test_candidate_that_waits_is_healthy(client: Client) -> None:
    leader = await client.election("boss").campaign()
    async with client.election("boss") as election:
        assert not election.is_healthy(), "no server has accepted it yet"
        await waiting(client, "boss")
        await met(election.is_healthy)
        assert election.leadership is None
        await leader.release()


async def test_what_can_be_checked_locally_fails_at_once(client: Client) -> None:
    with pytest.raises(InvalidError, match="stall_after"):
        client.election("boss", stall_after=0)
    with pytest.raises(TypeError, match="ttl"):
        client.election("boss", ttl="5")  # type: ignore[arg-type]
