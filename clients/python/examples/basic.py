"""Waits for a lock, works under it, and releases it.

`python examples/basic.py`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

from tenure import Client

# snippet: basic
with Client.from_env() as client:
    guard = client.lock("nightly-report", ttl=5, owner="basic").acquire()
    print(f"acquired token={guard.token}")
    # Each write goes along with the token; work that takes long looks whether the lock is still there.
    print(f"valid={str(guard.is_valid()).lower()}")
    guard.release()
    # snippet end
    print("released")
