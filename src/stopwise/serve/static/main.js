// Which page is shown: the path says it, links stay within the page.

import { forgetToken, say } from "./api.js";
import { h } from "./dom.js";
import { overview } from "./overview.js";
import { cascade } from "./cascade.js";
import { label } from "./label.js";
import { audit } from "./audit.js";

const main = document.getElementById("main");
const pages = [
  [/^\/$/, overview],
  [/^\/audit$/, audit],
  [/^\/cascade\/([^/]+)$/, cascade],
  [/^\/label\/([^/]+)$/, label],
];
let leave = new AbortController();

async function show() {
  leave.abort();
  leave = new AbortController();
  say("");
  const path = location.pathname;
  const found = pages.find(([form]) => form.test(path));
  main.replaceChildren(h("p", { class: "quiet" }, "Loading …"));
  if (!found) { main.replaceChildren(h("h1", {}, "There is no such page")); return; }
  const names = path.match(found[0]).slice(1).map(decodeURIComponent);
  try {
    await found[1](main, leave.signal, ...names);
  } catch (error) {
    main.replaceChildren(h("h1", {}, error.title ?? "This did not work"), h("p", { class: "error" }, error.message),
      error.code === 403 ? h("button", { onclick: () => { forgetToken(); show(); } }, "Use another token") : h("button", { onclick: show }, "Try again"));
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || link.target || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  show();
  main.focus();
});
window.addEventListener("popstate", show);
show();
