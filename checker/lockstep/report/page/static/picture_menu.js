"use strict";
// A menu at a place of the picture: what can be done there, what cannot and why, and a way back to where it was opened.
(() => {
  const { make } = window.lockstepPage;
  const SHOWN = 6;  // entries that are not enabled; the others are folded
  let menu = null, opener = null;

  function button(text, act, name) {
    const made = make("button", text, name);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function close(goesBack) {
    if (!menu) return;
    menu.remove();
    menu = null;
    if (goesBack && opener && opener.isConnected) opener.focus({ preventScroll: true });
  }

  // Open a menu. `groups` are titles with entries, each a name, more words, and what it does; `from` is the element that
  // the focus goes back to, and the place is below it, or at the pointer of an event.
  function open({ title, note, fields, groups, from, event }) {
    close(false);
    opener = from;
    menu = make("div", undefined, "menu");
    menu.setAttribute("role", "dialog");
    menu.setAttribute("aria-label", title);
    const head = make("h3", title);
    head.tabIndex = -1;
    menu.append(head);
    for (const group of groups) {
      if (group.entries.length) menu.append(make("h3", group.title), list(group.entries.map(enabled)));
    }
    if (note) menu.append(make("p", note));
    if (fields) menu.append(folded("Its fields", make("p", fields)));
    menu.append(make("div", undefined, "rest"));
    menu.addEventListener("keydown", move);
    menu.addEventListener("focusout", ({ relatedTarget }) => { if (relatedTarget && menu && !menu.contains(relatedTarget)) close(false); });
    document.body.append(menu);
    put(from, event);
    (menu.querySelector("button") ?? head).focus({ preventScroll: true });
    return menu;
  }

  function list(items) {
    const made = make("ul");
    made.append(...items.map((item) => {
      const row = make("li");
      row.append(...[item].flat());
      return row;
    }));
    return made;
  }

  function folded(summary, ...parts) {
    const made = make("details");
    made.append(make("summary", summary), ...parts);
    return made;
  }

  function enabled({ name, words, offer, act }) {
    const made = button(name, () => { close(false); act(); });
    if (words) made.append(" ", make("small", words));
    made.dataset.offered = offer;
    return made;
  }

  // What is not enabled, greyed, each with the first conjunct that is false; it comes later, and changes no place above.
  function addDisabled(shown, entries, more) {
    if (shown !== menu || !entries.length) return;
    const items = entries.map(({ name, words, reason, act }) => {
      const made = button(name, () => { close(false); act(); }, "greyed");
      made.append(" ", make("small", `${words}${words ? ": " : ""}why not?`));
      return reason ? [made, make("div", reason, "reason")] : made;
    });
    const rest = menu.querySelector(".rest");
    rest.append(make("h3", "Not enabled"), list(items.slice(0, SHOWN)));
    const others = items.slice(SHOWN);
    if (others.length || more) {
      const last = more ? [make("p", "Search below “Why not?” for others.")] : [];
      rest.append(folded(`${others.length + more} more`, list(others), ...last));
    }
    put(opener, null);
  }

  // Within the window, whatever the size of the menu.
  function put(from, event) {
    const box = from.getBoundingClientRect(), at = event?.clientX ? { x: event.clientX, y: event.clientY + 8 } : { x: box.left, y: box.bottom + 4 };
    if (event || !menu.style.left) menu.style.left = `${Math.max(8, Math.min(at.x, innerWidth - menu.offsetWidth - 8))}px`;
    const top = event || !menu.style.top ? at.y : parseFloat(menu.style.top);
    menu.style.top = `${Math.max(8, Math.min(top, innerHeight - menu.offsetHeight - 8))}px`;
  }

  function move(event) {
    event.stopPropagation();  // the keys of the page are for the page
    if (event.key === "Escape") { event.preventDefault(); close(true); }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...menu.querySelectorAll("button, summary")].filter((each) => each.checkVisibility());
    if (all.length) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  }

  document.addEventListener("pointerdown", ({ target }) => { if (menu && !menu.contains(target)) close(false); });
  window.lockstepMenu = { open, close, addDisabled };
})();
