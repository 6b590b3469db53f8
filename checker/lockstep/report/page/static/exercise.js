"use strict";
// The part of a page of the course: the task, and a form whose answers Python grades in the page.
(() => {
  const exercise = JSON.parse(document.getElementById("exercise-data").textContent);
  const { whole, load, make, show, listeners } = window.lockstepPage;
  const at = (id) => document.getElementById(id);

  at("about").append(...exercise.about.map((text) => make("p", text)), ...exercise.commands.map((text) => make("pre", text)));
  at("given").hidden = !exercise.files.length;
  at("given").querySelector("summary").textContent = exercise.files.map(([name]) => name).join(", ");
  at("given").querySelector("div").append(...exercise.files.map(([name, text]) => {
    const figure = make("figure");
    figure.append(make("figcaption", name), make("pre", text));
    return figure;
  }));
  at("chapter").textContent = exercise.chapter.title;
  at("chapter").href = exercise.chapter.file;

  // ---- The steps, without the states that they lead to ------------------------------------------------

  let isTaken = !exercise.events.length;  // the page shows the states after the steps

  at("course-steps").hidden = isTaken;
  at("course-events").append(...exercise.events.map(({ event, line, node, action, args }) => {
    const row = make("li"), head = make("span", `event ${event} (line ${line})`, "event");
    const short = args.filter(([, , isLong]) => !isLong).map(([name, value]) => `${name} = ${value}`).join(", ");
    row.append(head, make("code", `${node} ${action}${short ? `(${short})` : ""}`));
    row.append(...args.filter(([, , isLong]) => isLong).map(([name, value]) => {
      const fields = make("div", undefined, "fields");
      fields.append(make("code", `${name} = ${value}`));
      return fields;
    }));
    return row;
  }));

  // The states are shown only once they have been predicted.
  function showTaken() {
    at("controls").hidden = at("verdict").hidden = !isTaken;
    at("picture").hidden = !isTaken && !exercise.showsBefore;
  }

  function take(tree) {
    isTaken = true;
    showTaken();
    for (const [index, row] of [...at("course-events").children].entries()) {
      if (row.querySelector("button")) continue;
      const made = make("button", row.querySelector(".event").textContent, "event");
      made.type = "button";
      made.addEventListener("click", () => show(index + 1));
      row.querySelector(".event").replaceWith(made);
    }
    load(tree, 0);
  }

  listeners.push((place) => {
    for (const [index, row] of [...at("course-events").children].entries()) row.classList.toggle("shown", isTaken && index + 1 === place);
  });

  // ---- The answers, where the browser keeps them ------------------------------------------------------

  const key = `lockstep-course ${exercise.name}`;

  function read() {
    try {
      const { fields, solved } = JSON.parse(localStorage.getItem(key));
      return { fields: { ...fields }, solved: solved === true };
    } catch {  // the browser keeps nothing, or what is no answer: this page starts anew
      return { fields: {}, solved: false };
    }
  }

  const kept = read();

  // Add to what is kept now, which another page of this exercise may have changed.
  function keep(fields, solved) {
    const now = read();
    try {
      localStorage.setItem(key, JSON.stringify({ fields: { ...now.fields, ...fields }, solved: now.solved || solved }));
    } catch { /* as above */ }
  }

  const inputs = new Map(exercise.questions.map(({ name }) => [name, make("input")]));
  const remarks = new Map(exercise.questions.map(({ name }) => [name, make("p", undefined, "remark")]));

  function question({ name, text, kind }) {
    const row = make("div", undefined, "question"), label = make("label", `${text} `), input = inputs.get(name);
    label.append(make("code", name));
    label.htmlFor = input.id = `answer-${name}`;
    remarks.get(name).id = `remark-${name}`;
    const hint = make("p", kind, "kind");
    hint.id = `kind-${name}`;
    hint.hidden = !kind;
    input.type = "text";
    input.autocomplete = "off";
    input.spellcheck = false;
    input.maxLength = 2000;
    input.setAttribute("aria-describedby", `kind-${name} remark-${name}`);
    input.value = typeof kept.fields[name] === "string" ? kept.fields[name] : "";
    input.addEventListener("input", () => keep({ [name]: input.value }, false));
    row.append(label, input, hint, remarks.get(name));
    return row;
  }

  // ---- The grade --------------------------------------------------------------------------------------

  // A line that begins with the name of a question, or refuses its field, is on that, and so is one that is indented after it.
  function showGrade(lines) {
    const rest = [], found = new Map(exercise.questions.map(({ name }) => [name, []]));
    let about = null;
    for (const line of lines) {
      const name = [...found.keys()].find((each) => line.startsWith(`${each}: `) || line.startsWith(`field \`${each}\`: `));
      if (name) about = name; else if (!line.startsWith(" ")) about = null;
      (about === null ? rest : found.get(about)).push(line);
    }
    for (const [name, remark] of remarks) remark.textContent = found.get(name).join("\n");
    at("grade").replaceChildren(...rest.map((line) => make("p", line)));
  }

  let isAsking = false;

  async function check(solution) {
    if (isAsking) return;
    isAsking = true;
    showGrade(["Checking the answers; Python starts first, if this page was just opened."]);
    const fields = Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
    const { ok, tree } = await window.lockstepEngine.ask({ type: "grade", fields, solution });
    isAsking = false;
    if (!ok) { showGrade([tree.error, ...tree.lines]); return; }
    keep({}, tree.solved);
    showGrade([...tree.lines, `exercise ${exercise.name}: ${tree.solved ? "solved" : "not yet"}`]);
    if (tree.steps) take(tree.steps);
  }

  at("answer-form").hidden = !exercise.questions.length;
  at("questions").append(...exercise.questions.map(question));
  at("answer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    check(false);
  });
  at("show-solution").addEventListener("click", () => check(true));
  if (kept.solved) showGrade(["You have solved this exercise. Check the answers once more to see the steps."]);
  if (!whole.play) {
    at("engine-state").querySelector("span")?.remove();  // it is about steps to take
    showTaken();
  }
})();
