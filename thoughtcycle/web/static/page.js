// What all pages share: the menu on a phone, panels that stand open where there is room, notes that can be closed,
// the reader's time zone and language, and a line where the server does not answer.

import { lineOf } from "/static/failures.js";

const told = Intl.DateTimeFormat().resolvedOptions().timeZone;
export const zone = !told || told === "Etc/Unknown" ? null : told; // so Chrome calls one that it does not know
const secure = location.protocol === "https:" ? "; Secure" : "";
const age = zone ? 31536000 : 0;
document.cookie = `zone=${encodeURIComponent(zone)}; Path=/; Max-Age=${age}; SameSite=Strict${secure}`;

document.body.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["Accept-Language"] = document.documentElement.lang;
});

// A part that did not come is told of: htmx itself stays silent.
const toast = document.querySelector("#toast");
function tell(text) {
  const note = document.createElement("div");
  note.className = "note bad";
  note.setAttribute("role", "alert");
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.dataset.dismiss = "";
  close.setAttribute("aria-label", toast.dataset.close);
  close.textContent = "×";
  const line = document.createElement("span");
  line.textContent = text;
  note.append(line, close);
  toast.replaceChildren(note);
  inside();
}

// An open dialog lies above all else: what is told meanwhile is told in it.
function inside() {
  const head = document.querySelector("dialog[open] .detail > .tools");
  const note = toast.querySelector(".note");
  if (!head || !note) return;
  head.parentElement.querySelector(".note")?.remove();
  head.after(note);
  note.scrollIntoView({ block: "nearest" });
}
document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target === toast) inside();
});
document.body.addEventListener("htmx:sendError", () => tell(toast.dataset.failed));
document.body.addEventListener("htmx:responseError", (event) => {
  const { status, responseText } = event.detail.xhr;
  tell(lineOf(status, responseText));
});

const menu = document.querySelector("#menu");
menu?.addEventListener("click", () => {
  const open = document.querySelector("#nav").classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});

if (matchMedia("(min-width: 62rem)").matches) {
  for (const panel of document.querySelectorAll("details[data-wide]")) panel.open = true;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-dismiss]")) event.target.closest(".note").remove();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = event.target.closest("details.menu-of[open], details.confirm[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});

// A memory in a dialog: it opens when the server has answered into it.
const dialog = document.querySelector("#detail");
if (dialog) {
  let opener = "";
  const opened = () => {
    if (dialog.childElementCount === 0 || dialog.open) return;
    opener = document.activeElement.id;
    dialog.showModal();
  };
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog) opened();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    // The browser gives the focus back, but not to a row that was drawn anew meanwhile.
    if (opener && document.activeElement === document.body) document.getElementById(opener)?.focus();
  });
  opened();
}

// A memory that was changed is shown anew where it stands in the list.
document.body.addEventListener("memory", (event) => {
  for (const id of event.detail.ids) {
    const row = document.getElementById(`m-${id}`);
    if (row) window.htmx.ajax("GET", `/memories/${encodeURIComponent(id)}/row`, { target: row, swap: "outerHTML" });
  }
});

// Where the list is replaced its old rows are hidden at once and taken out a few at a time:
// ten thousand in one go would hold up the page.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { target } = event.detail;
  if (target.id !== "list") return;
  const old = [...target.children];
  for (const one of old) one.hidden = true;
  event.detail.swapOverride = "afterbegin";
  const drop = () => {
    for (const one of old.splice(0, 4)) one.remove();
    if (old.length) setTimeout(drop, 10);
  };
  setTimeout(drop, 10);
});
