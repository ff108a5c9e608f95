// An external agent that books two seats at the movies over the relay of a Samovar server.
//
// It has no list of steps: it looks at what the room's screen shows and offers, decides on one
// call, gives its reason, and looks at the result.
//     npm start -- --room default --token-file data/token

import { EventEmitter, on, once } from "node:events";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { WebSocket } from "ws";

const GENRE = "Comedy", EARLIEST = "18:00", SEATS = 2;
const CHOICES = ["movie", "theater", "date", "time"];

interface Item { id: string; isDisabled?: boolean; genre?: string; time?: string; row: string; number: number }
interface Spec {
  stage: string;
  visibleItems: Item[];
  items: Item[];
  state: { selected?: string; selectedList?: string[]; quantities?: Record<string, number> };
}
interface Screen { uiSpec: Spec | null; messageHistory: { spec?: { description: string } }[] }
interface Message { type: string; replyTo?: string; payload: any }
interface Call { tool: string; params: object; reason: string }

/** The agent's membership in a room, and the newest screen. */
class Room extends EventEmitter {
  screen: Screen = { uiSpec: null, messageHistory: [] };
  #socket;
  #said = 0;

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    socket.on("message", (data) => this.#hear(JSON.parse(String(data))));
  }

  say(type: string, payload: object): string {
    const id = `req-${++this.#said}`;
    this.#socket.send(JSON.stringify({ v: "mvp-0.2", type, id, payload }));
    return id;
  }

  /** Sends a message and waits for the answer; other messages may come first. */
  async ask(type: string, payload: object): Promise<any> {
    const id = this.say(type, payload);
    const answer = await this.#next((message) => message.replyTo === id, 60_000);
    if (answer.type === "error") throw new Error(`${answer.payload.code}: ${answer.payload.message}`);
    return answer.payload;
  }

  /** Calls a tool and waits until the screen shows its effect. */
  async call({ tool, params, reason }: Call): Promise<void> {
    console.log(`${tool} ${JSON.stringify(params)}: ${reason}`);
    const before = this.screen;
    try {
      await this.ask("tool.call", { toolName: tool, params, reason });
      if (this.screen === before) await this.#next(({ type }) => type === "state.updated", 5_000);
    } catch (why) {
      // Another agent may have changed it meanwhile. A requested screen is never old.
      console.log("looking again:", String(why));
      await this.ask("snapshot.get", {});
    }
  }

  /** The newest screen counts, whatever changed it. */
  #hear(message: Message): void {
    if (["snapshot.state", "state.updated"].includes(message.type)) this.screen = message.payload;
    if (message.type === "user.message") console.log("the person says:", message.payload.text);
    this.emit("heard", message);
  }

  async #next(fits: (message: Message) => boolean, patience: number): Promise<any> {
    const messages = on(this, "heard", { signal: AbortSignal.timeout(patience) });
    for await (const [message] of messages) if (fits(message)) return message;
  }
}

/** What to do on a screen. */
class Plan {
  #chosen = new Map<string, string>();
  #deadEnds = new Set<string>();

  nextCall(spec: Spec): Call {
    const tickets = Object.values(spec.state.quantities ?? {}).reduce((sum, count) => sum + count, 0);
    if (CHOICES.includes(spec.stage)) return this.#choose(spec);
    if (spec.stage === "seat") return this.#sit(spec);
    if (spec.stage !== "ticket" || tickets === SEATS) return next("Nothing is left to decide here.");
    const params = { typeId: spec.items[0]!.id, quantity: SEATS };
    return { tool: "setQuantity", params, reason: `There are ${SEATS} of us.` };
  }

  /** The first fitting item that is not a known dead end, unless the person chose one. */
  #choose(spec: Spec): Call {
    const { stage, state: { selected } } = spec;
    const path = CHOICES.slice(0, CHOICES.indexOf(stage)).map((earlier) => this.#chosen.get(earlier));
    const fitting = enabled(spec).filter(({ id, genre = GENRE, time = EARLIEST }) =>
      genre === GENRE && time >= EARLIEST && !this.#deadEnds.has([...path, id].join()));
    if (!fitting[0]) return this.#turnBack(path, `No ${stage} fits here.`);
    const isFitting = fitting.some(({ id }) => id === selected);
    if (!selected || !isFitting) return select(fitting[0].id, `It is the first ${stage} that fits.`);
    this.#chosen.set(stage, selected);
    return next(`This ${stage} fits.`);
  }

  /** The first free seats side by side; other chosen seats are released. */
  #sit(spec: Spec): Call {
    const groups = enabled(spec).map((_, at, seats) => seats.slice(at, at + SEATS));
    const group = groups.find((seats) => seats.length === SEATS && seats.every(
      ({ row, number }, at) => row === seats[0]!.row && number === seats[0]!.number + at));
    const path = CHOICES.map((choice) => this.#chosen.get(choice));
    if (!group) return this.#turnBack(path, `No ${SEATS} seats are free side by side.`);
    const wanted = group.map(({ id }) => id), chosen = spec.state.selectedList ?? [];
    const reason = `We sit side by side: ${wanted.join(" and ")}.`;
    const itemId = [...chosen, ...wanted].find((id) => wanted.includes(id) !== chosen.includes(id));
    return itemId ? select(itemId, reason) : next(reason);
  }

  #turnBack(path: unknown[], reason: string): Call {
    if (!path.length) throw new Error("Nothing here fits, and nothing is booked.");
    this.#deadEnds.add(path.join());
    return { tool: "prev", params: {}, reason };
  }
}

const next = (reason: string): Call => ({ tool: "next", params: {}, reason });
const select = (itemId: string, reason: string): Call => ({ tool: "select", params: { itemId }, reason });

/** The items that can be chosen: visible and not disabled, with all their fields. */
function enabled({ items, visibleItems }: Spec): Item[] {
  return items.filter(({ id }) => visibleItems.some((item) => item.id === id && !item.isDisabled));
}

const text = (value: string) => ({ type: "string", default: value }) as const;
const options = { url: text("ws://127.0.0.1:4747/agent/ws"), room: text("default"), "token-file": text("data/token") };
const { values } = parseArgs({ options });
const authorization = `Bearer ${readFileSync(values["token-file"], "utf8").trim()}`;
const socket = new WebSocket(values.url, { headers: { authorization } });
await once(socket, "open");
const room = new Room(socket), plan = new Plan();
await room.ask("relay.join", { role: "agent", sessionId: values.room });
const study = await room.ask("session.start", { studyId: "example", participantId: "typescript" });
room.say("agent.message", { text: `I look for a ${GENRE.toLowerCase()} after ${EARLIEST}.` });
await room.ask("snapshot.get", {});
while (room.screen.uiSpec) await room.call(plan.nextCall(room.screen.uiSpec));
console.log("booked:", room.screen.messageHistory.at(-1)?.spec?.description);
const { logFile } = await room.ask("session.end", { reason: "the seats are booked" });
console.log(`study ${study.sessionId} is in ${logFile}`);
socket.close();
