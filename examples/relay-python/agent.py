"""An external agent that books two seats at the movies over the relay of a Samovar server.

It has no list of steps: it looks at what the room's screen shows and offers, decides on one
call, gives its reason, and looks at the result.
    python agent.py --room default --token-file data/token
"""

import argparse
import itertools
import json
import pathlib

from websockets.sync.client import connect

GENRE, EARLIEST, SEATS = "Comedy", "18:00", 2
CHOICES = ["movie", "theater", "date", "time"]


class Room:
    """The agent's membership in a room, and the newest screen."""

    def __init__(self, socket, name):
        self.socket = socket
        self.ids = itertools.count(1)
        self.screen = {}
        self.ask("relay.join", role="agent", sessionId=name)

    def say(self, kind, **payload):
        message = {"v": "mvp-0.2", "type": kind, "id": f"req-{next(self.ids)}", "payload": payload}
        self.socket.send(json.dumps(message))
        return message["id"]

    def ask(self, kind, **payload):
        """Sends a message and waits for the answer; other messages may come first."""
        asked = self.say(kind, **payload)
        while True:
            message = self.hear(timeout=60)
            if message.get("replyTo") == asked:
                if message["type"] == "error":
                    raise RuntimeError("{code}: {message}".format(**message["payload"]))
                return message["payload"]

    def hear(self, timeout):
        """Receives the next message. The newest screen counts, whatever changed it."""
        message = json.loads(self.socket.recv(timeout))
        if message["type"] in ("snapshot.state", "state.updated"):
            self.screen = message["payload"]
        elif message["type"] == "user.message":
            print("the person says:", message["payload"]["text"])
        return message

    def call(self, tool, params, reason):
        """Calls a tool and waits until the screen shows its effect."""
        print(f"{tool} {json.dumps(params)}: {reason}")
        before = self.screen
        try:
            self.ask("tool.call", toolName=tool, params=params, reason=reason)
            while self.screen is before:
                self.hear(timeout=5)
        except (RuntimeError, TimeoutError) as why:
            # Somebody else may have changed it meanwhile. What is asked for is never old.
            print("looking again:", why)
            self.ask("snapshot.get")


class Plan:
    """What to do on a screen."""

    def __init__(self):
        self.chosen = {}
        self.dead_ends = []

    def next_call(self, spec):
        """The next tool, its parameters, and the reason for it."""
        stage, quantities = spec["stage"], spec["state"].get("quantities") or {}
        if stage in CHOICES:
            return self.choose(stage, spec)
        if stage == "seat":
            return self.sit(spec)
        if stage == "ticket" and sum(quantities.values()) != SEATS:
            kind = spec["items"][0]["id"]
            return "setQuantity", {"typeId": kind, "quantity": SEATS}, f"There are {SEATS} of us."
        return "next", {}, "Nothing is left to decide here."

    def choose(self, stage, spec):
        """The first fitting item that is not a known dead end, unless the person chose one."""
        path = [self.chosen.get(earlier) for earlier in CHOICES[: CHOICES.index(stage)]]
        fitting = [item["id"] for item in enabled(spec) if fits(item)]
        fitting = [item for item in fitting if [*path, item] not in self.dead_ends]
        if not fitting and not path:
            raise SystemExit("Nothing here fits, and nothing is booked.")
        if not fitting:
            self.dead_ends.append(path)
            return "prev", {}, f"No {stage} fits here."
        selected = spec["state"].get("selected")
        if selected not in fitting:
            return "select", {"itemId": fitting[0]}, f"It is the first {stage} that fits."
        self.chosen[stage] = selected
        return "next", {}, f"This {stage} fits."

    def sit(self, spec):
        """The first free seats side by side; other chosen seats are released."""
        seats = enabled(spec)
        groups = [seats[at : at + SEATS] for at in range(len(seats) - SEATS + 1)]
        groups = [[seat["id"] for seat in group] for group in groups if is_side_by_side(group)]
        if not groups:
            self.dead_ends.append([self.chosen.get(choice) for choice in CHOICES])
            return "prev", {}, f"No {SEATS} seats are free side by side."
        for seat in set(groups[0]) ^ set(spec["state"].get("selectedList") or []):
            return "select", {"itemId": seat}, f"We sit side by side: {' and '.join(groups[0])}."
        return "next", {}, "We sit side by side."


def enabled(spec):
    """The items that can be chosen: visible and not disabled, with all their fields."""
    visible = {item["id"] for item in spec["visibleItems"] if not item.get("isDisabled")}
    return [item for item in spec["items"] if item["id"] in visible]


def fits(item):
    return item.get("genre", GENRE) == GENRE and item.get("time", EARLIEST) >= EARLIEST


def is_side_by_side(seats):
    places = [(seat["row"], seat["number"] - at) for at, seat in enumerate(seats)]
    return len(set(places)) == 1


def main():
    parser = argparse.ArgumentParser(description="Books two seats at the movies.")
    parser.add_argument("--url", default="ws://127.0.0.1:4747/agent/ws")
    parser.add_argument("--room", default="default")
    parser.add_argument("--token-file", default="data/token")
    args = parser.parse_args()
    token = pathlib.Path(args.token_file).read_text().strip()
    with connect(args.url, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
        room, plan = Room(socket, args.room), Plan()
        study = room.ask("session.start", studyId="example", participantId="python")
        room.say("agent.message", text=f"I look for a {GENRE.lower()} after {EARLIEST}.")
        room.ask("snapshot.get")
        while room.screen["uiSpec"] is not None:
            room.call(*plan.next_call(room.screen["uiSpec"]))
        print("booked:", room.screen["messageHistory"][-1]["spec"]["description"])
        ended = room.ask("session.end", reason="the seats are booked")
        print(f"study {study['sessionId']} is in {ended['logFile']}")


if __name__ == "__main__":
    main()
