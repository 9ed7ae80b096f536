"""Several agents in one FastAPI application, each under its own path, beside ordinary routes.

uvicorn examples.mounted:app --port 8000
dragoman send -a http://127.0.0.1:8000/shout hello
"""

from fastapi import FastAPI

from dragoman import Agent

shout = Agent("Shout", "Says it louder.", store="memory")
count = Agent("Count", "Counts words.", store="memory")
app = FastAPI()


@shout.skill(tags=["text"])
async def louder(text: str) -> str:
    """Repeat the text in capitals."""
    return text.upper()


@count.skill(tags=["text"])
def words(text: str) -> str:
    """Count the words. A plain function runs in a thread, so it may block."""
    return str(len(text.split()))


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


shout.mount(app, "/shout")
count.mount(app, "/count")
