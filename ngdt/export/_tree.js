
"use strict";
const tree = document.querySelector("[role=tree]");
const items = Array.from(tree.querySelectorAll("[role=treeitem]"));
const isVisible = (item) => !item.parentElement.closest("[aria-expanded=false]");
const parentOf = (item) => item.parentElement.closest("[role=treeitem]");
const state = (item) => item.getAttribute("aria-expanded");

function expand(item, open) {
  if (state(item) !== null) item.setAttribute("aria-expanded", open);
}

// One item at a time can be reached by the tab key: the one that had the focus.
function focus(item) {
  if (!item) return;
  for (const other of items) other.tabIndex = other === item ? 0 : -1;
  item.focus();
}

function neighbour(item, step) {
  const visible = items.filter(isVisible);
  return visible[visible.indexOf(item) + step];
}

const actions = {
  ArrowDown: (item) => focus(neighbour(item, 1)),
  ArrowUp: (item) => focus(neighbour(item, -1)),
  ArrowRight: (item) => {
    if (state(item) === "false") expand(item, true);
    else if (state(item) === "true") focus(neighbour(item, 1));
  },
  ArrowLeft: (item) => {
    if (state(item) === "true") expand(item, false);
    else focus(parentOf(item));
  },
  Enter: (item) => expand(item, state(item) === "false"),
  " ": (item) => expand(item, state(item) === "false"),
  Home: () => focus(items[0]),
  End: () => focus(items.filter(isVisible).at(-1)),
};

tree.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || !actions[event.key]) return;
  actions[event.key](event.target.closest("[role=treeitem]"));
  event.preventDefault();
});

tree.addEventListener("click", (event) => {
  if (!event.target.closest(".node") || String(getSelection())) return;
  const item = event.target.closest("[role=treeitem]");
  expand(item, state(item) === "false");
  focus(item);
});

function expandAll(open) {
  for (const item of items) expand(item, open);
  focus(items[0]);
}
document.getElementById("unfold")?.addEventListener("click", () => expandAll(true));
document.getElementById("fold")?.addEventListener("click", () => expandAll(false));
