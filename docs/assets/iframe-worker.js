// Search in pages that were opened from a folder: there browsers start no workers, so a hidden frame does the work.
// It is there for the worker of the search alone: strings of this site go in, and what it posts comes out.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.onmessage = null;
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    window.addEventListener("message", (event) => {
      if (event.source !== this.frame.contentWindow) return;
      const answer = new MessageEvent("message", { data: event.data });
      this.dispatchEvent(answer);
      this.onmessage?.(answer);
    });
    const inside = this.frame.contentDocument;
    const bridge = inside.createElement("script");
    bridge.textContent = 'self.postMessage = (data) => parent.postMessage(data, "*");';
    const script = inside.createElement("script");
    this.ready = new Promise((resolve) => (script.onload = resolve));
    script.src = url;
    inside.head.append(bridge, script);
  }

  postMessage(data) {
    this.ready.then(() => {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    });
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
