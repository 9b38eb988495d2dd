// One cascade, live.

import { follow, get, send } from "./api.js";
import { card, clock, h, number, share } from "./dom.js";
import { timeChart } from "./charts.js";

export async function cascade(main, signal, name) {
  const base = `/api/cascades/${encodeURIComponent(name)}`;
  document.title = `${name} · stopwise`;
  const parts = Object.fromEntries(["lead", "away", "cards", "traffic", "cost", "pairs", "beliefs", "price", "alarms", "cases"].map((id) => [id, h("div", { id })]));
  const section = (title, ...inside) => h("section", {}, h("h2", {}, title), ...inside);
  main.replaceChildren(
    h("h1", {}, name), parts.lead, parts.away, parts.cards,
    h("div", { class: "columns" },
      section("Cases by the stage they went to", parts.traffic),
      section("Cost per 1,000 cases, mistakes left out", parts.cost),
      section("How often two tests differ, against the price of going on", parts.pairs),
      section("How often each test is wrong, as believed", parts.beliefs),
      section("If a mistake cost more or less", parts.price),
      section("Alarms and changes", parts.alarms),
      section("The last cases", parts.cases)),
  );
  let drawn = 0;
  let shown = "";
  let out = "";
  await follow(`${base}/stream`, (live) => {
    // What can be clicked stays as long as it says the same, and keeps the focus.
    const said = lead(live, name);
    if (parts.lead.textContent !== said.textContent) parts.lead.replaceChildren(said);
    const gone = live.out_of_service.map((k) => live.stages[k].name);
    if (out !== gone.join("\n")) { out = gone.join("\n"); parts.away.replaceChildren(...gone.map((stage) => away(stage, base))); }
    parts.cards.replaceChildren(cards(live));
    parts.pairs.replaceChildren(pairs(live));
    parts.beliefs.replaceChildren(beliefs(live));
    parts.cases.replaceChildren(lastCases(live));
    if (shown !== `${live.version}`) { shown = `${live.version}`; parts.price.replaceChildren(prices(live, base)); }
    if (Date.now() - drawn > 4000) {
      drawn = Date.now();
      Promise.all([get(`${base}/history`), get(`${base}/events`)])
        .then(([past, { events }]) => { charts(parts, live, past, events); parts.alarms.replaceChildren(alarms(events)); })
        .catch(() => {});
    }
  }, signal);
}

function lead(live, name) {
  if (!live.n_cases) return h("p", { class: "lead" }, "No case has come in yet.");
  const most = live.stopped.indexOf(Math.max(...live.stopped));
  const always = live.fixed_cost_per_1000.at(-1);
  const less = always > 0 ? 1 - live.cost_per_1000 / always : 0;
  // Cases whose tests run elsewhere are not known here, so nobody can label them.
  const labels = live.runs_here ? [h("a", { href: `/label/${encodeURIComponent(name)}` }, "Label some cases"), " to learn faster."] : [];
  const last = live.stages[most].name;
  if (live.out_of_service.includes(most)) {
    return h("p", { class: "lead" }, `Most cases of this epoch went to ${last}, which is out of service now. What 1,000 cases cost without it shows when more have come in. `, labels);
  }
  return h("p", { class: "lead" },
    `${most === live.stages.length - 1 && most > 0 ? "Most cases go through all tests" : `Most cases stop after ${last}`}. 1,000 cases cost ${number(live.cost_per_1000)} in fees, `,
    less > 0.005 ? `${share(less)} less than running all tests on each. ` : "as much as running all tests on each. ", labels);
}

// What an owner may change here; the server refuses it without a token that allows it.
function change(base, text, body) {
  const told = h("span", { class: "error", role: "alert" });
  const button = h("button", { onclick: async () => {
    try { await send("PATCH", base, body()); told.textContent = ""; } catch (error) { told.textContent = ` ${error.message}`; }
  } }, text);
  return h("span", {}, button, told);
}

function away(stage, base) {
  return h("p", { class: "alarm" }, `${stage} is out of service: its answers have changed, see the alarm below. It is tried on some cases, and used again once they look as before. `,
    change(base, "Use it again now", () => ({ trust: stage })));
}

function cards(live) {
  const { alive, silent } = live.workers;
  return h("div", { class: "cards" },
    card("Cases in this epoch", number(live.n_cases)),
    card("Cost per 1,000", number(live.cost_per_1000)),
    card("Always all tests", number(live.fixed_cost_per_1000.at(-1))),
    card("A mistake costs", number(live.mistake_cost, 2)),
    live.runs_here ? card("Run to the end, to learn", share(live.shadow)) : null,
    card("Labels", number(live.n_labels)),
    card("Epoch", number(live.epoch)),
    card("Workers", silent ? `${alive}, ${silent} silent` : number(alive), silent > 0),
    card("Last read from the store", `${number(live.stale_seconds, 1)} s ago`, live.stale_seconds > 60),
    live.n_not_counted ? card("Not counted", number(live.n_not_counted), true) : null);
}

