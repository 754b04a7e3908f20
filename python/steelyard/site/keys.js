"use strict";
// Goes through the rows of a page by j and k.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const rows = [...document.querySelectorAll("a.first")];
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  if (rows[next]) rows[next].focus();
  event.preventDefault();
});
