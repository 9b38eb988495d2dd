// All cascades at a glance.

import { get } from "./api.js";
import { clock, h, number } from "./dom.js";

export async function overview(main) {
  const { cascades } = await get("/api/cascades");
  document.title = "stopwise";
  if (!cascades.length) {
    main.replaceChildren(
      h("h1", {}, "No cascade yet"),
      h("p", {}, "Describe one in the server's configuration, or create it over HTTP:"),
      h("pre", { class: "scroll" }, `curl ${location.origin}/api/cascades -d '{"name": "triage", "costs": [0, 1, 12], "mistake_cost": 200}'`),
    );
    return;
  }
  const rows = await Promise.all(cascades.map(async (cascade) => {
    const live = await get(`/api/cascades/${encodeURIComponent(cascade.name)}/live`);
    const last = live.fixed_cost_per_1000.at(-1);
    const alarm = live.alarms.at(-1);
    return h("tr", {},
      h("td", {}, h("a", { href: `/cascade/${encodeURIComponent(cascade.name)}` }, cascade.name)),
      h("td", { class: "n", "data-name": "Cases" }, number(live.n_cases)),
      h("td", { class: "n", "data-name": "Cost per 1,000" }, number(live.cost_per_1000)),
      h("td", { class: "n", "data-name": "Always all tests" }, number(last)),
      h("td", { class: alarm ? "error" : "", "data-name": "Latest alarm" }, alarm ? `${clock(alarm.at)}: ${alarm.text}` : "none"),
    );
  }));
  main.replaceChildren(
    h("h1", {}, "Cascades"),
    h("div", { class: "scroll" }, h("table", { class: "stack" },
      h("thead", {}, h("tr", {}, h("th", {}, "Cascade"), h("th", { class: "n" }, "Cases"), h("th", { class: "n" }, "Cost per 1,000"),
        h("th", { class: "n" }, "Always all tests"), h("th", {}, "Latest alarm"))),
      h("tbody", {}, rows))),
  );
}
