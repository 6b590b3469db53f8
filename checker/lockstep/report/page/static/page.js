"use strict";
// Everything of the behaviour is put into the page as text; nothing of it is ever markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const COLUMN = 32, LANE = 46, MARGIN = 24, AFTER = 56;  // of the diagram, in pixels
  const CELL = 58, BOX = 30, ROW = 15, LEFT = 44;  // of a log
  const LABEL = 60, LETTER = 6.4;                  // what points into it: letters a line, and the width of one
  const TRAIL = 150, TRAIL_CHANGES = 4;            // steps listed before and after the shown one, and changes of each
  const PAPER = 640, PAPER_STEPS = 120;            // how wide paper is, and how many steps stand on it
  const paper = matchMedia("print");
  const at = (id) => document.getElementById(id);
  // What the page shows, and what is derived from it: `load` sets all of it.
  let content, steps, nodes, messages, actions, properties, remarks, first, last;
  let looks, variables, wrong, firstWrong, floor, height, gaps, panels, texts, room;
  let listed = null;           // the places of the steps that are in the list
  let lap;                     // the place to which an infinite behaviour goes back
  let decided, seen, outside;  // places: of the step that decides the deviation, of that, and of what it cannot depend on
  let current = -1, hits = [], chosen = null, drawn = null, onPaper = false;
  const listeners = [];  // called with the step that is shown
  const hooks = { message: null };  // what another script of the page does with a message that is chosen

  // ---- Making elements ------------------------------------------------------------------------------

  function make(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function draw(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  // The beginning of a long text, by what a reader takes for characters: an emoji may be several code points.
  const segmenter = new Intl.Segmenter("en");
  function beginning(text, most) {
    if (text.length <= most) return text;
    const letters = Array.from(segmenter.segment(text), ({ segment }) => segment);
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
  }

  const isWide = (text) => /[^\0-\u02ff]/.test(text);  // emoji and many scripts take about two letters' width

  const titled = (shape, text) => { shape.append(draw("title", {}, text)); return shape; };

  // ---- What is known of a step ----------------------------------------------------------------------

  // Of each node, the steps that change how it is drawn, and of a state without nodes those that change a variable.
  function collect() {
    [looks, variables] = [nodes.map(() => []), new Map()];
    const logs = nodes.map(() => []);
    steps.forEach((step, place) => {
      for (const [node, { log: [at, gone, come], ...look }] of Object.entries(step.looks)) {
        logs[node] = [...logs[node].slice(0, at), ...come, ...logs[node].slice(at + gone)];
        looks[node].push([place, { ...look, log: logs[node] }]);
      }
      for (const [name, value] of Object.entries(step.values)) {
        if (!variables.has(name)) variables.set(name, []);
        variables.get(name).push([place, value]);
      }
    });
  }

  // The last of what is known, in the order of places, that holds at a place.
  function holding(known, place) {
    let low = 0, high = known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle][0] <= place) low = middle + 1; else high = middle;
    }
    return low ? known[low - 1][1] : null;
  }

  const lookAt = (node, place) => holding(looks[node], place);

  const placeOf = (number) => Math.max(0, Math.min(last, number - first));

  // A step of a trace or log goes by its line there; any other by its number.
  const numberAt = (place) => (content.lines ? content.lines[place] : steps[place].number);
  function nameAt(place) {
    if (content.names) return content.names[place];
    if (!content.lines) return `step ${steps[place].number}`;
    return content.lines[place] ? `line ${content.lines[place]}` : "initial state";
  }
  const isByLine = () => Boolean(content.lines || content.names);
  function doneAt(number) {
    const name = nameAt(placeOf(number));
    return name.startsWith("before ") ? name : `${isByLine() ? "at" : "by"} ${name}`;
  }
  const headed = (place) => `${isByLine() ? nameAt(place) : steps[place].number}  ${called(steps[place])}`;
  const actionOf = (step) => actions[step.action].name || (step.refused ? "no step of the spec" : "a step without a name");
  const nodeOf = (step) => (step.node < 0 ? "" : nodes[step.node]);

  function called(step) {
    const args = step.args.map(([name, value]) => `${name} = ${beginning(value, 60)}`);
    return args.length ? `${actionOf(step)}(${args.join(", ")})` : actionOf(step);
  }

  // A message that one sent later overtakes in its channel is late.
  function markLate() {
    const channels = new Map();
    for (const message of messages) {
      const key = `${message.src} ${message.dst}`;
      if (!channels.has(key)) channels.set(key, []);
      channels.get(key).push(message);
    }
    for (const channel of channels.values()) {
      channel.sort((a, b) => (a.sent ?? -1) - (b.sent ?? -1));
      let earliest = Infinity;
      for (const message of channel.reverse()) {
        if (message.fate !== "received") continue;
        message.late = message.ended > earliest;
        earliest = Math.min(earliest, message.ended);
      }
    }
  }

  function findWrong() {
    wrong = [...new Set([
      ...remarks.map((each) => each.number - first),
      ...steps.flatMap((step, place) => (step.failed.length || step.refused ? [place] : [])),
    ])].filter((place) => place >= 0 && place <= last).sort((a, b) => a - b);
    firstWrong = remarks.length ? placeOf(Math.min(...remarks.map((each) => each.number))) : wrong[0];
  }

  function findCause() {
    const { diagnosis } = content;
    decided = seen = null;
    if (diagnosis && diagnosis.decided !== null) [decided, seen] = [placeOf(diagnosis.decided), placeOf(diagnosis.seen)];
    outside = new Set((diagnosis ? diagnosis.outside : []).map(placeOf));
  }

  function lapText() {
    const count = last - lap, end = nameAt(last);
    if (!count) return `After ${end} the behaviour stays in this state for ever.`;
    const back = steps[lap].number === 0 ? "the initial state" : `the state after ${nameAt(lap)}`, by = content.backBy || "the next step";
    const repeated = count === 1 ? end : `${nameAt(lap + 1)} to ${end}`;
    return `After ${end}, ${by} leads to ${back} again: ${repeated} and ${by} are repeated for ever.`;
  }

  // The name of a step that a diagnosis marks; empty for any other.
  const markOf = (place) => (place === decided ? "decided here" : place === seen ? "seen here" : "");
  const isFaint = (number) => number !== null && outside.has(number - first);
  const isFaintMessage = (message) => isFaint(message.sent) || isFaint(message.ended);

  // ---- The diagram ----------------------------------------------------------------------------------

  const scroller = at("scroller"), canvas = at("canvas");
  const xOf = (place) => MARGIN + place * COLUMN;
  const yOf = (node) => LANE / 2 + node * LANE;
  const rowOf = (step) => (step.node < 0 ? floor - 26 : yOf(step.node));

  function downs(node) {
    const spans = [];
    let since = null;
    for (const [place, look] of looks[node]) {
      if (!look.up && since === null) since = place;
      if (look.up && since !== null) { spans.push([since, place]); since = null; }
    }
    if (since !== null) spans.push([since, last]);
    return spans;
  }

  function path(message) {
    const x1 = xOf(message.sent === null ? 0 : message.sent - first), y1 = yOf(message.src);
    const y2 = yOf(message.dst);
    if (message.fate === "received") return [x1, y1, xOf(message.ended - first), y2];
    if (message.fate === "lost") return [x1, y1, xOf(message.ended - first), (y1 + y2) / 2];
    return [x1, y1, x1 + COLUMN, y2 - Math.sign(y2 - y1) * 12];  // short of its target, where it is not yet
  }

  // Whether a message is under way in the state that is shown.
  const isHere = (message) => (message.sent ?? first) <= steps[current].number
    && (message.ended === null || message.ended > steps[current].number);

  function messageText(message) {
    const copy = message.copy ? ", a copy that the network made" : "";
    const late = message.late ? ", overtaken by a later one" : "";
    const sent = message.sent === null ? "" : `, sent ${doneAt(message.sent)}`;
    const end = message.ended === null ? ", under way" : `, ${message.fate} ${doneAt(message.ended)}`;
    return `${message.label} from ${nodes[message.src]} to ${nodes[message.dst]}${sent}${end}${copy}${late}`;
  }

  // The head of an arrow: its tip, and the direction that it points in.
  const headOf = (x, y, ux, uy) => `M ${x} ${y} L ${x - ux * 8 - uy * 4} ${y - uy * 8 + ux * 4} L ${x - ux * 8 + uy * 4} ${y - uy * 8 - ux * 4} z`;

  function arrow(message) {
    const [x1, y1, x2, y2] = path(message);
    const group = draw("g", isFaintMessage(message) ? { class: "faint" } : {});
    const kind = ["flight", ...["copy", "vote"].filter((each) => message[each]), message.fate === "lost" ? "lost" : "",
      isHere(message) ? "flying" : ""].filter(Boolean).join(" ");
    group.append(draw("line", { x1, y1, x2, y2, class: kind + (message === chosen ? " chosen" : "") }));
    if (message.fate !== "lost") {
      const length = Math.hypot(x2 - x1, y2 - y1) || 1, ux = (x2 - x1) / length, uy = (y2 - y1) / length;
      const gap = message.ended === null ? 0 : 6, [tx, ty] = [x2 - ux * gap, y2 - uy * gap];
      group.append(draw("path", { d: headOf(tx, ty, ux, uy), class: message.ended === null ? "head open" : "head" }));
    }
    if (message.vote) group.append(draw("text", { x: x2 - 11, y: y2 + (y2 > y1 ? -10 : 20), class: "glyph granted" }, "✓"));
    const glyph = message.fate === "lost" ? "✕" : message.fate === "under way" ? "…" : message.late ? "late" : "";
    const aside = message.late ? 26 : message.ended === null ? -8 : 0;
    if (glyph) group.append(draw("text", { x: x2 - aside, y: y2 + 4 - Math.max(0, aside) / 2, class: "glyph" }, glyph));
    if (message.copy) group.append(draw("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2, class: "glyph" }, "×2"));
    const hit = titled(draw("line", { x1, y1, x2, y2, class: "hit" }), messageText(message));
    hit.addEventListener("click", (event) => choose(message, event));
    group.append(hit);
    return group;
  }

  // A vote that a step grants without a message: an arrow within its column from or to the step's dot, marked where it is granted.
  function ballot([voter, candidate], step, place) {
    const x = xOf(place), aside = COLUMN / 2 - 4, y1 = yOf(voter), y2 = yOf(candidate);
    const [x1, x2] = voter === step.node ? [x, x + aside] : [x - aside, x];
    const length = Math.hypot(x2 - x1, y2 - y1), ux = (x2 - x1) / length, uy = (y2 - y1) / length;
    const [tx, ty] = [x2 - ux * 6, y2 - uy * 6];
    const group = draw("g", isFaint(step.number) ? { class: "faint" } : {});
    const title = `vote of ${nodes[voter]} for ${nodes[candidate]}, granted ${doneAt(step.number)}`;
    const hit = titled(draw("line", { x1, y1, x2, y2, class: "hit ballot" }), title);
    hit.addEventListener("click", () => show(place));
    group.append(
      draw("line", { x1, y1, x2: tx, y2: ty, class: "flight vote" }),
      draw("path", { d: headOf(tx, ty, ux, uy), class: "head" }),
      draw("text", { x: x1, y: y1 + (y2 > y1 ? -7 : 16), class: "glyph granted" }, "✓"),
      hit,
    );
    return group;
  }

  function dot(step, place) {
    const x = xOf(place), node = step.node;
    const y = rowOf(step);
    const name = `${node < 0 ? "net" : "dot"}${outside.has(place) ? " faint" : ""}`;
    const shape = node < 0 ? draw("rect", { x: x - 4, y: y - 4, width: 8, height: 8, class: name })
      : draw("circle", { cx: x, cy: y, r: 5, class: name });
    shape.addEventListener("click", () => show(place));
    const notes = [markOf(place), outside.has(place) ? "cannot have had to do with what is wrong" : ""].filter(Boolean);
    return titled(shape, [headed(place), ...notes].join(", "));
  }

  // The two steps that a diagnosis names, each with its name below the diagram, where it stays within it.
  function drawMark(svg, place, left, row) {
    const name = markOf(place), x = xOf(place), isLeft = x - left < 100;
    if (place === decided) {
      svg.append(titled(draw("circle", { cx: x, cy: rowOf(steps[place]), r: 11, class: "decided" }), name));
    }
    svg.append(draw("text", { x: isLeft ? x - 5 : x + 5, y: floor + 10 + row * 14, class: "named",
      "text-anchor": isLeft ? "start" : "end" }, isLeft ? `▲ ${name}` : `${name} ▲`));
  }

  function drawWindow() {
    if (!nodes.length || onPaper) return;
    const from = Math.max(0, Math.floor((scroller.scrollLeft - 400) / COLUMN));
    const to = Math.min(last, Math.ceil((scroller.scrollLeft + scroller.clientWidth + 400) / COLUMN));
    drawn = [from, to];
    const svg = drawSteps(from, to, 0);
    svg.style.left = `${xOf(from) - MARGIN}px`;
    canvas.replaceChildren(svg);
  }

  // Draw the steps from one place to another, with so much room on the left for the names of the nodes.
  function drawSteps(from, to, names) {
    const left = xOf(from) - MARGIN, width = xOf(to) + AFTER - left;
    const svg = draw("svg", { width: width + names, height, viewBox: `${left - names} 0 ${width + names} ${height}`, "aria-hidden": "true" });
    svg.append(draw("rect", { x: xOf(current) - COLUMN / 2, y: 0, width: COLUMN, height, class: "here" }));
    nodes.forEach((_, node) => {
      svg.append(draw("line", { x1: left, y1: yOf(node), x2: left + width, y2: yOf(node), class: "lane" }));
      for (const [begin, end] of gaps[node]) {
        if (begin > to || end < from) continue;
        const y = yOf(node);
        svg.append(draw("line", { x1: xOf(begin), y1: y, x2: xOf(end), y2: y, class: "down" }));
        svg.append(draw("text", { x: xOf(begin) + 14, y: y - 10, class: "glyph" }, "down"));
      }
    });
    const flying = messages.filter((message) => {
      const begin = (message.sent ?? first) - first, end = message.ended === null ? begin + 1 : message.ended - first;
      return begin <= to && end >= from;
    });
    svg.append(...flying.map(arrow));
    for (let place = from; place <= to; place += 1) {
      svg.append(...(steps[place].votes ?? []).map((vote) => ballot(vote, steps[place], place)), dot(steps[place], place));
      const apart = Math.abs(place - current);
      if (apart === 0 || (numberAt(place) % 10 === 0 && apart > 1)) {
        const label = content.lines && !apart ? nameAt(place) : String(numberAt(place));
        svg.append(draw("text", { x: xOf(place), y: floor - 4, "text-anchor": "middle", class: "number" }, label));
      }
    }
    for (const place of wrong) {
      if (place < from || place > to) continue;
      const shape = draw("circle", { cx: xOf(place), cy: rowOf(steps[place]), r: 11, class: "wrong" });
      svg.append(titled(shape, markOf(place) || "what is wrong"));
    }
    [decided, seen].forEach((place, row) => {
      if (place !== null && place >= from && place <= to) drawMark(svg, place, left, row);
    });
    drawLap(svg, from, to);
    label(svg, flying, from, to);
    return svg;
  }

  // The steps that an infinite behaviour repeats, bracketed below the lanes.
  function drawLap(svg, from, to) {
    if (lap === null || lap > to) return;
    const x1 = xOf(Math.max(from, lap)) - 10, x2 = xOf(to) + 10, y = floor + 4, isShort = x2 - x1 < 120;
    const ends = [lap >= from ? `M ${x1} ${y - 7} V ${y}` : `M ${x1} ${y}`, `H ${x2}`, to === last ? `V ${y - 7}` : ""];
    svg.append(titled(draw("path", { d: ends.join(" "), class: "lap" }), lapText()));
    svg.append(draw("text", { x: isShort ? x2 : x1, y: y + 13, class: "named", "text-anchor": isShort ? "end" : "start" },
      "↻ again and again"));
  }

  // ---- The names of messages in the diagram ---------------------------------------------------------

  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = "10px system-ui, sans-serif";
  const touches = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  // Each arrow has its message's name where nothing else stands: whole, else its beginning, else none; the whole name is
  // the arrow's title. Those of the shown step and of what is under way come first.
  function label(svg, flying, from, to) {
    const taken = [...svg.querySelectorAll(".glyph, .number, .named")].map((each) => boxed(each.textContent, 13, each));
    for (let place = from; place <= to; place += 1) taken.push({ x: xOf(place) - 7, y: rowOf(steps[place]) - 7, width: 14, height: 14 });
    const number = steps[current].number;
    const rank = (each) => (each.sent === number || each.ended === number ? 0 : isHere(each) ? 1 : 2);
    const edge = xOf(to) + AFTER, left = xOf(from) - MARGIN;
    for (const message of flying.toSorted((a, b) => rank(a) - rank(b))) {
      const found = spot(message, taken, left, edge);
      if (!found) continue;
      taken.push(found.box);
      svg.insertBefore(draw("text", { x: found.x, y: found.y, class: `tag${isFaintMessage(message) ? " faint" : ""}` }, found.text),
        svg.querySelector(".dot, .net"));
    }
  }

  function spot(message, taken, left, edge) {
    const [x1, y1, x2, y2] = path(message);
    for (const text of new Set([message.label, beginning(message.label, 14), beginning(message.label, 8)])) {
      const width = ruler.measureText(text).width + 4;
      for (const aside of [0, width / 2 + 6, -width / 2 - 6]) {
        for (const share of [0.5, 0.36, 0.64, 0.24, 0.76]) {
          const x = x1 + (x2 - x1) * share + aside, y = y1 + (y2 - y1) * share + 3;
          const box = { x: x - width / 2, y: y - 9, width, height: 12 };
          if (box.x >= left && box.x + width <= edge && !taken.some((each) => touches(each, box))) return { x, y, text, box };
        }
      }
    }
    return null;
  }

  // About where a text stands that is drawn already.
  function boxed(text, tall, shape) {
    const width = text.length * tall * 0.62, x = Number(shape.getAttribute("x")), y = Number(shape.getAttribute("y"));
    const begin = shape.getAttribute("text-anchor") === "end" ? x - width : shape.classList.contains("named") ? x : x - width / 2;
    return { x: begin, y: y - tall, width, height: tall + 3 };
  }

  // Paper does not scroll: the steps around the one that is shown stand in rows, and of each log the end.
  function drawOnPaper() {
    const begin = Math.max(0, Math.min(current - Math.floor(PAPER_STEPS / 2), last + 1 - PAPER_STEPS));
    const end = Math.min(last, begin + PAPER_STEPS - 1), names = 96, rows = [];
    const columns = Math.floor((PAPER - names - MARGIN - AFTER) / COLUMN) + 1;
    for (let from = begin; from <= end; from += columns) {
      const svg = drawSteps(from, Math.min(end, from + columns - 1), names);
      const left = xOf(from) - MARGIN - names;
      svg.append(draw("rect", { x: left, y: 0, width: names, height, class: "names" }));
      nodes.forEach((name, node) => svg.append(draw("text", { x: left + 2, y: yOf(node) + 4 }, beginning(name, 14))));
      rows.push(svg);
    }
    canvas.replaceChildren(...rows);
    room = PAPER;
    redrawNodes();
    for (const svg of document.querySelectorAll(".log svg")) {
      const [wide, tall] = [svg.width.baseVal.value, svg.height.baseVal.value], seen = Math.min(wide, PAPER);
      svg.setAttribute("viewBox", `${wide - seen} 0 ${seen} ${tall}`);
      svg.setAttribute("width", seen);
    }
  }

  function redrawNodes() {
    for (const kept of panels) kept.look = undefined;
    showNodes();
  }

  // On a screen, whose width is known, or on paper.
  function layOut(isPaper) {
    onPaper = isPaper;
    if (!nodes.length) return;
    if (onPaper) { drawOnPaper(); return; }
    measure();
    drawWindow();
    redrawNodes();
  }

  function choose(message, event) {
    chosen = message;
    const fields = message.fields.map(([name, value]) => `${name} = ${value}`).join(", ");
    at("message").textContent = `${messageText(message)}: ${fields}`;
    drawWindow();
    if (hooks.message) hooks.message(message, event);
  }

  function keepInSight() {
    const x = xOf(current), margin = 3 * COLUMN;
    if (x < scroller.scrollLeft + margin || x > scroller.scrollLeft + scroller.clientWidth - margin) {
      scroller.scrollTo({ left: x - scroller.clientWidth / 2, behavior: "instant" });
    }
  }

  // ---- What a node knows ----------------------------------------------------------------------------

  function makePanels() {
    panels = nodes.map((name) => {
      const panel = make("article", undefined, "node");
      panel.dataset.node = name;
      return { panel, look: undefined, before: undefined, acts: undefined };
    });
    at("nodes").replaceChildren(...panels.map((kept) => kept.panel));
  }

  // How wide a log is shown; read before anything is drawn, for to read it lays the page out.
  function measure() {
    room = panels.length ? panels[0].panel.clientWidth - 20 : 0;
  }

  function showNodes() {
    const [base, most] = indexes(), drawn = [], end = LEFT + (most - base + 1) * CELL + 40;
    panels.forEach((kept, node) => {
      const look = lookAt(node, current), before = current ? lookAt(node, current - 1) : look;
      const acts = steps[current].node === node, refused = acts && steps[current].refused === true;
      kept.panel.classList.toggle("acts", acts);
      if (kept.look === look && kept.before === before && kept.base === base && kept.most === most && kept.refused === refused) return;
      Object.assign(kept, { look, before, base, most, refused });
      kept.panel.classList.toggle("stopped", !look.up);
      const drawing = log(look, before, base, end);
      const focused = kept.panel.contains(document.activeElement);
      kept.panel.replaceChildren(heading(nodes[node], look, before, refused), drawing);
      if (focused) drawing.focus();
      drawn.push(drawing);
    });
    // The end of a long log is what steps change; all logs are moved by as much, so that they stay below each other.
    // Widths are read when all is drawn: to read one lays the page out.
    const widths = drawn.map((drawing) => drawing.clientWidth);
    drawn.forEach((drawing, place) => { drawing.scrollLeft = Math.max(0, end - widths[place]); });
  }

  function heading(name, look, before, refused) {
    const line = make("h3", `${name}: ${look.role} `);
    if (refused) line.append(make("span", `before ${nameAt(current)} `, "bad"));
    const facts = make("span", undefined, "facts");
    const old = new Map(before.facts);
    look.facts.forEach(([fact, value], index) => {
      facts.append(make("span", `${index ? " · " : ""}${fact} ${value}`, old.get(fact) === value ? "" : "new"));
    });
    line.append(facts);
    return line;
  }

  // Of a long log what lies left of `seen` is drawn when somebody scrolls there. Every log is as wide as the longest
  // one, which ends at `end`: else a short one could not be moved as far.
  function log(look, before, base, end) {
    const seen = end - room;
    const frame = make("div", undefined, "log");
    frame.tabIndex = 0;  // it scrolls, by keys too
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "log and indexes");
    const all = [...look.log, ...before.log];
    const most = Math.max(base, ...all.map(([index]) => index), ...look.marks.map(([, index]) => index));
    const x = (index) => LEFT + Math.max(index - base, -0.6) * CELL;
    const old = new Map(before.marks), rows = inRows(look.marks, old).flatMap(inLines);
    const ends = rows.map((row) => x(Math.max(row.index, row.was ?? row.index)) + CELL / 2 + 10 + row.words.length * LETTER);
    const width = Math.ceil(Math.max(end, ...ends));
    const top = 30, tall = top + BOX + 6 + rows.length * ROW;
    const svg = draw("svg", { width, height: tall, viewBox: `0 0 ${width} ${tall}`, role: "img" });
    svg.append(draw("title", {}, inWords(look)));
    if (look.snapshot !== null && look.snapshot >= base) {
      const wide = (look.snapshot - base + 1) * CELL;
      svg.append(titled(draw("rect", { x: x(base) - 2, y: top - 2, width: wide, height: BOX + 4, class: "snapshot" }),
        `a snapshot stands for the entries up to ${look.snapshot}`));
    }
    const kept = new Map(look.log.map((entry) => [entry[0], entry]));
    const fill = (isWanted) => {
      for (const entry of look.log) if (isWanted(entry[0])) box(svg, entry, x(entry[0]), top, BOX);
      for (const entry of before.log) {
        const now = kept.get(entry[0]);
        if (!isWanted(entry[0]) || (now && now[1] === entry[1] && now[2] === entry[2])) continue;
        cut(svg, entry, x(entry[0]), now ? 12 : top, now ? 16 : BOX);
      }
      for (let index = base; index <= most; index += 1) {
        if (isWanted(index)) svg.append(draw("text", { x: x(index) + CELL / 2 - 3, y: 10, class: "index" }, String(index)));
      }
    };
    const isSeen = (index) => x(index) + 2 * CELL > seen;
    fill(isSeen);
    if (!isSeen(base)) {
      const rest = () => {
        if (frame.scrollLeft > seen - CELL) return;
        frame.removeEventListener("scroll", rest);
        fill((index) => !isSeen(index));
      };
      frame.addEventListener("scroll", rest);
    }
    rows.forEach((row, place) => pointer(svg, row, x, top + BOX + 6 + place * ROW, seen, Math.max(end, room)));
    const lastEntry = look.log.at(-1);
    if (lastEntry && x(lastEntry[0]) + CELL < seen) {
      svg.append(draw("text", { x: seen + 6, y: top + 18, class: "label" }, `◀ its last entry is ${lastEntry[0]}`));
    }
    frame.append(svg);
    return frame;
  }

  function box(svg, [index, term, text, committed], x, y, tall) {
    const name = `t${((term % 6) + 6) % 6}${committed ? "" : " uncommitted"}`;
    const known = committed ? "committed here" : "not known here to be committed";
    const group = draw("g", {});
    group.append(draw("rect", { x, y, width: CELL - 6, height: tall, rx: 2, class: name }));
    group.append(draw("text", { x: x + CELL / 2 - 3, y: y + 13 }, beginning(text, isWide(text) ? 4 : 8)));
    group.append(draw("text", { x: x + CELL / 2 - 3, y: y + 26 }, `term ${term}`));
    svg.append(titled(group, `entry ${index}: ${text}, term ${term}, ${known}`));
  }

  function cut(svg, [index, term, text], x, y, tall) {
    const group = draw("g", {});
    group.append(draw("rect", { x, y, width: CELL - 6, height: tall, class: "cut" }));
    group.append(draw("text", { x: x + CELL / 2 - 3, y: y + tall / 2 + 4 }, `${beginning(text, isWide(text) ? 3 : 5)} t${term}`));
    group.append(draw("line", { x1: x, y1: y + tall, x2: x + CELL - 6, y2: y, class: "strike" }));
    svg.append(titled(group, `entry ${index}: ${text}, term ${term}, is cut by this step`));
  }

  // The least and the greatest index of any node: all logs begin at the same, so that entries stand below each other.
  function indexes() {
    const all = panels.flatMap((_, node) => [lookAt(node, current), lookAt(node, Math.max(0, current - 1))])
      .flatMap((look) => [...look.log.map(([index]) => index), ...look.marks.map(([, index]) => Math.max(index, 0))]);
    return all.length ? [Math.min(...all), Math.max(...all)] : [0, 0];
  }

  // Indexes that point to one entry share a row, but for those that the step moves.
  function inRows(marks, old) {
    const rows = [], still = new Map();
    for (const [name, index] of marks) {
      const was = old.get(name);
      if (was !== undefined && was !== index) { rows.push({ names: [name], index, was }); continue; }
      if (!still.has(index)) { still.set(index, { names: [], index }); rows.push(still.get(index)); }
      still.get(index).names.push(name);
    }
    return rows;
  }

  // Many names that point to one entry take several lines, of which the first has the shape.
  function inLines(row) {
    const { names, index, was } = row, moved = was !== undefined, lines = [[]];
    for (const name of names) {
      const line = lines.at(-1);
      if (line.length && line.join(", ").length + name.length > LABEL) lines.push([name]); else line.push(name);
    }
    const value = `${index < 0 ? "none" : index}${moved ? ` (was ${was < 0 ? "none" : was})` : ""}`;
    return lines.map((line, place) => ({ ...row, first: !place,
      words: line.join(", ") + (place < lines.length - 1 ? "," : ` ${value}`) }));
  }

  // Its name stands right of it, or left where it would leave what is in sight, from `seen` to `end`.
  function pointer(svg, { names, index, was, words, first: shaped }, x, y, seen, end) {
    const tip = (each) => x(each) + CELL / 2 - 3;
    const shape = (each) => `M ${tip(each)} ${y} l 5 9 h -10 z`;
    const moved = was !== undefined;
    if (moved) svg.append(titled(draw("path", { d: shape(was), class: "ghost" }), `${names[0]} was ${was < 0 ? "none" : was}`));
    if (shaped) svg.append(draw("path", { d: shape(index), class: "mark" }));
    const tips = moved ? [tip(index), tip(was)] : [tip(index)], long = words.length * LETTER * (moved ? 1.1 : 1);
    if (Math.max(...tips) < seen) {
      svg.append(draw("text", { x: seen + 6, y: y + 9, class: `label${moved ? " moved" : ""}` }, `◀ ${words}`));
      return;
    }
    const left = Math.max(...tips) + 9 + long > end && Math.min(...tips) - 9 > long;
    svg.append(draw("text", { x: left ? Math.min(...tips) - 9 : Math.max(...tips) + 9, y: y + 9,
      class: `label${moved ? " moved" : ""}${left ? " left" : ""}` }, words));
  }

  function inWords(look) {
    const entries = look.log.map(([index, term, text, committed]) =>
      `${index}: ${text}, term ${term}${committed ? ", committed" : ""}`);
    const marks = look.marks.map(([name, index]) => `${name} ${index}`);
    return `Log: ${entries.join("; ") || "empty"}. ${marks.join(", ")}.`;
  }

  // ---- The step -------------------------------------------------------------------------------------

  function showStep() {
    const step = steps[current];
    const line = step.line === undefined || (isByLine() && step.line !== "in no line") ? "" : `, ${step.line}`;
    at("action").textContent = `${headed(current)}${nodeOf(step) ? ` of ${nodeOf(step)}` : ""}${line}`;
    at("action").classList.toggle("faint", outside.has(current));
    showSaid(step);
    showChanges(step);
    showState(step);
    showCode(actions[step.action]);
  }

  function showSaid(step) {
    const found = remarks.filter((each) => each.number === step.number);
    const parts = found.flatMap((each) => [make("p", each.title, "bad"), withPlaces("pre", each.lines.join("\n")), ...each.tables.map(drawTable)]);
    parts.unshift(...showMark(current));
    if (outside.has(current)) parts.push(make("p", "This cannot have had to do with what is wrong."));
    const names = step.failed.map((index) => properties[index]).filter((name) => !found.some((each) => each.title.includes(name)));
    if (names.length) parts.push(make("p", `false here: ${names.join(", ")}`, "bad"));
    if (current === last && content.backTo !== null) {
      parts.push(make("p", lapText()));
    }
    at("remarks").replaceChildren(...parts);
  }

  // At the two steps that a diagnosis names: which of them it is, and a way to the other.
  function showMark(place) {
    const name = markOf(place);
    if (!name) return [];
    const row = make("p"), other = place === decided ? seen : decided, { rows, deciding } = content.diagnosis;
    const what = place === decided ? `: ${rows[deciding][1]}` : ". ";
    row.append(make("strong", name), ...linked(what), " ", jump(place === decided ? "seen" : "decided", other));
    return [row];
  }

  function jump(word, place) {
    return button(`${word} at ${nameAt(place)}`, () => show(place));
  }

  function button(text, act) {
    const made = make("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function headRow(titles) {
    const head = make("tr");
    head.append(...titles.map((title) => {
      const cell = make("th", title);
      cell.scope = "col";
      return cell;
    }));
    return head;
  }

  // A table of what is wrong; the rows that matter say so by more than their colour.
  function drawTable({ title, heads, rows, marked }) {
    const table = make("table", undefined, "wide");
    table.append(make("caption", title), headRow(heads), ...rows.map((cells, place) => {
      const row = make("tr", undefined, marked.includes(place) ? "differs" : "");
      row.append(...cells.map((cell, column) => withPlaces("td", !column && marked.includes(place) ? `≠ ${cell}` : cell)));
      return row;
    }));
    return table;
  }

  // A row for each node or variable, with a line for each part of it that changes: what it was and is, or what was
  // added or removed there. Nothing is drawn through a value: -1 would read as a dash.
  function drawChanges(changed) {
    const table = make("table", undefined, "changes");
    let cell = null, shown = null;
    for (const [where, part, sign, old, now] of changed) {
      if (where !== shown) {
        const row = make("tr"), head = make("th", where);
        head.scope = "row";
        cell = make("td");
        row.append(head, cell);
        table.append(row);
        shown = where;
      }
      const line = make("div");
      if (part) line.append(make("span", part, "part"), " ");
      if (sign) line.append(make("span", sign, sign[0] === "+" ? "added" : "removed"));
      if (sign && now) line.append(" = ", now);
      if (old) line.append(sign ? " was " : "", make("del", old));
      if (!sign && now) line.append(" -> ", now);
      cell.append(line);
    }
    return table;
  }

  function showChanges(step) {
    const parts = [];
    const mine = messages.filter((message) => message.sent === step.number || message.ended === step.number);
    if (mine.length) {
      const row = make("p", "Messages: ");
      for (const message of mine) {
        const what = message.ended === step.number ? message.fate : message.copy ? "doubled" : "sent";
        const label = `${what} ${message.label} (${nodes[message.src]} to ${nodes[message.dst]})`;
        row.append(button(label, (event) => choose(message, event)), " ");
      }
      parts.push(row);
    }
    if (step.changed.length) {
      parts.push(drawChanges(step.changed));
    } else if (current) {
      parts.push(make("p", step.refused ? "The spec has no such step; the state is that before it." : "No variable changes."));
    }
    at("changes").replaceChildren(...parts);
  }

  // Where no picture draws the nodes, the state is shown as it is, and what the step changes is marked.
  function showState(step) {
    if (!variables.size) return;
    fill("state", [...variables].map(([name, known]) => [name, holding(known, current)]));
    for (const row of at("state").querySelectorAll("tr")) {
      row.classList.toggle("new", current > 0 && Object.hasOwn(step.values, row.firstChild.textContent));
    }
  }

  function fill(id, values) {
    at(id).querySelector("table").replaceChildren(...values.map(([name, value]) => {
      const row = make("tr"), head = make("th", name);
      head.scope = "row";
      row.append(head, make("td", value));
      return row;
    }));
  }

  function showCode(action) {
    const parts = [];
    for (const [language, place, text] of [["TLA+", action.place, action.tla], ["Python", action.location, action.python]]) {
      if (!text) continue;
      const figure = make("figure");
      figure.append(make("figcaption", `${language}  ${place}`), make("pre", text));
      parts.push(figure);
    }
    at("code").replaceChildren(...parts);
  }

  // ---- The list of steps, where there is no picture -------------------------------------------------

  // Each with what it changes, around the one that is shown: of a long behaviour only those are in the page.
  function showTrail() {
    if (nodes.length) return;
    if (!listed || current < listed[0] || current > listed[1]) {
      listed = [Math.max(0, current - TRAIL), Math.min(last, current + TRAIL)];
      const rows = steps.slice(listed[0], listed[1] + 1).map((step, index) => trailRow(step, listed[0] + index));
      at("trail").replaceChildren(...rows);
    }
    for (const row of at("trail").children) {
      const isShown = Number(row.dataset.place) === current;
      row.classList.toggle("shown", isShown);
      if (isShown) row.firstChild.setAttribute("aria-current", "step"); else row.firstChild.removeAttribute("aria-current");
      if (isShown) keepWithin(at("trail"), row);
    }
  }

  function trailRow(step, place) {
    const row = make("li"), isAgain = lap !== null && place > lap, isWrong = wrong.includes(place);
    row.dataset.place = place;
    row.classList.toggle("again", isAgain);
    const signs = `${isAgain ? "↻ " : ""}${isWrong ? "✕ " : ""}`;
    row.append(button(`${signs}${headed(place)}`, () => show(place)));
    for (const [where, part, sign, old, now] of step.changed.slice(0, TRAIL_CHANGES)) {
      row.append(make("div", [where, part, sign && now ? `${sign} = ${beginning(now, 60)}` : sign,
        !sign && now ? `${beginning(old, 40)} -> ${beginning(now, 60)}` : ""].filter(Boolean).join(" ")));
    }
    if (step.changed.length > TRAIL_CHANGES) row.append(make("div", `… and ${step.changed.length - TRAIL_CHANGES} more`));
    return row;
  }

  // Scroll the box alone, not the page.
  function keepWithin(box, row) {
    const top = row.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
    if (top < box.scrollTop || top + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  }

  // ---- The places in spec and reference -------------------------------------------------------------

  // A text in which each place whose lines the page has leads to them; any other stays text.
  function linked(text) {
    const { places } = content.sources, parts = [];
    let done = 0;
    for (const found of text.matchAll(/[\w./-]+:\d+(?::\d+)?/g)) {
      const place = found[0];
      if (!Object.hasOwn(places, place)) continue;
      const [excerpt, line] = places[place], link = make("a", place);
      link.href = `#source-${excerpt}`;
      link.addEventListener("click", (event) => { event.preventDefault(); openSource(excerpt, line); });
      parts.push(text.slice(done, found.index), link);
      done = found.index + place.length;
    }
    return [...parts, text.slice(done)];
  }

  function withPlaces(tag, text) {
    const made = make(tag);
    made.append(...linked(text));
    return made;
  }

  function showSources() {
    const { excerpts } = content.sources;
    at("sources").hidden = !excerpts.length;
    at("sources").querySelector("div").replaceChildren(...excerpts.map(([file, begin, text], place) => {
      const figure = make("figure");
      figure.id = `source-${place}`;
      figure.append(make("figcaption", file), ...text.split("\n").map((line, offset) => {
        const row = make("div", undefined, "code");
        row.dataset.line = begin + offset;
        row.append(make("span", String(begin + offset)), make("span", line));
        return row;
      }));
      return figure;
    }));
  }

  function openSource(excerpt, line) {
    at("sources").open = true;
    for (const row of at("sources").querySelectorAll(".aimed")) {
      row.classList.remove("aimed");
      row.removeAttribute("tabindex");
    }
    const row = at(`source-${excerpt}`).querySelector(`[data-line="${line}"]`);
    row.classList.add("aimed");
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }

  // ---- The answer -----------------------------------------------------------------------------------

  // What was found, its causes, and where the trace comes from; on a page that is played the step itself says it all.
  function showAnswer() {
    const { diagnosis, origins, play } = content;
    const isMain = (each, index) => !index || (diagnosis && each.number === diagnosis.seen);
    const shown = play ? [] : remarks, others = shown.filter((each, index) => !isMain(each, index));
    at("findings").replaceChildren(...shown.filter(isMain).flatMap(finding));
    if (others.length) {
      at("findings").append(folded(counted(others.length, "more finding", "more findings"), ...others.flatMap(finding)));
    }
    at("causes").replaceChildren(...(diagnosis ? diagnosis.rows.flatMap(causeRow) : []));
    at("stories").replaceChildren(...(diagnosis ? diagnosis.stories.map(story) : []));
    if (lap !== null && !play) at("findings").append(lapLine());
    at("origins").replaceChildren(...origins.flatMap(([name, short, full]) => {
      const said = make("dd");
      if (full) said.append(folded(short, make("div", full))); else said.append(make("code", short));
      return [make("dt", name), said];
    }));
    at("answer").hidden = !at("findings").firstChild && !at("causes").firstChild && !origins.length;
    showMarks();
    showOutside();
  }

  function lapLine() {
    const line = make("p", "↻ ");
    line.append(lapText(), " ", button(steps[lap].number === 0 ? "to the initial state" : `to ${nameAt(lap)}`, () => show(lap)));
    return line;
  }

  function finding({ number, title, short }) {
    const head = make("p"), place = placeOf(number);
    head.append(make("span", title, "bad"), " ");
    if (place + first === number) head.append(button(nameAt(place), () => show(place)));
    return short.length ? [head, withPlaces("pre", short.join("\n"))] : [head];
  }

  // A sentence in which each flaw that has a story leads to it.
  function causeRow([head, text, names, inWords]) {
    const said = make("dd");
    let rest = text;
    for (const name of names) {
      const begin = rest.indexOf(name);
      if (begin < 0) continue;
      const link = make("a", name);
      link.href = `#story-${name}`;
      link.addEventListener("click", (event) => { event.preventDefault(); openStory(name); });
      said.append(...linked(rest.slice(0, begin)), link);
      rest = rest.slice(begin + name.length);
    }
    said.append(...linked(rest), ...inWords.map((each) => make("div", each)));
    return [make("dt", head), said];
  }

  function story([name, file, text]) {
    const made = folded(`The story of ${name}, in a minimal example (its nodes are others)`, ...text.split("\n\n").map((each) => make("p", each)), make("p", file));
    made.id = `story-${name}`;
    return made;
  }

  function openStory(name) {
    const found = at(`story-${name}`);
    found.open = true;
    found.querySelector("summary").focus();
    found.scrollIntoView({ block: "nearest" });
  }

  function folded(summary, ...parts) {
    const made = make("details");
    made.append(make("summary", summary), ...parts);
    return made;
  }

  // The slider shows where the two steps are that a diagnosis names, and a button leads to each.
  function showMarks() {
    for (const [id, place] of [["decided", decided], ["seen", seen]]) {
      at(id).hidden = place === null;
      if (place !== null) at(id).textContent = `${markOf(place)}: ${nameAt(place)}`;
    }
    at("wrong").hidden = firstWrong === undefined || firstWrong === seen;
    const placed = (share) => `calc(8px + (100% - 16px) * ${share})`;  // the slider's knob is 16 pixels wide
    const ticks = (decided === null ? [] : [decided, seen]).map((place) => {
      const tick = make("span", undefined, place === decided ? "decided" : "seen");
      tick.style.left = placed(last ? place / last : 0);
      return tick;
    });
    if (lap !== null) {
      const bracket = make("span", undefined, "lap");
      bracket.style.left = placed(last ? lap / last : 0);
      bracket.style.right = "8px";
      ticks.push(bracket);
    }
    at("ticks").replaceChildren(...ticks);
  }

  function showOutside() {
    const { size } = outside;
    at("outside").hidden = !size;
    at("outside").querySelector("span").textContent = `${counted(size, "step is", "steps are")} faint: no message or later step`
      + ` of ${size === 1 ? "its" : "their"} node leads from there to what is wrong.`;
  }

  // ---- The strip of properties ----------------------------------------------------------------------

  function makeStrip() {
    const failing = properties.map((_, index) => steps.flatMap((step, place) => (step.failed.includes(index) ? [place] : [])));
    const bad = properties.flatMap((_, index) => (failing[index].length ? [index] : []));
    const good = properties.flatMap((_, index) => (failing[index].length ? [] : [index]));
    const row = (index) => {
      const line = make("div", undefined, "property"), count = failing[index].length;
      const word = count ? `false after ${count} of ${counted(steps.length, "step", "steps")}` : "holds throughout";
      const name = make("span", `${count ? "✕" : "✓"} ${properties[index]}`, count ? "name bad" : "name");
      name.title = properties[index];
      const svg = draw("svg", { viewBox: `0 0 ${steps.length} 1`, preserveAspectRatio: "none", role: "img" });
      svg.append(draw("title", {}, `${properties[index]}: ${word}`));
      svg.append(draw("rect", { x: 0, y: 0.3, width: steps.length, height: 0.4, class: "holds" }));
      for (const place of failing[index]) svg.append(draw("rect", { x: place, y: 0, width: 1, height: 1, class: "fails" }));
      svg.append(draw("line", { x1: 0, x2: 0, y1: 0, y2: 1, class: "now" }));
      line.append(name, svg);
      return line;
    };
    at("strip").replaceChildren(...bad.map(row));
    if (good.length) {
      const more = make("details");
      more.append(make("summary", `${good.length} ${bad.length ? "other " : ""}${good.length === 1 ? "property holds" : "properties hold"} in every step${content.count > last ? " that is shown" : ""}`), ...good.map(row));
      at("strip").append(more);
    }
  }

  function showStrip() {
    for (const line of at("strip").querySelectorAll(".now")) {
      line.setAttribute("x1", current + 0.5);
      line.setAttribute("x2", current + 0.5);
    }
  }

  // ---- Going from step to step ----------------------------------------------------------------------

  function show(place) {
    const next = Math.max(0, Math.min(last, place));
    if (next === current) return;
    current = next;
    chosen = null;
    at("message").textContent = "";
    const step = steps[current];
    at("scrubber").value = String(current);
    const mark = [markOf(current), lap !== null && current >= lap ? "repeated" : ""].filter(Boolean).map((each) => `, ${each}`).join("");
    at("scrubber").setAttribute("aria-valuetext", `${nameAt(current)}: ${called(step)}${mark}`);
    at("position").textContent = `${isByLine() ? `${nameAt(current)}, ` : ""}${step.number} of ${content.count}${mark}`;
    if (nodes.length) { keepInSight(); drawWindow(); showNodes(); }
    showStrip();
    showTrail();
    showStep();
    const failed = step.failed.map((index) => properties[index]);
    const name = nameAt(current);
    at("live").textContent = `${name[0].toUpperCase()}${name.slice(1)}: ${called(step)}${nodeOf(step) ? ` of ${nodeOf(step)}` : ""}${mark}`
      + `${step.refused ? ", which the spec does not allow" : ""}${failed.length ? `. False: ${failed.join(", ")}` : ""}`;
    if (!content.play) {  // a page that is played has the whole path in its address
      history.replaceState(null, "", content.lines?.[current] ? `#line=${content.lines[current]}` : `#step=${step.number}`);
    }
    for (const listener of listeners) listener(current);
  }

  function sameNode(direction) {
    const node = steps[current].node;
    for (let place = current + direction; place >= 0 && place <= last; place += direction) {
      if (steps[place].node === node) return show(place);
    }
  }

  // A change in the words of its line.
  function changeText([where, part, sign, old, now]) {
    const value = sign ? `${sign}${now ? ` = ${now}` : ""}${old ? ` was ${old}` : ""}` : `${old} -> ${now}`;
    return [where, part ? `${part} ${value}` : value];
  }

  // All that is shown of each step, to be searched: its line, its arguments, what it changes, its messages, what is wrong.
  function textOfSteps() {
    const found = steps.map((step) => [called(step), nodeOf(step), step.line ?? "", ...step.args.flat(),
      ...step.changed.flatMap(changeText), ...Object.entries(step.values).flat(), ...step.failed.map((index) => properties[index])]);
    found[0].push(...content.initial.flat());
    for (const { number, title, lines, tables } of remarks) {
      if (number < first || number > first + last) continue;  // it is left out
      found[placeOf(number)].push(title, ...lines, ...tables.flatMap((table) => [table.title, ...table.heads, ...table.rows.flat()]));
    }
    for (const message of messages) {
      const fields = message.fields.map(([name, value]) => `${name} = ${value}`);
      for (const number of [message.sent, message.ended]) {
        if (number !== null && number >= first && number <= first + last) found[placeOf(number)].push(message.label, message.fate, ...fields);
      }
    }
    return found.map((parts) => parts.join("\n").toLowerCase());
  }

  function search() {
    const wanted = at("search").value.trim().toLowerCase();
    if (wanted) texts ??= textOfSteps();
    // Line 4 is not line 42.
    const line = /^line \d+$/.test(wanted) ? new RegExp(`${wanted}(?!\\d)`) : null;
    const isHit = (text) => (line ? line.test(text) : text.includes(wanted));
    hits = wanted ? texts.flatMap((text, place) => (isHit(text) ? [place] : [])) : [];
    at("hits").textContent = wanted ? counted(hits.length, "step", "steps") : "";
  }

  function nextHit() {
    if (hits.length) show(hits.find((place) => place > current) ?? hits[0]);
  }

  function theme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }

  const isDark = () => document.documentElement.dataset.theme === "dark";

  function toggleHelp() {
    at("keys").hidden = !at("keys").hidden;
    at("help").setAttribute("aria-expanded", String(!at("keys").hidden));
  }

  const keys = {
    ArrowLeft: () => show(current - 1),
    ArrowRight: () => show(current + 1),
    Home: () => show(0),
    End: () => show(last),
    n: () => sameNode(1),
    p: () => sameNode(-1),
    c: () => decided !== null && show(current === decided ? seen : decided),
    v: () => firstWrong !== undefined && show(firstWrong),
    d: () => theme(!isDark()),
    "?": toggleHelp,
    "/": () => at("search").focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === at("search")) {
      if (event.key === "Enter") nextHit();
      if (event.key === "Escape") at("search").blur();
      return;
    }
    if (event.target.matches("input[type=text], input[type=search], select")) return;  // there each key is a letter
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  function stepOfAddress() {
    const found = /^#(step|line)=(\d+)$/.exec(location.hash);
    if (!found) return null;
    const number = Number(found[2]);
    if (found[1] === "step") return placeOf(number);
    // A line that is no step is within the one before it.
    if (content.names) return content.names.includes(`line ${number}`) ? content.names.indexOf(`line ${number}`) : null;
    return content.lines ? Math.max(0, content.lines.findLastIndex((line) => line <= number)) : null;
  }

  // Show a behaviour, at the place of one of its steps.
  function load(next, place) {
    content = next;
    ({ steps, nodes, messages, actions, properties, remarks } = content);
    first = steps[0].number;
    last = steps.length - 1;
    floor = nodes.length * LANE + 34;
    [current, drawn, chosen] = [-1, null, null];
    collect();
    markLate();
    findWrong();
    findCause();
    lap = content.backTo === null ? null : placeOf(content.backTo);
    height = floor + (decided === null ? lap === null ? 0 : 22 : 30);  // for the names of two steps, or of the lap
    gaps = nodes.map((_, node) => downs(node));
    texts = null;
    showHead();
    showSources();
    showAnswer();
    makePanels();
    makeStrip();
    at("diagram").hidden = at("nodes").hidden = !nodes.length;
    measure();
    at("lanes").replaceChildren(...nodes.map((name) => make("div", name, "lane")));
    canvas.style.width = `${xOf(last) + AFTER}px`;
    canvas.style.height = `${height}px`;
    search();
    show(place ?? decided ?? firstWrong ?? 0);
  }

  function showHead() {
    at("title").textContent = content.title;
    const left = content.count - last;
    const range = isByLine() ? `${nameAt(0)} to ${nameAt(last)}, ${counted(steps.length, "state", "states")}`
      : `steps ${first} to ${steps[last].number}`;
    const part = left ? ` Shown are ${range} of ${content.count + (isByLine() ? 1 : 0)}.` : "";
    const below = content.lowest > 0 ? ` Long logs are shown without their first entries, up to ${content.lowest} of them.` : "";
    const verdict = make("span", content.verdict, content.verdict === "holds" ? "good" : "bad");
    at("verdict").replaceChildren(verdict, `: ${content.reason}.${part}${below}`);
    at("scrubber").max = String(last);
    if (nodes.length) fill("initial", content.initial);
    at("initial").hidden = !nodes.length;
    at("state").hidden = !variables.size;
    at("trail").hidden = nodes.length > 0;
    at("trail").replaceChildren();
    listed = null;
  }

  function begin() {
    theme(matchMedia("(prefers-color-scheme: dark)").matches);
    for (const [id, key] of [["first", "Home"], ["back", "ArrowLeft"], ["forward", "ArrowRight"], ["last", "End"],
      ["wrong", "v"], ["theme", "d"], ["help", "?"]]) at(id).addEventListener("click", () => keys[key]());
    at("scrubber").addEventListener("input", () => show(Number(at("scrubber").value)));
    at("search").addEventListener("input", search);
    at("decided").addEventListener("click", () => show(decided));
    at("seen").addEventListener("click", () => show(seen));
    at("plainly").addEventListener("change", () => {
      document.documentElement.classList.toggle("plain", at("plainly").checked);
    });
    addEventListener("hashchange", () => { const place = stepOfAddress(); if (place !== null) show(place); });
    paper.addEventListener("change", () => layOut(paper.matches));
    let asked = false;
    scroller.addEventListener("scroll", () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        const from = scroller.scrollLeft / COLUMN, to = (scroller.scrollLeft + scroller.clientWidth) / COLUMN;
        if (!drawn || (from < drawn[0] + 4 && drawn[0] > 0) || (to > drawn[1] - 4 && drawn[1] < last)) drawWindow();
      });
    });
    addEventListener("resize", () => layOut(paper.matches));
    addEventListener("beforeprint", () => layOut(true));
    addEventListener("afterprint", () => layOut(false));
    const whole = JSON.parse(at("content").textContent);
    content = whole;
    first = whole.steps[0].number;
    last = whole.steps.length - 1;
    load(whole, stepOfAddress() ?? (whole.play ? last : undefined));
    // What another script of the page may do with it.
    window.lockstepPage = {
      whole, load, make, keys, listeners, hooks, show, choose, messageText, measure: () => layOut(paper.matches),
      place: () => current, step: () => steps[current], nodes: () => nodes, messages: () => messages,
      actionName: () => actionOf(steps[current]),
    };
  }

  begin();
})();
