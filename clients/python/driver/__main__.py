"""Reads requests from the standard input and writes answers to the standard output, one JSON object a line."""

import asyncio
import json
import logging
import os
import sys
from typing import Any

from driver.answers import failure
from driver.mistake import Mistake
from driver.perform import DEEDS
from driver.things import Things
from tenure import TenureError


async def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=os.environ.get("TENURE_LOG", "WARNING"))
    things = Things()
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        request = json.loads(line)
        things.running[request["id"]] = asyncio.ensure_future(carry_out(request, things))
    # Nothing is closed: what is collected on the way out would be released.
    os._exit(0)


async def carry_out(request: dict[str, Any], things: Things) -> None:
    answer: dict[str, Any] = {"id": request["id"]}
    try:
        deed = DEEDS.get(request["do"])
        if deed is None:
            raise Mistake(f"there is nothing like {request['do']}")
        answer["ok"] = await deed(request, things) or {}
    except asyncio.CancelledError:
        answer["error"] = {"kind": "cancelled"}
    except (TenureError, Mistake) as error:
        answer["error"] = failure(error)
    except KeyError as error:
        answer["error"] = {"kind": "driver", "message": f"there is no {error}"}
    except Exception as error:
        logging.exception("a request failed")
        answer["error"] = {"kind": "driver", "message": repr(error)}
    things.running.pop(request["id"], None)
    print(json.dumps(answer), flush=True)


asyncio.run(main())
