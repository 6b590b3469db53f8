"use strict";
// The part of the page that asks the server: the steps that the spec allows, and why it does not allow the others.
(() => {
  const { whole, load, make, keys, listeners, place } = window.lockstepPage;
  const at = (id) => document.getElementById(id);
  let play = whole.play;  // what can be done in the state that is shown
  let path = play.path;   // the states on the way to the last one, by their numbers
  let asked = 0;          // the number of the last request: an answer to an earlier one comes too late

  async function ask(request) {
    asked += 1;
    const mine = asked;
    let answer;
    try {
      const response = await fetch("ask", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
      });
      answer = { ok: response.ok, tree: await response.json() };
    } catch {
      answer = { ok: false, tree: { error: "lockstep play does not answer: was it stopped?", lines: [] } };
    }
    if (mine !== asked) return null;
    notify(answer.ok ? "" : [answer.tree.error, ...answer.tree.lines].join("\n"));
    return answer.ok ? answer.tree : null;
  }

  function notify(text) {
    at("notice").textContent = text;
  }

  // Go to a path that the server tells, and stand where it ends.
  async function go(request) {
    const tree = await ask(request);
    if (!tree) return;
    ({ play } = tree);
    ({ path } = play);
    load(tree, tree.steps.length - 1);
    showPlay();
    at("next").focus({ preventScroll: true });
  }

  const here = () => path[place()];
  const undo = () => {
    if (play.parent === null) notify("This is an initial state: there is no step to undo.");
    else go({ type: "show", at: play.parent });
  };

  // ---- What can be done -----------------------------------------------------------------------------

  function button(text, act, title) {
    const made = make("button", text);
    made.type = "button";
    if (title) made.title = title;
    made.addEventListener("click", act);
    return made;
  }

  function offered(action) {
    const row = make("div", undefined, "action");
    row.append(make("span", action.name));
    for (const { offer, label } of action.steps) {
      const made = button(label || "take", () => go({ type: "take", at: play.at, offer }));
      made.setAttribute("aria-label", `${action.name} ${label}`.trim());
      made.dataset.offer = offer;
      row.append(made);
    }
    row.append(button("other arguments", () => why(action.name), `Ask for ${action.name} with other arguments`));
    row.lastChild.setAttribute("aria-label", `${action.name}: other arguments`);
    return row;
  }

  function showPlay() {
    const parts = play.notes.map((note) => make("p", note, "note"));
    for (const { title, actions } of play.groups) parts.push(make("h3", title), ...actions.map(offered));
    at("offers").replaceChildren(...parts);
    showDisabled();
    choices(at("branches"), play.branches.map((each) => [each.at, each.label]), path.at(-1));
    const { count, chosen } = play.initial;
    at("starts").hidden = count < 2;
    choices(at("start"), Array.from({ length: count }, (_, index) => [index, `${index + 1} of ${count}`]), chosen);
    at("undo").disabled = play.parent === null;
    at("why").hidden = true;
  }

  function showDisabled() {
    const whys = (names) => names.map((name) => button(`${name}: why not?`, () => why(name)));
    const parts = whys(play.disabled);
    if (play.never.length) parts.push(make("p", "The constants rule these out in every state:"), ...whys(play.never));
    at("disabled").querySelector("summary").textContent = `Not enabled here: ${play.disabled.length + play.never.length} actions`;
    at("disabled").querySelector("div").replaceChildren(...parts);
    at("disabled").hidden = !parts.length;
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

  // ---- Why not? -------------------------------------------------------------------------------------

  async function why(action, args) {
    const answer = await ask({ type: "why", at: play.at, action, ...(args ? { args } : {}) });
    if (!answer) return;
    at("why").hidden = false;
    at("why-title").textContent = `${action}  ${answer.place}`;
    const choose = at("why-args");
    choices(choose, answer.explanations.map((each, index) => [index, each.label || "none"]), 0);
    at("why-choice").hidden = answer.explanations.length < 2;
    const nearest = Math.max(0, answer.explanations.findIndex((each) => !each.enabled));
    choose.value = String(nearest);
    choose.onchange = () => showWhy(answer, answer.explanations[Number(choose.value)]);
    showWhy(answer, answer.explanations[nearest]);
    at("why-title").focus();
    at("why").scrollIntoView({ block: "nearest" });
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
    row.append(button("take", () => go({ type: "step", at: play.at, action: answer.action, args: args() }),
      `Take ${answer.action} with these arguments`));
    if (inputs.length) row.append(button("why not with these?", () => why(answer.action, args())));
    at("why-form").replaceChildren(...inputs.map(([, label]) => label), row);
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
    if (here() === play.at) { asked += 1; return; }  // an answer under way is of another state
    const tree = await ask({ type: "list", at: here() });
    if (!tree) return;
    play = tree;
    showPlay();
  }

  keys.u = undo;
  keys.o = () => (at("offers").querySelector("button") ?? at("next")).focus();
  at("keys").querySelector("p").append(" u undoes the step; o goes to the steps that can be taken.");
  at("undo").addEventListener("click", undo);
  at("branches").addEventListener("change", () => go({ type: "show", at: Number(at("branches").value) }));
  at("start").addEventListener("change", () => go({ type: "begin", initial: Number(at("start").value) }));
  at("save-trace").addEventListener("click", () => save("trace"));
  at("save-scenario").addEventListener("click", () => save("scenario"));
  listeners.push(look);
  showPlay();
  look();
})();
