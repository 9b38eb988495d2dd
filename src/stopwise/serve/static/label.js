// Label the cases whose labels help most, by keyboard, without seeing what the tests said.

import { get, send } from "./api.js";
import { h, number } from "./dom.js";

export async function label(main, signal, name) {
  const base = `/api/cascades/${encodeURIComponent(name)}`;
  document.title = `Label ${name} · stopwise`;
  let blind = true;
  let cases = [];
  let answers = [];
  let done = 0;

  const text = h("div", { class: "case", "aria-live": "polite" });
  const said = h("p", { class: "quiet" });
  const buttons = h("div", { class: "answers" });
  const count = h("p", { class: "quiet", id: "count" });
  const error = h("p", { class: "error", role: "alert" });
  const toggle = h("label", {}, h("input", { type: "checkbox", onchange: (event) => { blind = !event.target.checked; show(); } }), " Show what the tests said");
  main.replaceChildren(h("h1", {}, `Label cases of ${name}`),
    h("p", {}, "Press the number of the right answer, or ", h("kbd", {}, "s"), " to skip. Labels are used at once."),
    text, said, buttons, error, toggle, count);

  async function more() {
    const found = await get(`${base}/labels?n=50&outputs=true`);
    cases = found.cases;
    answers = [...new Set([...answers, ...cases.flatMap((one) => one.outputs.filter((y) => y != null))])].sort();
    show();
  }

  function show() {
    const one = cases[0];
    count.textContent = `${number(done)} labelled, ${number(cases.length)} waiting.`;
    if (!one) {
      text.textContent = "No case waits for a label. Cases are kept only where the configuration says so ([labels] keep = 500), and only where tests disagree.";
      buttons.replaceChildren();
      said.textContent = "";
      return;
    }
    text.textContent = typeof one.case === "string" ? one.case : JSON.stringify(one.case, null, 2);
    said.textContent = blind ? "" : `The tests said: ${one.outputs.map((y) => y ?? "nothing").join(", ")}`;
    buttons.replaceChildren(...answers.slice(0, 9).map((answer, k) => h("button", { onclick: () => choose(answer) }, h("kbd", {}, k + 1), ` ${answer}`)));
  }

  async function choose(answer) {
    const one = cases.shift();
    if (!one) return;
    error.textContent = "";
    try {
      await send("POST", `${base}/labels`, { key: one.key, label: answer });
      done += 1;
    } catch (problem) {
      cases.unshift(one);
      error.textContent = problem.message;
    }
    if (cases.length) show(); else await more();
  }

  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, dialog") || event.ctrlKey || event.metaKey) return;
    const place = Number(event.key) - 1;
    if (place >= 0 && place < Math.min(answers.length, 9)) choose(answers[place]);
    else if (event.key === "s" && cases.length) { cases.push(cases.shift()); show(); }
  }, { signal });
  await more();
}
