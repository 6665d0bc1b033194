/** The requests of the page to VS Code, in a webview of it; the extension has a table of what it answers. */
{
  const host = /** @type {{ acquireVsCodeApi?: () => { postMessage(message: unknown): void } }} */ (globalThis);
  const editor = host.acquireVsCodeApi?.();
  if (editor) {
    const run = () => editor.postMessage({ type: "share" });
    inspect.register({ key: "Shift+s", label: "Save to share…", group: "Page", run });
  }
}
