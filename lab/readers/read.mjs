// Reads the streams BASE/0 to BASE/(COUNT - 1) at once with one reader, named by its package, and prints
// what it hands over, a line of JSON for each event: [stream, data]. It runs until it is killed.
//
//     node read.mjs eventsource-5 http://127.0.0.1:PORT/eventsource-5 COUNT

const [, , reader, base, count] = process.argv;

const readers = {
  "eventsource-2": bySource,
  "eventsource-4": bySource,
  "eventsource-5": bySource,
  "eventsource-client": ({ createEventSource }, url, take) =>
    createEventSource({ url, onMessage: ({ data }) => take(data) }),
  "@microsoft/fetch-event-source": ({ fetchEventSource }, url, take) => {
    // It was written for pages.
    globalThis.window = globalThis;
    fetchEventSource(url, { openWhenHidden: true, onmessage: ({ data }) => take(data) });
  },
};

function bySource(module, url, take) {
  const Source = module.EventSource ?? module.default;
  new Source(url).onmessage = ({ data }) => take(data);
}

const module = await import(reader);
// `eventsource` 5 does not keep the process alive while it waits to reconnect.
setInterval(() => {}, 60_000);
for (let stream = 0; stream < Number(count); stream += 1) {
  const take = (data) => console.log(JSON.stringify([stream, data]));
  readers[reader](module, `${base}/${stream}`, take);
}
