// Elements from text, never from markup: what a cascade is called cannot become code.

export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child != null).map((child) => child instanceof Node ? child : String(child)));
  return made;
}

export const number = (x, digits = 0) => x == null ? "–" : x.toLocaleString("en", { maximumFractionDigits: digits });
export const share = (x) => x == null ? "–" : `${number(100 * x, x < 0.001 ? 4 : 1)} %`;
export const clock = (seconds) => new Date(1000 * seconds).toLocaleString();
export const card = (name, value, warn = false) => h("div", { class: warn ? "card warn" : "card" }, h("span", { class: "quiet" }, name), h("b", {}, value));
