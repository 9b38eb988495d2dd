// Drop a file of outputs and get its audit.

import { send } from "./api.js";
import { h } from "./dom.js";

export async function audit(main) {
  document.title = "Audit a file · stopwise";
  let file = null;
  const name = h("p", { class: "quiet" }, "No file yet.");
  const error = h("p", { class: "error", role: "alert" });
  const result = h("section", { id: "result", "aria-live": "polite" });
  const choose = (given) => { file = given; name.textContent = given ? `${given.name}, ${Math.ceil(given.size / 1024)} kB` : "No file yet."; };
  const input = h("input", { type: "file", accept: ".csv,text/csv", "aria-label": "A CSV file", onchange: () => choose(input.files[0] ?? null) });
  const drop = h("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); choose(event.dataTransfer.files[0] ?? null); },
  }, h("p", {}, "Drop a CSV file here: one row per case, one column per test, cheapest first."), input, name);
  const costs = h("input", { required: true, placeholder: "6,16,24", inputmode: "text" });
  const mistake = h("input", { required: true, placeholder: "1000", inputmode: "decimal" });
  const tests = h("input", { placeholder: "all columns" });
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    error.textContent = "";
    result.replaceChildren("Working …");
    try {
      if (!file) throw new Error("Choose a file first.");
      const query = new URLSearchParams({ costs: costs.value, mistake_cost: mistake.value, tests: tests.value, name: file.name });
      const found = await send("POST", `/api/audit?${query}`, await file.arrayBuffer(), "text/csv");
      const { certainty, title, reasons, warnings } = found.advice;
      result.replaceChildren(h("h2", {}, title), h("p", { class: "quiet" }, certainty), ...reasons.map((text) => h("p", {}, text)),
        ...warnings.map((text) => h("p", { class: "alarm" }, text)), h("a", { href: found.page, target: "_blank", rel: "noopener" }, "Open the report"));
    } catch (problem) { result.replaceChildren(); error.textContent = problem.message; }
  } },
  h("label", {}, "What each test costs ", costs), h("label", {}, "What a wrong answer costs ", mistake), h("label", {}, "Columns of the tests ", tests),
  h("button", { class: "main" }, "Audit"));
  main.replaceChildren(h("h1", {}, "Audit a file"), drop, form, error, result);
}
