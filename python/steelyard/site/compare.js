"use strict";
// Compares two records by the facts in the page; which two stands in the address.
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const records = new Map(facts.records.map((one) => [one.path, one]));
  const form = document.getElementById("chosen");
  const result = document.getElementById("result");

  function element(tag, words, name) {
    const made = document.createElement(tag);
    if (words !== undefined) made.textContent = words;
    if (name) made.className = name;
    return made;
  }

  function listed(sentences) {
    const list = element("ul");
    for (const one of sentences) list.append(element("li", `${one}.`));
    return list;
  }

  // Rows of a name and a value of each record; on a phone one below the other.
  function table(caption, heads, rows) {
    const made = element("table", undefined, "cards compared");
    made.append(element("caption", caption), element("thead"), element("tbody"));
    const head = element("tr");
    for (const words of heads) head.append(element("th", words));
    for (const cell of head.children) cell.scope = "col";
    made.tHead.append(head);
    for (const [name, ...values] of rows) {
      const row = element("tr");
      row.append(element("th", name));
      row.firstChild.scope = "row";
      values.forEach((one, place) => {
        const cell = element("td", one || "–", "words");
        cell.dataset.head = heads[place + 1];
        row.append(cell);
      });
      made.tBodies[0].append(row);
    }
    return made;
  }

  function drawn(name, attributes, words) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (words !== undefined) made.textContent = words;
    return made;
  }

  // Both intervals on one scale around zero, the larger margin shaded, and their ratio if any.
  function picture(rows, margin, better) {
    const width = Math.max(280, Math.min(920, result.clientWidth || 920));
    const known = rows.flatMap((row) => row.ends).filter((end) => end !== null);
    const farthest = Math.max(...known.map((end) => 1.12 * Math.abs(end)));
    const reach = Math.min(400, Math.max(1.6 * margin, farthest));
    const x = (value) => {
      const place = Math.min(Math.max(value, -reach), reach);
      return width / 2 + (place / reach) * (width / 2 - 14);
    };
    const bottom = 26 + 52 * rows.length;
    const label = rows.map((row) => `${row.name}: ${row.reading}`).join("; ");
    const made = drawn("svg", { viewBox: `0 0 ${width} ${bottom + 26}`, role: "img" });
    made.setAttribute("aria-label", `Both intervals: ${label}`);
    const line = (x1, y1, x2, y2, name) =>
      made.append(drawn("line", { x1, y1, x2, y2, class: name }));
    const text = (at, y, words, anchor, name) =>
      made.append(drawn("text", { x: at, y, "text-anchor": anchor, class: name }, words));
    const band = { x: x(-margin), y: 20, width: x(margin) - x(-margin), height: bottom - 20 };
    made.append(drawn("rect", { ...band, class: "margin" }));
    text(4, 12, better ? "◂ slower" : "◂ faster", "start", "side");
    text(width - 4, 12, better ? "faster ▸" : "slower ▸", "end", "side");
    rows.forEach((row, place) => {
      const y = 62 + 52 * place;
      text(4, y - 22, `${row.name}: ${row.reading}`, "start", "strong halo");
      const [low, middle, high] = row.ends;
      if (middle === null) return;
      if (low !== null || high !== null) {
        const ends = [low === null ? -reach : low, high === null ? reach : high];
        line(x(ends[0]), y, x(ends[1]), y, `interval thin ${row.tone}`);
        for (const end of [low, high])
          if (end !== null) line(x(end), y - 7, x(end), y + 7, `cap ${row.tone}`);
      }
      made.append(drawn("circle", { cx: x(middle), cy: y, r: 6, class: `estimate ${row.tone}` }));
    });
    line(14, bottom, width - 14, bottom, "beam");
    line(x(0), 20, x(0), bottom + 6, "zero");
    text(x(0), bottom + 20, `0 · margin ±${Number(margin.toPrecision(3))} %`, "middle", "");
    text(14, bottom + 20, `−${Number(reach.toPrecision(2))} %`, "start", "quiet");
    text(width - 14, bottom + 20, `+${Number(reach.toPrecision(2))} %`, "end", "quiet");
    return made;
  }

  function drawing(one, other) {
    const rows = [one, other].map((each, place) => ({
      name: place ? "second" : "first",
      reading: each.reading,
      ends: each.ends,
      tone: place ? "arm1" : "arm0",
    }));
    const made = element("figure");
    made.append(element("figcaption", "Both intervals on one scale; shaded: the margin"));
    made.append(picture(rows, Math.max(one.margin, other.margin), one.better));
    return made;
  }

  // A row a script of either mix, the one that may have lost most first.
  function scripts(one, other) {
    const made = element("section");
    const names = new Map();
    for (const [place, each] of [one, other].entries())
      for (const row of each.scripts) {
        const known = names.get(row.script) || { worst: -Infinity, readings: ["", ""] };
        known.worst = Math.max(known.worst, row.high === null ? Infinity : row.high);
        known.readings[place] = row.reading;
        names.set(row.script, known);
      }
    if (!names.size) return made;
    const rows = [...names].sort((a, b) => b[1].worst - a[1].worst);
    made.append(element("h2", "By script"));
    const told = rows.map(([name, known]) => [name, ...known.readings]);
    const caption = "Change of the mean time of each script, with intervals";
    made.append(table(caption, ["script", "first", "second"], told));
    return made;
  }

  // Quantile of t; between whole degrees of freedom linear in their inverse.
  function quantile(freedom) {
    const table = facts.quantiles;
    const most = table.length - 1;
    if (freedom >= most) return table[most] + (table[most - 1] - table[most]) * (most / freedom);
    const low = Math.floor(freedom);
    if (freedom === low) return table[low - 1];
    const share = (1 / low - 1 / freedom) / (1 / low - 1 / (low + 1));
    return table[low - 1] + share * (table[low] - table[low - 1]);
  }

  function percent(log) {
    const value = Math.expm1(log) * 100;
    const digits = Math.abs(value).toFixed(2);
    const sign = Number(digits) === 0 ? "" : value < 0 ? "−" : "+";
    return sign + digits;
  }

  function welch(one, other) {
    const parts = [one.variance / one.count, other.variance / other.count];
    const total = parts[0] + parts[1];
    const difference = one.mean - other.mean;
    if (total === 0) return [difference, difference, difference];
    const freedom =
      1 /
      ((parts[0] / total) ** 2 / (one.count - 1) + (parts[1] / total) ** 2 / (other.count - 1));
    const half = quantile(freedom) * Math.sqrt(total);
    return [difference, difference - half, difference + half];
  }

  function refusals(first, second, one, other) {
    const found = [...one.unfit, ...other.unfit];
    if (first.path === second.path) found.push("both stand in one record, whose epochs they share");
    else if (first.weighing === second.weighing)
      found.push("one record is a copy of the other: they are one weighing");
    for (const what of Object.keys({ ...one.shared, ...other.shared })) {
      const ours = one.shared[what] ?? facts.default;
      const theirs = other.shared[what] ?? facts.default;
      if (!ours || !theirs) found.push(`${what}: not known of the ${ours ? "second" : "first"}`);
      else if (ours !== theirs)
        found.push(`${what}: ${ours} in the first, ${theirs} in the second`);
    }
    return found;
  }

  function ruling(record, one) {
    const made = element("div", undefined, `ruling ${one.verdict}`);
    made.append(element("p", `${one.mark} ${one.verdict}`, "badge"));
    made.append(element("p", one.sentence, "sentence"));
    const scope = element("p", record.label, "scope");
    if (record.report) {
      const link = element("a", "report");
      link.href = record.report;
      scope.append(" · ", link);
    }
    made.append(scope);
    if (one.doubts.length) made.append(element("p", `Doubts: ${one.doubts.join(", ")}`, "doubts"));
    return made;
  }

  function ratio(first, second, one, other) {
    const made = element("section");
    made.append(element("h2", "The ratio of the two"));
    if (one.question !== other.question) made.append(element("p", "They answer two questions."));
    const refused = refusals(first, second, one, other);
    if (refused.length) {
      const why = "There is none, since nothing says that both ratios have one denominator:";
      made.append(element("p", why));
      made.append(listed(refused));
      return made;
    }
    const [middle, low, high] = welch(one, other).map((log) => percent(log));
    const said = element(
      "p",
      `${one.name} against ${other.name}, through the control that both have: ` +
        `${middle} % [${low}, ${high}] (${100 * facts.confidence} % interval).`,
      "sentence ratio"
    );
    const cautions = [...facts.always];
    const early = [one, other].filter((each) => each.early).map((each) => each.name);
    if (early.length)
      cautions.push(`${early.join(" and ")} ended early at a look, which reads a little too much`);
    if (first.kernel !== second.kernel)
      cautions.push(`the kernel differs: ${[first.kernel, second.kernel].sort().join(" and ")}`);
    made.append(said, listed(cautions));
    return made;
  }

  function differences(first, second) {
    const made = element("section");
    made.append(element("h2", "What differed"));
    const names = Object.keys({ ...first.facts, ...second.facts });
    const value = (record, name) => record.facts[name] || "";
    const differ = names.filter((name) => value(first, name) !== value(second, name));
    if (differ.length) {
      const rows = differ.map((name) => [name, value(first, name), value(second, name)]);
      made.append(table("Facts that are not the same", ["fact", "first", "second"], rows));
    }
    const same = names.length - differ.length;
    const settings = "Settings as the servers reported them: steelyard history compare.";
    made.append(element("p", `${same} facts are the same in both. ${settings}`, "quiet"));
    return made;
  }

  function pairs(first, second) {
    const every = first.contrasts.flatMap((one) => second.contrasts.map((other) => [one, other]));
    const alike = every.filter(([one, other]) => one.question === other.question);
    return alike.length ? alike : every;
  }

  const absent = facts.left_out ? "Not among the records listed here" : "No such record";

  function show() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const first = records.get(asked.get("a"));
    const second = records.get(asked.get("b"));
    form.elements.a.value = first ? first.path : "";
    form.elements.b.value = second ? second.path : "";
    result.replaceChildren();
    for (const name of ["a", "b"]) {
      if (asked.get(name) && !records.has(asked.get(name)))
        result.append(element("p", `${absent}: ${asked.get(name)}`, "warn"));
    }
    if (!first || !second) return;
    for (const [one, other] of pairs(first, second)) {
      const both = element("div", undefined, "pair");
      both.append(ruling(first, one), ruling(second, other));
      result.append(both);
      if (one.better === other.better) result.append(drawing(one, other));
      result.append(ratio(first, second, one, other), scripts(one, other));
    }
    if (!first.contrasts.length || !second.contrasts.length)
      result.append(element("p", "One of them has no verdict: only what was asked is compared."));
    result.append(differences(first, second));
  }

  function keep() {
    const told = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) told.set(name, value);
    location.hash = told;
  }

  for (const name of ["a", "b"]) {
    form.elements[name].append(new Option("choose a record", ""));
    for (const one of facts.records) form.elements[name].append(new Option(one.label, one.path));
  }
  form.addEventListener("change", keep);
  document.getElementById("swap").addEventListener("click", () => {
    const { a, b } = form.elements;
    [a.value, b.value] = [b.value, a.value];
    keep();
  });
  window.addEventListener("hashchange", show);
  form.hidden = false;
  show();
})();
