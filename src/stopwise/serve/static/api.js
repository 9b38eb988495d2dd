// Requests with the token of this tab, and a stream that reconnects by itself and says so.

const status = document.getElementById("status");

export class Refused extends Error {
  constructor(code, detail, title = "This did not work") { super(detail); this.code = code; this.title = title; }
}

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { authorization: `Bearer ${token}` } : {};
}

export async function send(method, path, body, type = "application/json") {
  const options = { method, headers: headers() };
  if (body !== undefined) {
    options.headers["content-type"] = type;
    options.body = type === "application/json" ? JSON.stringify(body) : body;
  }
  let response;
  try { response = await fetch(path, options); } catch { throw new Refused(0, "the server cannot be reached"); }
  if (response.status === 401) { await login("The server asks for one."); return send(method, path, body, type); }
  const text = await response.text();
  let told = null;
  try { told = text ? JSON.parse(text) : null; } catch { told = { detail: text.slice(0, 300) }; }
  if (!response.ok) throw new Refused(response.status, told?.detail ?? response.statusText, told?.title);
  return told;
}

export const get = (path) => send("GET", path);

function login(why) {
  const dialog = document.getElementById("login");
  document.getElementById("login-why").textContent = sessionStorage.getItem("token") ? "The token is wrong or has expired." : why;
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", document.getElementById("token").value.trim());
      done();
    }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
}

export const forgetToken = () => sessionStorage.removeItem("token");

export function say(text, lost = false) {
  status.textContent = text;
  status.classList.toggle("lost", lost);
}

export async function follow(path, show, signal) {
  let wait = 500;
  while (!signal.aborted) {
    try {
      const response = await fetch(path, { headers: headers(), signal });
      if (response.status === 401) { await login("The server asks for one."); continue; }
      if (!response.ok) { const told = await response.json(); throw new Refused(response.status, told.detail, told.title); }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) if (part.startsWith("data: ")) { show(JSON.parse(part.slice(6))); say("live"); wait = 500; }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.code >= 400 && error.code < 500) throw error;
    }
    if (signal.aborted) return;
    say("reconnecting …", true);
    await new Promise((go) => setTimeout(go, wait));
    wait = Math.min(wait * 2, 5000);
  }
}
