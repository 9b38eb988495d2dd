// Browsers start no worker for a page that was opened from disk. The search then runs in a hidden
// frame that receives and sends the same messages.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.onload = () => {
        const inside = this.frame.contentWindow;
        // As with a worker, a message is a copy and comes later.
        const later = (deliver) => (data) => setTimeout(deliver, 0, structuredClone(data));
        inside.postMessage = later((data) => this.onmessage?.({ data }));
        this.postMessage = later((data) => inside.onmessage({ data }));
        this.waiting.forEach(this.postMessage);
      };
      this.frame.srcdoc = `<script src="${new URL(url, location.href).href}"></script>`;
      document.body.append(this.frame);
    }
    postMessage(data) {
      this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
