"""The client for threads: a bridge to that for asyncio, which runs in an event loop of its own."""
