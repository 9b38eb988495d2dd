// All cascades at a glance.

import { get } from "./api.js";
import { h, number } from "./dom.js";

export async function overview(main) {
  const { cascades } = await get("/api/cascades");
  document.title = "stopwise";
  if (!cascades.length) {
    main.replaceChildren(
      h("h1", {}, "No cascade yet"),
      h("p", {}, "Describe one in the server's configuration, or create it over HTTP: POST /api/cascades with name, costs and mistake_cost."),
    );
    return;
  }
  const rows = await Promise.all(cascades.map(async (cascade) => {
    const live = await get(`/api/cascades/${encodeURIComponent(cascade.name)}/live`);
    const last = live.fixed_cost_per_1000.at(-1);
    return h("tr", {},
      h("td", {}, h("a", { href: `/cascade/${encodeURIComponent(cascade.name)}` }, cascade.name)),
      h("td", { class: "n" }, number(live.n_cases)),
      h("td", { class: "n" }, number(live.cost_per_1000)),
      h("td", { class: "n" }, number(last)),
      h("td", { class: live.alarms.length ? "error" : "" }, live.alarms.length ? live.alarms.at(-1).text : "none"),
    );
  }));
  main.replaceChildren(
    h("h1", {}, "Cascades"),
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, "Cascade"), h("th", { class: "n" }, "Cases"), h("th", { class: "n" }, "Cost per 1,000"),
        h("th", { class: "n" }, "Always all tests"), h("th", {}, "Latest alarm"))),
      h("tbody", {}, rows))),
  );
}
