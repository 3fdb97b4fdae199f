// Talking: sends a message, shows the reply as it comes, stops it, asks for another, edits what was said.

import { events } from "/static/events.js";
import { reasonOf } from "/static/failures.js";
import { zone } from "/static/page.js";

const log = document.querySelector("#log");
const composer = document.querySelector("#composer");
const box = document.querySelector("#message");
const incognito = document.querySelector("#incognito");
const [send, stop, again] = ["#send", "#stop", "#again"].map((id) => document.querySelector(id));
const chat = composer.dataset.chat;
const place = `/api/chats/${encodeURIComponent(chat)}`;
let running = false;
let stopped = false;
let unsent = null;

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function manner() {
  const own = "zone" in composer.dataset; // the user has set one
  return { incognito: Boolean(incognito?.checked), time_zone: own ? null : zone };
}

const last = () => log.querySelector("article:last-of-type");

// Where there is room the messages scroll by themselves, on a phone the whole page does.
function atEnd() {
  const bottom = last()?.getBoundingClientRect().bottom ?? 0;
  return bottom < composer.getBoundingClientRect().top + 120;
}

// On a phone the composer lies over the page, as high as its buttons and what is being written make it.
function toEnd() {
  document.documentElement.style.setProperty("--composer", `${composer.offsetHeight}px`);
  last()?.scrollIntoView({ block: "end" });
}

new ResizeObserver(() => atEnd() && toEnd()).observe(composer);

function grow(area) {
  area.rows = Math.min(8, Math.max(1, area.value.split("\n").length));
}

const newest = () => [...log.querySelectorAll(".exchange")].at(-1);

function added(text, id) {
  const exchange = document.querySelector("#exchange").content.firstElementChild.cloneNode(true);
  exchange.dataset.message = id;
  exchange.querySelector(".said .text").textContent = text;
  document.querySelector("#welcome")?.remove();
  log.append(exchange);
  toEnd();
  return exchange;
}

function emptied(exchange) {
  for (const part of exchange.querySelectorAll(".reply, .recalled li, .cut, .failure, .turn")) part.remove();
}

function paragraph(exchange, id) {
  const known = [...exchange.querySelectorAll(".reply")].find((one) => one.dataset.id === id);
  if (known) return known;
  const made = note("reply", "");
  made.dataset.id = id;
  exchange.querySelector(".replies").append(made);
  return made;
}

function status(exchange, text) {
  exchange.querySelector(".status").textContent = text;
}

function note(kind, text) {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = text;
  return line;
}

function failed(exchange, text) {
  const line = note("failure", text);
  line.setAttribute("role", "alert");
  exchange.querySelector(".replies").append(line);
}

function shown(exchange, message) {
  if (message.modal === "text-for-replace") return status(exchange, message.content);
  status(exchange, "");
  if (message.modal === "memory") {
    const item = document.createElement("li");
    const { content } = message;
    item.textContent = typeof content === "string" ? content : (content?.name ?? JSON.stringify(content));
    exchange.querySelector(".recalled").append(item);
  } else if (message.role !== "system") {
    const reply = paragraph(exchange, message.id);
    if (message.delta) reply.append(message.content);
    else reply.textContent = message.content;
  }
}

function busy(now) {
  running = now;
  stop.hidden = !now;
  send.hidden = now;
  again.hidden = now || !log.querySelector(".exchange");
  log.setAttribute("aria-busy", String(now));
}

// Asks, and shows what comes into `exchange`; `begin` is called once the first of it is there.
// Tells whether the message arrived.
async function turn(exchange, path, body, begin = () => {}) {
  busy(true);
  stopped = false;
  let begun = false;
  let kept = false;
  try {
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      "accept-language": document.documentElement.lang,
    };
    const answer = await fetch(place + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.status === 401) location.assign("/login");
    if (!answer.ok) throw new Error(await reasonOf(answer));
    for await (const { name, data } of events(answer)) {
      const follow = atEnd();
      if (name === "failure") {
        failed(exchange, data.message);
        kept = data.code === "turn_kept"; // it waits for the database
      } else if (name === "message") {
        if (!begun) begun = begins(begin);
        shown(exchange, data);
      }
      if (follow) toEnd();
    }
  } catch (problem) {
    failed(exchange, problem instanceof TypeError ? await reasonOf(null) : problem.message);
  }
  const follow = atEnd();
  status(exchange, "");
  if (stopped) exchange.append(note("soft cut", composer.dataset.stopped));
  document.querySelector("#announce").textContent = exchange.querySelector(".replies").textContent.trim();
  busy(false);
  if (follow) toEnd();
  if (begun) after();
  return begun || kept;
}

// From now on the chat has an address: who leaves or loads it anew comes back to it.
function begins(begin) {
  begin();
  if (!manner().incognito) history.replaceState(null, "", `/chats/${encodeURIComponent(chat)}`);
  return true;
}

