"use strict";
// The part of a page without a server: Python, in a worker, answers its requests. Nothing is fetched: a page that is
// opened from a disk may not. So each file of Python is a script that calls `lockstepFile` with its bytes.
(() => {
  const { nonce, folder, files, game, first } = JSON.parse(document.getElementById("engine").textContent);
  const shown = document.getElementById("engine-state");
  const arrived = {}, waiting = new Map();
  const done = [];       // the requests that led to a state, in their order: Python is where the page is once it has them
  let known = unpacked(first).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  let worker = null, count = 0;
  let begun, begin, fail;

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  // ---- Starting -------------------------------------------------------------------------------------

  window.lockstepFile = (name, text) => {
    arrived[name] = text;
    if (files.every((each) => each in arrived)) start().catch(failed);
  };

  function expectStart() {
    begun = new Promise((resolve, reject) => { [begin, fail] = [resolve, reject]; });
    begun.catch(() => {});  // each request that waits for it reports it
  }

  async function start() {
    const source = await unpacked(arrived["worker.js"]);
    worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    worker.onerror = (event) => failed(event.message || "the worker cannot be run");
    worker.onmessage = ({ data }) => {
      if (data.ready) ready();
      else if (!data.failed) answered(data.number, JSON.parse(data.answer));
      else if (waiting.has(data.number)) restart(data.number, data.failed);
      else failed(data.failed);
    };
    worker.postMessage({ files: arrived, game });
  }

  async function ready() {
    const last = known;
    known = null;
    await last;
    for (const request of done) post(request, 0);
    for (const [number, { request }] of waiting) post(request, number);
    shown.hidden = true;
    begin();
  }

  // A request has ended Python, as too deep a recursion does.
  function restart(number, error) {
    worker.terminate();
    answered(number, { ok: false, tree: { error: `Python ended in this page: ${error}`, lines: [] } });
    shown.textContent = "Python is starting in this page once more.";
    shown.hidden = false;
    expectStart();
    start().catch(failed);
  }

  function failed(error) {
    const text = `Python does not run in this page: ${error}`;
    shown.textContent = text;
    shown.hidden = false;
    fail(text);
    for (const number of waiting.keys()) answered(number, { ok: false, tree: { error: text, lines: [] } });
  }

  // ---- Answering ------------------------------------------------------------------------------------

  const post = (request, number) => worker.postMessage({ number, body: JSON.stringify(request) });

  function sent(request) {
    count += 1;
    const number = count;
    post(request, number);
    return new Promise((resolve) => { waiting.set(number, { request, resolve }); });
  }

  function answered(number, answer) {
    if (!waiting.has(number)) return;
    const { request, resolve } = waiting.get(number);
    waiting.delete(number);
    if (answer.ok && answer.tree.play) done.push(request);
    resolve(answer);
  }

  // The answer that is written on the page, if there is one, and only such requests came before.
  function knownAnswer(request) {
    const key = request.type === "take" ? `${request.at} ${request.offer}` : "";
    const found = known.then((table) => table?.[key]);
    known = found.then((answer) => {
      if (answer) done.push(request);
      return answer?.then;
    });
    return found;
  }

  async function ask(request) {
    const answer = known && await knownAnswer(request);
    if (answer) return { ok: true, tree: answer.tree };
    try {
      await begun;
    } catch (error) {
      return { ok: false, tree: { error, lines: [] } };
    }
    return sent(request);
  }

  expectStart();
  window.lockstepEngine = { ask };
  for (const name of files) {
    const script = document.createElement("script");
    script.src = `${folder}/${name}.js`;
    script.nonce = nonce;
    script.onerror = () => failed(`${folder}/${name}.js is missing`);
    document.head.append(script);
  }
})();
