# examples/echo.py
from dragoman import Agent, TaskContext

agent = Agent("Echo", "Says back what it hears.")

@agent.skill(tags=["demo"])
async def echo(task: TaskContext):
    """Repeat the message."""
    yield task.text

if __name__ == "__main__":
    agent.run()          # http://127.0.0.1:9999, tasks in .dragoman/echo.db; prints both, and the card's URL