function after() {
  if (incognito) incognito.disabled = true;
  const kept = !manner().incognito;
  const ask = (...asked) => window.htmx.ajax(...asked).catch(() => {}); // page.js tells of what does not come
  ask("GET", `/chats/${encodeURIComponent(chat)}/turn?incognito=${!kept}`, { target: "#turn" });
  if (!kept) return;
  ask("GET", `/chats?current=${encodeURIComponent(chat)}`, { target: "#chats" });
}

// Says `message` in `exchange`.
async function say(exchange, message, id, begin) {
  if (await turn(exchange, "/messages", { ...manner(), message, id }, begin)) return;
  exchange.querySelector(".edit")?.remove();
  unsent = { message, id, exchange };
  if (box.value) return;
  box.value = message;
  grow(box);
}

// What did not reach the server comes back into the box. Sent again it has the same id: if it did arrive
// after all, it is not kept twice.
composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const message = box.value.trim();
  if (running || !message) return;
  const id = unsent?.message === message ? unsent.id : newId();
  unsent?.exchange.remove();
  unsent = null;
  box.value = "";
  grow(box);
  await say(added(message, id), message, id);
});

box.addEventListener("input", () => grow(box));
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  composer.requestSubmit();
});

// Files become memories at once; the next message may speak of them.
const file = document.querySelector("#file");
file.addEventListener("change", async () => {
  for (const one of file.files) {
    const exchange = added(one.name, "");
    exchange.className = "attached";
    exchange.querySelector(".edit").remove();
    const body = new FormData();
    body.append("file", one);
    const headers = { "accept-language": document.documentElement.lang };
    const answer = await fetch("/api/memories/files", { method: "POST", headers, body }).catch(() => null);
    if (answer?.ok) exchange.append(note("soft", file.dataset.kept));
    else failed(exchange, await reasonOf(answer));
    toEnd();
  }
  file.value = "";
  box.focus();
});

incognito?.addEventListener("change", () => {
  file.disabled = incognito.checked; // a file is kept, and here nothing shall be
});

stop.addEventListener("click", async () => {
  stop.disabled = stopped = true;
  await fetch(`${place}/stop`, { method: "POST" });
  stop.disabled = false;
  box.focus();
});

again.addEventListener("click", () => {
  const exchange = newest();
  if (!running && exchange) turn(exchange, "/regenerate", manner(), () => emptied(exchange));
});

function edited(exchange, text, id) {
  while (exchange.nextElementSibling) exchange.nextElementSibling.remove();
  exchange.querySelector(".said .text").textContent = text;
  exchange.dataset.message = id;
  emptied(exchange);
}

function editing(exchange) {
  const said = exchange.querySelector(".said");
  const form = document.querySelector("#editing").content.firstElementChild.cloneNode(true);
  const area = form.querySelector("textarea");
  const text = said.querySelector(".text");
  area.value = text.textContent;
  if (exchange === newest()) form.querySelector(".later").remove();
  const close = () => {
    form.remove();
    said.hidden = false;
    said.querySelector(".edit").focus();
  };
  form.querySelector(".cancel").addEventListener("click", close);
  form.addEventListener("keydown", (event) => event.key === "Escape" && close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const message = area.value.trim();
    if (running || !message) return;
    close();
    const [id, replaces] = [newId(), exchange.dataset.message];
    turn(exchange, "/edit", { ...manner(), message, id, replaces }, () => edited(exchange, message, id));
  });
  said.hidden = true;
  said.after(form);
  area.focus();
}

log.addEventListener("click", (event) => {
  const button = event.target.closest(".edit");
  if (button && !running) editing(button.closest(".exchange"));
});

// What was said here while an earlier reply was under way comes from the server with that one, too.
document.body.addEventListener("htmx:afterSwap", () => {
  const seen = new Set();
  for (const one of log.querySelectorAll(".exchange")) {
    if (seen.has(one.dataset.message)) one.remove();
    seen.add(one.dataset.message);
  }
  again.hidden = running || seen.size === 0;
});

// What was said before the page was loaded and is still being answered: sent again with the same id it is said
// once, and all is heard that comes back.
async function resume(said) {
  const find = (id) => [...log.querySelectorAll(".exchange")].find((one) => one.dataset.message === id);
  const exchanges = said.map(({ id, shown, replaces }) => {
    const former = replaces && find(replaces);
    if (former) edited(former, shown, id);
    const exchange = former ?? find(id) ?? added(shown, id);
    status(exchange, composer.dataset.coming);
    return exchange;
  });
  for (const [place, { id, text, replaces }] of said.entries()) {
    const exchange = exchanges[place];
    const begin = () => emptied(exchange);
    if (replaces) await turn(exchange, "/edit", { ...manner(), message: text, id, replaces }, begin);
    else await say(exchange, text, id, begin);
  }
}

toEnd();
resume(JSON.parse(composer.dataset.following));
