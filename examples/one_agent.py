"""One agent from Python: give it a task, follow it, read how it ended.

The model is played by `hello.json`, so this runs anywhere; leave out the two `scripted` lines
to ask a real one.
"""

from __future__ import annotations

import os
from pathlib import Path

import trio

import codex_actors
from codex_actors.protocol import AgentMessageRecorded, CommandEnded

HERE = Path(__file__).parent


async def main() -> None:
    loaded = codex_actors.load_settings(
        home=codex_actors.find_home(os.environ),
        environ=os.environ,
        cwd=os.getcwd(),
        overrides=[
            "sandbox_mode=danger-full-access",
            "model_provider=scripted",
            f"model_providers.scripted.script={HERE / 'hello.json'}",
        ],
    )
    async with codex_actors.open_agents(loaded.settings) as tree:
        root = await tree.spawn(codex_actors.AgentSpec(instructions="You know computers."))
        task = await root.assign("What system is this?")
        async with task.events() as events:
            async for event in events:  # ends when the task does
                match event.msg:
                    case CommandEnded(command=command, exit_code=code):
                        print("ran", command[-1], "->", code)
                    case AgentMessageRecorded(message):
                        print("said", message)
                    case _:
                        pass
        record = await task.wait()
        print(record.outcome)
        print(root.usage.total_token_usage.total_tokens, "tokens; thread", root.thread_id)


if __name__ == "__main__":
    trio.run(main)
