// What the pages do by themselves: theme, keyboard, menu, copying. Everything else works without this file.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

// Theme: a click takes the other one, and remembers it.
$("[data-theme-switch]")?.addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).colorScheme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("goqueue-theme", root.dataset.theme); } catch { /* For this page only. */ }
  document.dispatchEvent(new Event("theme"));
});

// The menu of narrow screens.
const menu = $("[data-menu]");
menu?.addEventListener("click", () => {
  const open = $("#nav").classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});

// Keyboard: `/` searches, `g` and a letter go to a page, `?` shows the keys, Escape closes.
let leader = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && $("#nav")?.classList.contains("open")) { menu.click(); menu.focus(); return; }
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (typing) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/") { event.preventDefault(); $("#search")?.focus(); return; }
  if (event.key === "?") { $("#keys")?.showModal(); return; }
  if (event.key === "g") { leader = event.timeStamp; return; }
  if (leader && event.timeStamp - leader < 1200) {
    const target = $(`[data-key="${CSS.escape(event.key)}"]`);
    if (target) { event.preventDefault(); location.assign(target.href); }
  }
  leader = 0;
});
$("[data-keys]")?.addEventListener("click", () => $("#keys").showModal());
$$("[data-close]").forEach((button) => button.addEventListener("click", () => button.closest("dialog").close()));

// Dialogs: a button opens one, a click beside it closes it; one whose form was refused is open from the start.
$$("[data-open]").forEach((button) => button.addEventListener("click", () => {
  button.closest("details")?.removeAttribute("open");
  $(button.dataset.open).showModal();
}));
$$("dialog").forEach((dialog) => dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); }));
$$("[data-open-now]").forEach((dialog) => dialog.showModal());

// A menu closes with Escape, and when something else is pressed.
document.addEventListener("click", (event) => $$("details.menu-of[open]").forEach((one) => { if (!one.contains(event.target)) one.open = false; }));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  $$("details.menu-of[open]").forEach((one) => { one.open = false; $("summary", one).focus(); });
});

// Copying: the text of another element, or of an attribute.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.dataset.copyText ?? $(button.dataset.copy)?.textContent ?? "";
  const label = $("[data-label]", button) ?? button;
  const before = label.textContent;
  try { await navigator.clipboard.writeText(text); label.textContent = "Copied"; } catch { label.textContent = "Not allowed"; }
  setTimeout(() => { label.textContent = before; }, 1500);
});

// A record that was chosen: its line is marked, and on a narrow screen it is scrolled to.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "record") return;
  const chosen = event.detail.requestConfig.elt.closest("tr");
  if (chosen) {
    $$("tr.chosen").forEach((row) => row.classList.remove("chosen"));
    chosen.classList.add("chosen");
  }
  const place = event.detail.target.getBoundingClientRect();
  if (place.top > innerHeight - 160 || place.bottom < 160) event.detail.target.scrollIntoView({ block: "start" });
});

// Forms that change with a choice: elements with data-when="name=value" are shown for that value only.
const follow = (form) => $$("[data-when]", form).forEach((part) => {
  const [name, value] = part.dataset.when.split("=");
  const fits = value.split("|").includes(form.elements[name]?.value ?? "");
  part.hidden = !fits;
  $$("input, select, textarea", part).forEach((field) => { field.disabled = !fits; });
});
document.addEventListener("change", (event) => { if (event.target.form) follow(event.target.form); });
$$("form").forEach(follow);
document.addEventListener("htmx:load", (event) => $$("form", event.detail.elt).forEach(follow));

// A box in the head of a table ticks all below it.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-tick-all]")) return;
  $$("tbody input[type=checkbox]", event.target.closest("table")).forEach((box) => { box.checked = event.target.checked; });
});
