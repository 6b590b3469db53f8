"use strict";
// Runs Python, by Pyodide, and answers requests one by one. It is given all files, and asks no network for any.
(() => {
  // Pyodide takes a worker that has this for one that cannot import modules.
  globalThis.importScripts = undefined;
  let engine = null;

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async function start({ files, game }) {
    const found = {};
    await Promise.all(Object.entries(files).map(async ([name, text]) => { found[name] = await unpacked(text); }));
    const module = (name) => import(URL.createObjectURL(new Blob([found[name]], { type: "text/javascript" })));
    // What Pyodide asks for by address is here already.
    globalThis.fetch = async (address) => {
      const name = String(address).split("/").at(-1);
      if (!(name in found)) throw new TypeError(`there is no ${name}`);
      const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(found[name], { headers: { "Content-Type": type } });
    };
    const { loadPyodide } = await module("pyodide.mjs");
    const { default: createPyodideModule } = await module("pyodide.asm.mjs");
    const python = await loadPyodide({
      createPyodideModule,
      indexURL: "file:///pyodide/",
      lockFileContents: JSON.parse(new TextDecoder().decode(found["lock.json"])),
    });
    for (const [name, extractDir] of [["msgspec.whl", "/packages/wheel"], ["lockstep.zip", "/packages"]]) {
      python.unpackArchive(found[name], "zip", { extractDir });
    }
    python.unpackArchive(await unpacked(game), "zip", { extractDir: "/game" });
    python.runPython("import os, sys; sys.path += [each.path for each in os.scandir('/packages')]");
    engine = python.pyimport("lockstep.jobs.play_folder.browser_engine").open_engine("/game");
    postMessage({ ready: true });
  }

  onmessage = async ({ data }) => {
    try {
      if (data.files) await start(data);
      else postMessage({ number: data.number, answer: engine.ask(data.body) });
    } catch (error) {
      postMessage({ number: data.number, failed: String(error?.message ?? error) });
    }
  };
})();
