"use strict";
// How many steps the player needed for each level, and which exercises are solved, where the browser keeps that.
(() => {
  for (const cell of document.querySelectorAll("[data-level]")) {
    try {
      const best = Number(localStorage.getItem(`lockstep-play ${cell.dataset.level}`));
      if (best) cell.textContent = `${best}${best <= Number(cell.dataset.par) ? " ✓" : ""}`;
    } catch { /* the browser keeps nothing */ }
  }
  for (const cell of document.querySelectorAll("[data-exercise]")) {
    try {
      const kept = JSON.parse(localStorage.getItem(`lockstep-course ${cell.dataset.exercise}`));
      if (kept?.solved === true) cell.textContent = "solved ✓";
    } catch { /* as above, or what is kept is no answer */ }
  }
})();
