// What all pages share: the menu on a phone, panels that stand open where there is room, notes that can be closed.

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
