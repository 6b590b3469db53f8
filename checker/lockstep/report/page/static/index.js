"use strict";
// How many steps the player needed for each level, which guards are broken and which exercises are solved, where the browser keeps that.
(() => {
  function best(name) {
    try {
      return Number(localStorage.getItem(`lockstep-play ${name}`));
    } catch {  // the browser keeps nothing
      return 0;
    }
  }

  for (const cell of document.querySelectorAll("[data-level]")) {
    const steps = best(cell.dataset.level);
    if (steps) cell.textContent = `${steps}${steps <= Number(cell.dataset.par) ? " ✓" : ""}`;
  }
  for (const cell of document.querySelectorAll("[data-guard]")) {
    const steps = best(cell.dataset.guard);
    if (steps) cell.textContent = `broken in ${steps} steps`;
  }
  for (const cell of document.querySelectorAll("[data-exercise]")) {
    try {
      const kept = JSON.parse(localStorage.getItem(`lockstep-course ${cell.dataset.exercise}`));
      if (kept?.solved === true) cell.textContent = "solved ✓";
    } catch { /* as above, or what is kept is no answer */ }
  }
})();
