"use strict";
// The part of a level's page: how far the player is, whether the property is violated, and the hints.
(() => {
  const level = JSON.parse(document.getElementById("level-data").textContent);
  const { whole, listeners, place, make } = window.lockstepPage;
  const at = (id) => document.getElementById(id);
  const steps = (count) => `${count} ${count === 1 ? "step" : "steps"}`;
  let shown = whole;  // the content of the page: of the last answer that has steps

  const { ask } = window.lockstepEngine;
  window.lockstepEngine.ask = async (request) => {
    const answer = await ask(request);
    if (answer.ok && answer.tree.steps) shown = answer.tree;
    return answer;
  };

  // ---- The best that was reached, where the browser keeps it ------------------------------------------

  const key = `lockstep-play ${level.name}`;
  let best = null;
  try {
    best = Number(localStorage.getItem(key)) || null;
  } catch { /* the browser keeps nothing: this page does */ }

  function keep(count) {
    if (best !== null && best <= count) return;
    best = count;
    try {
      localStorage.setItem(key, String(count));
    } catch { /* as above */ }
  }

  // ---- How far the player is --------------------------------------------------------------------------

  const fails = (step) => step.failed.some((each) => shown.properties[each] === level.property);

  // The number of steps after which the property fails first, on the way to the state that is shown.
  function violatedAfter() {
    const found = shown.steps.slice(0, place() + 1).find(fails);
    return found ? found.number : null;
  }

  function show() {
    const count = violatedAfter(), kept = best === null ? "" : ` Your best: ${steps(best)}.`;
    if (count === null) {
      const taken = shown.steps[place()].number;
      at("progress").textContent = `${steps(taken)} taken; the fewest are ${level.par}.${kept}`;
      at("level").classList.remove("solved");
      return;
    }
    keep(count);
    const well = count <= level.par ? "No fewer would do." : `${level.par} are enough.`;
    const done = at("exercise") ? "The promise is broken" : "Solved";
    at("progress").textContent = `${done}: ${level.property} is violated after ${steps(count)}. ${well} Your best: ${steps(best)}.`;
    at("level").classList.add("solved");
  }

  // ---- Hints ------------------------------------------------------------------------------------------

  // How many steps of the way that the hints know the player has taken, and how many there are in all.
  function followed() {
    const alike = (step, known) => {
      const { action, node, args, changed } = step;
      return JSON.stringify({ action: shown.actions[action].name, node, args, changed }) === JSON.stringify(known);
    };
    const taken = shown.steps.slice(1, place() + 1);
    const other = taken.findIndex((step, index) => index >= level.way.length || !alike(step, level.way[index].shown));
    return { same: other < 0 ? taken.length : other, all: taken.length };
  }

  let isOfStep = false;  // the hint is on what to do in the state that is shown

  function hint(...paragraphs) {
    isOfStep = false;
    at("hint").replaceChildren(...paragraphs.map((text) => make("p", text)));
  }

  function nextStep() {
    const { same, all } = followed();
    if (violatedAfter() !== null) { hint("The property is violated: there is nothing more to do."); return; }
    if (same < all) { hint(`Your way is another one from step ${same + 1} on. Undo to there, or go on without hints.`); return; }
    const next = level.way[same];
    const button = document.querySelector(`#offers [data-offer="${next.offer}"]`);
    const label = button?.getAttribute("aria-label") ?? next.action;
    hint(`The next step of a shortest way: ${label}`);
    isOfStep = true;
    button?.focus();
  }

  at("goal").textContent = `${level.flaw}: violate ${level.property}`;
  at("formula").textContent = level.formula;
  at("hint-story").hidden = !level.story.length;
  at("hint-story").addEventListener("click", () => hint(...level.story));
  at("hint-step").addEventListener("click", nextStep);
  listeners.push(() => {
    if (isOfStep) hint();
    show();
  });
  show();
})();
