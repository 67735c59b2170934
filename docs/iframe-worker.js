/* The search of pages opened from a folder: browsers start no worker for file://, so it runs in a hidden frame.
   The name is the one by which the theme's plugin `offline` knows that nothing need be fetched for this. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inner = this.frame.contentWindow
      inner.document.open()
      inner.document.write("<body></body>")
      inner.document.close()
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inner.document.createElement("script")
      script.src = url
      this.ready = new Promise(done => { script.onload = done })
      inner.document.body.append(script)
    }

    postMessage(data) {
      const inner = this.frame.contentWindow
      this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })))
    }

    terminate() { this.frame.remove() }
  }
}
