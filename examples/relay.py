"""An agent that has another one work, and passes its questions up to whoever called.

dragoman serve examples/slow.py:agent --port 9998
dragoman serve examples/relay.py:agent
dragoman send -a http://127.0.0.1:9999 "3 0"
"""

import os

from dragoman import Agent, TaskContext, connect

agent = Agent("Relay", "Has others count.")
OTHER = os.environ.get("COUNTING_AGENT", "http://127.0.0.1:9998")


@agent.skill(tags=["demo"], examples=["3 0"])
async def count(task: TaskContext) -> str:
    """Have another agent count."""
    async with connect(OTHER) as other:
        # What the other agent asks, our caller is asked; the answer goes to the other agent. So does an authorization.
        return f"They say: {await task.delegate(other, task.text)}"
