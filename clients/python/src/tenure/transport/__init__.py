"""The stream: finding a server, and passing messages between it and the protocol."""
