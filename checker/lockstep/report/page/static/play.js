"use strict";
// The part of the page that asks the server: the steps that the spec allows, and why it does not allow the others.
(() => {
  const { whole, load, make, keys, listeners, hooks, place, show, nodes, messages, messageText, actionName, measure } = window.lockstepPage;
  const menu = window.lockstepMenu;
  const at = (id) => document.getElementById(id);
  let play = whole.play;  // what can be done in the state that is shown
  let path = play.path;   // the states on the way to the last one, by their numbers
  let kept = new Map();   // how tall a part of the page was at most: it never shrinks, so that nothing below it moves
  let isLoading = false;  // what is shown is that which the server has just answered with
  let asked = 0;          // the number of the last request: an answer to an earlier one comes too late

  // A search and what is watched are asked beside the rest: they make no other answer late, and their own come too late
  // only where another state has its steps shown by then.
  async function ask(request) {
    const isAside = request.type === "find" || request.type === "watch";
    if (!isAside) asked += 1;
    const mine = asked;
    let answer;
    try {
      answer = await (window.lockstepEngine?.ask(request) ?? askServer(request));
    } catch {
      answer = { ok: false, tree: { error: "lockstep play does not answer: was it stopped?", lines: [] } };
    }
    if (isAside ? request.at !== play.at : mine !== asked) return null;
    if (!isAside || !answer.ok) notify(answer.ok ? "" : [answer.tree.error, ...answer.tree.lines].join("\n"));
    return answer.ok ? answer.tree : null;
  }

  async function askServer(request) {
    const response = await fetch("ask", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
    });
    return { ok: response.ok, tree: await response.json() };
  }

  function notify(text) {
    at("notice").textContent = text;
  }

  // Go to a path that the server answers with, and stand where it ends. `back` finds what has the focus then.
  async function go(request, back) {
    const tree = await ask(request);
    if (!tree) return false;
    receive(tree, back);
    remember(true);
    return true;
  }

  // The page is built anew, and stands where it stood.
  function receive(tree, back) {
    const top = scrollY, from = at("list").scrollTop;
    menu.close(false);
    ({ play } = tree);
    ({ path } = play);
    isLoading = true;
    load(tree, tree.steps.length - 1);
    isLoading = false;
    showPlay();
    at("list").scrollTop = from;
    scrollTo({ top, behavior: "instant" });
    if (back) (back() ?? at("next")).focus({ preventScroll: true });
  }

  const here = () => path[place()];
  const undo = () => {
    if (place()) go({ type: "show", at: path[place() - 1] });  // what `play` has may still be of another state
    else notify("This is an initial state: there is no step to undo.");
  };

  // ---- The address ----------------------------------------------------------------------------------

  // The address has the path to the state that is shown. A step that is taken is a new entry of the browser's history;
  // one that is only looked at is not.
  const known = new Map();  // states of this session by their addresses
  const addressed = "#play=";

  function remember(isNew) {
    const hash = addressed + play.link;
    known.set(hash, play.at);
    if (location.hash === hash) return;
    if (isNew) history.pushState(null, "", hash); else history.replaceState(null, "", hash);
  }

  async function follow() {
    if (!location.hash.startsWith(addressed)) return;
    const index = path.indexOf(known.get(location.hash));
    if (index >= 0) { show(index); return; }
    const tree = await ask({ type: "replay", link: location.hash.slice(addressed.length) });
    if (tree) receive(tree);
    remember(false);
  }

  // ---- What can be done -----------------------------------------------------------------------------

  function button(text, act, title) {
    const made = make("button", text);
    made.type = "button";
    if (title) made.title = title;
    made.addEventListener("click", act);
    return made;
  }

  const take = (offer, back) => go({ type: "take", at: play.at, offer }, back);
  const rowOf = (name) => [...at("offers").querySelectorAll(".action")].find((row) => row.dataset.action === name);

  // The button with the same words, or another of the same action, or its name.
  function sameButton(name, label) {
    const row = rowOf(name);
    if (!row) return null;
    const all = [...row.querySelectorAll("[data-offer]")];
    return all.find((each) => each.textContent === label) ?? all[0] ?? row.querySelector(".name");
  }

  // An action at its place in the spec: its name, which asks why not, and its steps; those that are not enabled are greyed.
  function actionRow({ name, steps }) {
    const row = make("div", undefined, "action"), listed = make("div", undefined, "steps");
    row.dataset.action = name;
    row.classList.toggle("none", steps.every(({ offer }) => offer === null));
    row.classList.toggle("taken", place() > 0 && actionName() === name);
    const title = button("", () => why(name), `Why not ${name}? Or take it with other arguments`);
    for (const word of name.split(/(?=[A-Z])/)) title.append(word, make("wbr"));
    title.className = "name";
    title.setAttribute("aria-label", `${name}: other arguments, why not?`);
    for (const { offer, label, args } of steps) {
      const made = button(label || "take", () => (offer === null ? why(name, args) : take(offer, () => sameButton(name, label))));
      made.setAttribute("aria-label", `${name} ${label}`.trim() + (offer === null ? ": why not?" : ""));
      if (offer === null) made.className = "greyed"; else made.dataset.offer = offer;
      listed.append(made);
    }
    row.append(title, listed);
    return row;
  }

  function showPlay() {
    const parts = play.groups.flatMap(({ title, actions }) => [make("h3", title), ...actions.map(actionRow)]);
    at("offers").replaceChildren(...parts, ...play.notes.map((note) => make("p", note, "note")));
    showNever();
    choices(at("branches"), play.branches.map((each) => [each.at, each.label]), path.at(-1));
    const { count, chosen } = play.initial;
    at("starts").hidden = count < 2;
    choices(at("start"), Array.from({ length: count }, (_, index) => [index, `${index + 1} of ${count}`]), chosen);
    at("undo").disabled = play.parent === null;
    at("taken").textContent = at("action").textContent;
    at("why").hidden = true;
    if (at("wanted").value.trim()) search(); else at("answers").hidden = true;
    showInbox();
    showWatched();
    settle();
  }

  function showNever() {
    const buttons = play.never.map((name) => button(`${name}: why not?`, () => why(name)));
    at("disabled").querySelector("summary").textContent = `The constants rule out ${buttons.length} actions in every state`;
    at("disabled").querySelector("div").replaceChildren(...buttons);
    at("disabled").hidden = !buttons.length;
  }

  // What was taller before keeps its height, and what is below it its place.
  function settle() {
    if (matchMedia("print").matches) return;
    for (const each of document.querySelectorAll(".node, .action")) {
      const name = each.dataset.node === undefined ? `action ${each.dataset.action}` : `node ${each.dataset.node}`;
      const tall = Math.max(kept.get(name) ?? 0, each.offsetHeight);
      kept.set(name, tall);
      each.style.minHeight = `${tall}px`;
    }
  }

  function choices(select, pairs, chosen) {
    const options = pairs.map(([value, label]) => {
      const option = make("option", label);
      option.value = String(value);
      return option;
    });
    if (!pairs.some(([value]) => value === chosen)) {
      const option = make("option", `state ${chosen}`);
      option.value = String(chosen);
      options.push(option);
    }
    select.replaceChildren(...options);
    select.value = String(chosen);
  }

  // ---- In the picture -------------------------------------------------------------------------------

  // Each node's name opens its menu, and at the end of its lane are the messages under way to it.
  function showInbox() {
    const lanes = [...at("lanes").children];
    nodes().forEach((name, index) => {
      const made = button(name, () => nodeMenu(name, made), `What ${name} can do`);
      lanes[index].replaceChildren(made);
    });
    at("inbox").hidden = !nodes().length;
    at("inbox").replaceChildren(...nodes().map((name, index) => {
      const lane = make("div", undefined, "lane");
      for (const number of play.underWay) {
        const message = messages()[number];
        if (message?.dst !== index) continue;
        const made = button(`${message.label} ← ${nodes()[message.src]}`, (event) => hooks.message(message, event, made));
        made.dataset.message = number;
        made.title = messageText(message);
        made.setAttribute("aria-label", `Under way to ${name}: ${message.label} from ${nodes()[message.src]}`);
        lane.append(made);
      }
      return lane;
    }));
  }

  const laneButton = (name) => at("lanes").children[nodes().indexOf(name)]?.firstChild;

  // The steps that are offered and satisfy a test, as entries of a menu.
  function entries(isWanted, focusOn, without) {
    return play.groups.flatMap(({ title, actions }) => actions.flatMap(({ name, steps }) => steps
      .filter((step) => step.offer !== null && isWanted(step, title))
      .map(({ offer, label }) => ({ name, words: without(label), offer, act: () => take(offer, () => laneButton(focusOn)) }))));
  }

  // A step's arguments in words, without what the menu is about.
  function wordsWithout(parts) {
    return (label) => parts.reduce((text, part) => text.split(part).join(""), label).split(", ").filter(Boolean).join(", ");
  }

  async function addDisabled(shown, wanted, without) {
    const answer = await ask({ type: "find", at: play.at, since: path[0], ...wanted });
    if (!answer) return;
    const { notCutOff = [], found, more } = answer;
    const whole = notCutOff.length
      ? [{ name: "cut off", words: "", reason: notCutOff.slice(0, 2).join(": "), act: () => notify(notCutOff.join("\n")) }] : [];
    menu.addDisabled(shown, [...whole, ...found.map(({ action, label, args, reason }) => (
      { name: action, words: without(label), reason: reason[0], act: () => why(action, args) }))], more);
  }

  hooks.message = (message, event, from) => {
    const number = messages().indexOf(message), isHere = play.at === here() && play.underWay.includes(number);
    const opener = from ?? (event?.currentTarget instanceof HTMLElement ? event.currentTarget : at("scroller"));
    const fields = message.fields.map(([name, value]) => `${name} = ${value}`).join(", ");
    const to = nodes()[message.dst], without = wordsWithout([`${message.label} from ${nodes()[message.src]}`, to]);
    const own = (isFault) => entries(
      (step, title) => step.messages.includes(number) && (title === "Faults") === isFault, to, without);
    const groups = isHere ? [{ title: `Deliver it to ${to}`, entries: own(false) }, { title: "Let the network", entries: own(true) }] : [];
    const isFree = groups.some((group) => group.entries.length);
    const note = !isHere ? "It is not under way in this state." : isFree ? "Or hold it: take any other step, and it stays under way."
      : "No step can be taken with it here: it stays under way.";
    const shown = menu.open({ title: messageText(message), note, fields, groups, from: opener, event: from ? null : event });
    if (isHere) addDisabled(shown, { message: number }, without);
  };

  // One gesture, and one entry of the browser's history, but as many steps of the path as messages are lost.
  function cutOff(name) {
    const node = nodes().indexOf(name), lost = play.underWay.filter((number) => {
      const { src, dst } = messages()[number];
      return src === node || dst === node;
    });
    const what = lost.length === 1 ? "the message" : `the ${lost.length} messages`;
    return { name: "cut off", words: `lose ${what} to and from ${name} under way`, offer: "cut",
      act: () => go({ type: "cut", at: play.at, node: name }, () => laneButton(name)) };
  }

  function nodeMenu(name, from, event) {
    if (play.at !== here()) return;
    const without = (label) => label.startsWith(`${name}, `) ? label.slice(name.length + 2) : label === name ? "" : label;
    const own = (isWanted) => entries((step, title) => step.node === name && isWanted(step, title), name, without);
    const shown = menu.open({ title: `${name}: what can happen`, note: "", fields: "", from, event, groups: [
      { title: "A client's write", entries: own((_, title) => title === "Writes") },
      { title: "Its own steps", entries: own((step, title) => title === "Actions" && !step.messages.length) },
      { title: "Messages to it", entries: own((step, title) => title === "Actions" && step.messages.length > 0) },
      { title: "Faults", entries: own((_, title) => title === "Faults") },
      { title: "Let the network", entries: play.canBeCutOff.includes(name) ? [cutOff(name)] : [] },
    ] });
    addDisabled(shown, { node: name }, without);
  }

  // ---- Why not? -------------------------------------------------------------------------------------

  let typed = 0;  // the timer of a search

  async function search() {
    const words = at("wanted").value.trim();
    if (!words) { closeAnswers(); return; }
    const answer = await ask({ type: "find", at: play.at, since: path[0], words });
    if (!answer || words !== at("wanted").value.trim()) return;
    const items = answer.found.map(({ action, label, args, reason, others }) => {
      const item = make("li"), made = button(`${action} ${label}`.trim(), () => why(action, args));
      made.className = "greyed";
      item.append(made, make("pre", reason.join("\n")));
      if (others) item.append(make("p", `and with ${others === 1 ? "another argument" : `${others} other arguments`}`));
      return item;
    });
    const list = make("ul"), count = items.length + answer.more;
    list.append(...items);
    const head = count ? `${count === 1 ? "1 step is" : `${count} steps are`} not enabled, the nearest first` : "No step that is not enabled has these words.";
    at("found").replaceChildren(make("p", head), list);
    at("why").hidden = true;
    at("answers").hidden = false;
    at("answers").scrollTop = 0;
  }

  function closeAnswers() {
    at("answers").hidden = true;
    at("found").replaceChildren();
    at("wanted").value = "";
  }

  async function why(action, args) {
    const answer = await ask({ type: "why", at: play.at, action, ...(args ? { args } : {}) });
    if (!answer) return;
    at("answers").hidden = at("why").hidden = false;
    at("why-title").textContent = `${action}  ${answer.place}`;
    const choose = at("why-args");
    choices(choose, answer.explanations.map((each, index) => [index, each.label || "none"]), 0);
    at("why-choice").hidden = answer.explanations.length < 2;
    const nearest = Math.max(0, answer.explanations.findIndex((each) => !each.enabled));
    choose.value = String(nearest);
    choose.onchange = () => showWhy(answer, answer.explanations[Number(choose.value)]);
    showWhy(answer, answer.explanations[nearest]);
    at("why-title").focus({ preventScroll: true });
    at("answers").scrollTop = at("why").offsetTop;
  }

  function showWhy(answer, explanation) {
    const parts = [];
    if (explanation.enabled) parts.push(make("p", "It is enabled with these arguments."));
    else if (explanation.branches.length) parts.push(make("p", "It is not enabled; the first conjunct that is false:"));
    else parts.push(make("p", "It is not enabled."));
    if (!explanation.enabled) parts.push(...explanation.branches.map((lines) => make("pre", lines.join("\n"))));
    if (answer.more) parts.push(make("p", "There are more arguments than are listed; write others below."));
    at("why-lines").replaceChildren(...parts);
    showForm(answer, explanation);
  }

  // Arguments as a person writes them, in TLA+.
  function showForm(answer, explanation) {
    const inputs = answer.params.map((name) => {
      const label = make("label", `${name} = `), input = make("input");
      input.type = "text";
      input.name = name;
      input.autocomplete = "off";
      input.spellcheck = false;
      input.value = explanation.args[name];
      label.append(input);
      return [name, label, input];
    });
    const args = () => Object.fromEntries(inputs.map(([name, , input]) => [name, input.value]));
    const row = make("div", undefined, "row");
    row.append(button("take", () => go({ type: "step", at: play.at, action: answer.action, args: args() }, () => sameButton(answer.action)),
      `Take ${answer.action} with these arguments`));
    if (inputs.length) row.append(button("why not with these?", () => why(answer.action, args())));
    at("why-form").replaceChildren(...inputs.map(([, label]) => label), row);
  }

  // ---- Watching -------------------------------------------------------------------------------------

  const watched = [];
  let isEvaluating = false;

  function showWatched() {
    at("watched").replaceChildren(...watched.map((text) => {
      const row = make("tr"), head = make("th", text), cell = make("td", "…", "awaited"), end = make("td");
      head.scope = "row";
      const remove = button("remove", () => { watched.splice(watched.indexOf(text), 1); showWatched(); at("watch").focus(); });
      remove.setAttribute("aria-label", `Remove ${text}`);
      end.append(remove);
      row.append(head, cell, end);
      return row;
    }));
    evaluate();
  }

  // One value is asked for at a time: a slow one keeps neither the server nor a connection of the browser busy more than once.
  async function evaluate() {
    if (isEvaluating) return;
    isEvaluating = true;
    for (let cell; (cell = at("watched").querySelector(".awaited"));) await fill(cell);
    isEvaluating = false;
  }

  async function fill(cell) {
    const row = cell.parentNode, again = "again" in row.dataset;
    const answer = await ask({ type: "watch", at: play.at, texts: [row.firstChild.textContent], again });
    if (!cell.isConnected) return;  // another row, made since, has its place
    const { value, error, slow } = answer?.values[0] ?? { error: "not evaluated" };
    cell.textContent = error || value;
    cell.className = error ? "bad" : "";
    if (slow) row.lastChild.prepend(retry(row, cell));
  }

  // What took too long in one state may not in another, but is evaluated there only if that is wanted.
  function retry(row, cell) {
    const made = button("evaluate here", () => {
      made.remove();
      row.dataset.again = "";
      cell.textContent = "…";
      cell.className = "awaited";
      at("watch").focus();
      evaluate();
    });
    made.setAttribute("aria-label", `Evaluate ${row.firstChild.textContent} here`);
    return made;
  }

  function watch() {
    const text = at("watch").value.trim();
    if (!text || watched.includes(text)) return;
    if (watched.length === 8) { notify("There are 8 expressions already: remove one."); return; }
    watched.push(text);
    at("watch").value = "";
    showWatched();
  }

  // ---- Saving ---------------------------------------------------------------------------------------

  async function save(form) {
    const saved = await ask({ type: "save", at: here(), form });
    if (!saved) return;
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([saved.text], { type: "application/x-ndjson" }));
    link.download = saved.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);  // the browser reads it after the click
    notify(saved.notes.join("\n"));
  }

  // ---- Going from step to step ----------------------------------------------------------------------

  async function look() {
    if (isLoading) return;
    menu.close(false);
    if (here() === play.at) { asked += 1; remember(false); return; }  // an answer under way is of another state
    const tree = await ask({ type: "list", at: here(), since: path[0] });
    if (!tree) return;
    play = tree;
    showPlay();
    remember(false);
  }

  // The list is beside or below the picture, which comes first: what may grow is below it.
  function arrange() {
    at("nodes").after(at("watches"), at("message"), at("beside"), at("strip"), at("outside"));
    at("picture").after(at("play"));
    const { style } = document.documentElement;
    const tall = () => {
      style.setProperty("--controls", `${at("controls").offsetHeight}px`);
      style.setProperty("--above", `${at("picture").offsetTop}px`);
    };
    const observer = new ResizeObserver(tall);
    for (const each of [document.querySelector("header"), ...document.querySelector("main").children]) observer.observe(each);
    tall();
  }

  keys.u = undo;
  keys.o = () => (at("offers").querySelector("[data-offer]") ?? at("next")).focus();
  keys.w = () => at("wanted").focus();
  keys.e = () => { at("watches").open = true; at("watch").focus(); };
  keys.m = () => (at("inbox").querySelector("button") ?? at("lanes").querySelector("button"))?.focus();
  at("keys").querySelector("p").append(" u undoes the step; o goes to the steps that can be taken, m to the messages under way and the nodes,"
    + " each with a menu; w searches what is not enabled, e watches an expression. The address keeps the path: another lockstep play of this spec takes its steps again.");
  at("undo").addEventListener("click", undo);
  at("branches").addEventListener("change", () => go({ type: "show", at: Number(at("branches").value) }));
  at("start").addEventListener("change", () => go({ type: "begin", initial: Number(at("start").value) }));
  at("save-trace").addEventListener("click", () => save("trace"));
  at("save-scenario").addEventListener("click", () => save("scenario"));
  at("wanted").addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(search, 200); });
  at("wanted").addEventListener("keydown", (event) => {
    if (event.key === "Escape") { closeAnswers(); at("wanted").blur(); }
    if (event.key === "Enter") { clearTimeout(typed); search(); }
  });
  at("watch").addEventListener("keydown", (event) => { if (event.key === "Enter") watch(); });
  at("watch-add").addEventListener("click", watch);
  at("answers-close").addEventListener("click", () => { closeAnswers(); at("wanted").focus(); });
  at("nodes").addEventListener("click", (event) => {
    const head = event.target.closest("h3"), name = head?.closest(".node").dataset.node;
    if (name !== undefined) nodeMenu(name, laneButton(name), event);
  });
  addEventListener("resize", () => {
    kept = new Map();
    for (const each of document.querySelectorAll(".node, .action")) each.style.minHeight = "";
    settle();
  });
  addEventListener("popstate", follow);
  listeners.push(look);
  arrange();
  showPlay();
  measure();
  if (location.hash.startsWith(addressed)) follow(); else look();
})();