function pairs(live) {
  const top = Math.max(0.05, ...live.pairs.map((pair) => Math.max(pair.disagreement ?? 0, Math.min(pair.price, 1))));
  const row = (pair) => {
    const bar = h("span", { class: "bar", role: "img", "aria-label": `differ ${share(pair.disagreement)}, price ${share(pair.price)}` });
    const fill = h("i"), tick = h("u");
    fill.style.width = `${Math.min(100, 100 * (pair.disagreement ?? 0) / top)}%`;
    tick.style.left = `${Math.min(100, 100 * pair.price / top)}%`;
    bar.append(fill, tick);
    return h("tr", {}, h("td", {}, `${live.stages[pair.shallow].name} → ${live.stages[pair.deep].name}`), h("td", { class: "n" }, bar),
      h("td", { class: "n" }, share(pair.disagreement)), h("td", { class: "n" }, share(pair.price)), h("td", { class: "n" }, number(pair.n)));
  };
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "Step"), h("th", {}, ""), h("th", { class: "n" }, "Differ"), h("th", { class: "n" }, "Price"), h("th", { class: "n" }, "Cases"))),
    h("tbody", {}, live.pairs.map(row))),
    h("p", { class: "quiet" }, "Left of the tick, going on cannot pay. The price is what the further tests cost, in mistakes."));
}

function beliefs(live) {
  const certificate = live.certificate ? h("pre", { class: "scroll" }, live.certificate) : null;
  if (!live.error_rates) return certificate ?? h("p", { class: "quiet" }, "Not enough cases for a belief yet.");
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "Test"), h("th", { class: "n" }, "Wrong"), h("th", { class: "n" }, "Between"))),
    h("tbody", {}, live.error_rates.map((rate, k) => h("tr", {}, h("td", {}, live.stages[k].name), h("td", { class: "n" }, share(rate)),
      h("td", { class: "n" }, live.error_intervals[k] ? live.error_intervals[k].map(share).join(" and ") : "not known yet"))))));
}

function prices(live, base) {
  const out = h("p", { "aria-live": "polite" }, `A mistake costs ${number(live.mistake_cost, 2)}. Move the slider to see what would change.`);
  const price = () => Number((live.mistake_cost * 10 ** Number(slider.value)).toPrecision(3));
  const set = change(base, "Set this price", () => ({ mistake_cost: price() }));
  set.hidden = true;
  const slider = h("input", { type: "range", min: -2, max: 2, step: 0.05, value: 0, "aria-label": "What a mistake costs" });
  slider.addEventListener("input", async () => {
    const cost = price();
    set.hidden = cost === live.mistake_cost;
    try {
      const found = await get(`${base}/what-if?mistake_cost=${cost}`);
      out.textContent = `If a mistake cost ${number(cost, 2)}: stop after ${live.stages[found.stage].name}. ` +
        (found.costs_per_1000 ? `Fees and mistakes of 1,000 cases: ${found.costs_per_1000.flatMap((c, k) => c == null ? [] : `${live.stages[k].name} ${number(c)}`).join(", ")}.`
          : "That is what disagreement alone shows: how often each test is wrong is not known yet.");
    } catch (error) { out.textContent = error.message; }
  });
  return h("div", {}, slider, out, set);
}

function alarms(events) {
  const shown = events.slice(-12).reverse();
  const texts = new Set(events.map((event) => event.text));
  const more = (event) => texts.has(event.reason) ? "" : event.reason || event.stage || "";
  if (!shown.length) return h("p", { class: "quiet" }, "Nothing has happened.");
  return h("div", {}, shown.map((event) => h("div", { class: event.kind === "alarm" ? "alarm" : "alarm event" },
    h("span", { class: "quiet" }, `${clock(event.at)} `), event.text ?? [event.what, more(event)].filter(Boolean).join(": "))));
}

function lastCases(live) {
  if (!live.last_cases.length) return h("p", { class: "quiet" }, "None yet.");
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "When"), live.stages.map((stage) => h("th", {}, stage.name)))),
    h("tbody", {}, live.last_cases.slice(0, 10).map((one) => h("tr", {}, h("td", {}, new Date(1000 * one.at).toLocaleTimeString()),
      live.stages.map((_, k) => h("td", {}, k < one.outputs.length ? one.outputs[k] ?? "nothing" : "·")))))));
}

function charts(parts, live, past, events) {
  const names = live.stages.map((stage) => stage.name);
  // A test has one colour in all charts.
  const legend = (titles) => h("ul", { class: "legend" }, titles.map((title, k) => h("li", { class: k < names.length ? `c${k % 6}` : "ink" }, title)));
  const marks = events.filter((event) => event.kind !== "event");
  const wait = `A curve needs two spans of ${number(live.bucket_seconds / 60, 1)} min with cases.`;
  const draw = (place, titles, rows) => {
    const chart = h("div", { class: "chart", role: "img", "aria-label": `${titles.join(", ")} over time` });
    place.replaceChildren(legend(titles), chart);
    timeChart(chart, titles, rows, { colours: titles.map((_, k) => k < names.length ? `--s${k % 6}` : "--ink"), marks, wait });
  };
  draw(parts.traffic, names, [past.at, ...past.stopped]);
  const fixed = live.fixed_cost_per_1000.map((cost) => past.at.map(() => cost));
  draw(parts.cost, [...names.map((name) => `always ${name}`), "as decided"], [past.at, ...fixed, past.cost_per_1000]);
}
