"use strict";
// Filters the wall by what stands in the address, and goes through its rows by keys.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const rows = [...document.querySelectorAll("article.row")];
  const texts = rows.map((row) => row.innerText.toLowerCase());
  const count = document.getElementById("count");
  const whole = count.textContent;
  const names = ["q", "verdict", "machine", "doubts"];

  const asked = () => new URLSearchParams(location.hash.slice(1));

  function show() {
    const wanted = asked();
    const words = (wanted.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      const fits =
        words.every((word) => texts[place].includes(word)) &&
        (!wanted.get("verdict") || wanted.get("verdict") === row.dataset.verdict) &&
        (!wanted.get("machine") || wanted.get("machine") === row.dataset.machine) &&
        (wanted.get("doubts") !== "none" || row.dataset.doubts === "0");
      row.hidden = !fits;
      shown += fits;
    });
    document.getElementById("none").hidden = shown > 0;
    count.textContent = shown === rows.length ? whole : `${shown} of ${whole}`;
    for (const name of names) {
      const field = form.elements[name];
      if (field.type === "checkbox") field.checked = wanted.get(name) === field.value;
      else if (document.activeElement !== field) field.value = wanted.get(name) || "";
    }
  }

  function keep() {
    const told = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) told.set(name, value);
    history.replaceState(null, "", `#${told}`);
    show();
  }

  function step(by) {
    const links = rows.filter((row) => !row.hidden).map((row) => row.querySelector("a.first"));
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
    if (links[next]) links[next].focus();
  }

  form.addEventListener("input", keep);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (document.activeElement) document.activeElement.blur();
      history.replaceState(null, "", "#");
      show();
      return;
    }
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "/") form.elements.q.focus();
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else return;
    event.preventDefault();
  });
  form.hidden = false;
  show();
})();
