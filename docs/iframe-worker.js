// Search when the site is opened as files, where browsers allow no workers: a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.reply = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      frame.srcdoc =
        "<script>postMessage = (data) => frameElement.reply(data)</" + "script>" +
        `<script src="${url}"></` + "script>";
      this.loaded = new Promise((done) => frame.addEventListener("load", done)).then(() => frame);
      document.body.append(frame);
    }

    postMessage(data) {
      this.loaded.then((frame) =>
        frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })),
      );
    }
  };
}
