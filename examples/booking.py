"""An agent with two skills: it reads structured requests, asks before it spends money, and does that only once.

dragoman serve examples/booking.py:agent
echo '{"city": "Lisbon", "nights": 3}' | dragoman send -a http://127.0.0.1:9999 --data -
dragoman send -a http://127.0.0.1:9999 --task-id ID "yes"
"""

import uuid
from dataclasses import dataclass

from dragoman import Agent, Fail, Message, Reject, TaskContext

agent = Agent("Travel desk", "Finds and books rooms.")

PRICES = {"Lisbon": 95, "Oslo": 160, "Porto": 80}


@dataclass
class Stay:
    """A request for a room. A data part that does not fit is refused, with the member named, before a task is made."""

    city: str
    nights: int = 1


async def reserve(stay: Stay) -> str:
    """Where the outside system would be called."""
    return f"{stay.city[:3].upper()}-{uuid.uuid4().hex[:6]}"


@agent.skill(tags=["travel"], examples=['{"city": "Lisbon", "nights": 3}'])
async def book(task: TaskContext, stay: Stay) -> dict[str, object]:
    """Book a room, after asking whether the price is right."""
    if stay.city not in PRICES:
        raise Reject(f"No rooms in {stay.city}, only in {', '.join(PRICES)}.")
    price = PRICES[stay.city] * stay.nights
    if (await task.ask(f"{stay.nights} nights in {stay.city} cost {price} euros. Book them?")).lower() != "yes":
        raise Fail("Nothing was booked.")
    await task.status("Booking the room")
    # A step runs once in a turn, whatever happens in between: there will not be two rooms.
    code = await task.step("reserve", reserve, stay)
    return {"code": code, "price": price}


@agent.skill(tags=["travel"])
async def prices() -> str:
    """Tell what a night costs in each city."""
    return "\n".join(f"{city}: {price}" for city, price in PRICES.items())


@agent.router
def pick(message: Message) -> str:
    """A request with data is a booking."""
    return "prices" if message.text else "book"


if __name__ == "__main__":
    agent.run()
