// Spike rasters on a canvas, one window of the training after the other. `root` holds a slider, a
// button, a canvas and a line of text (.told); `data` holds
//   windows  [{name, tick, tokens, ties}], times in ms
//     tokens  [{from, to, word, doc, topic, wordHome, docHome}]  clamped from .. to, won at `to`;
//             home: the topic that the finished model gives the word and the document
//     ties    [{at, topic}]           rejected attempts
//   topics   [{topic, words, label, colour}]  rows of the topic layer, in this order
// What is shown is also written to root.dataset (window, first, last, told, pinned), for tests.
"use strict";
const canvas = root.querySelector("canvas");
const told = root.querySelector(".told");
const slider = root.querySelector("input"), output = root.querySelector("output");
const play = root.querySelector(".play");
const pen = canvas.getContext("2d");
const LEFT = 190, RIGHT = 12, TOP = 22, BOTTOM = 34, GAP = 24, EDGE = 7;
const colour = {}, words = {}, place = {};
data.topics.forEach((t, n) => {
  colour[t.topic] = t.colour; words[t.topic] = t.words; place[t.topic] = n;
});
let now = data.windows[0], whole = [0, 1], view = [0, 1];
let hovered = null, pinned = null, layout = null, drag = null, timer = null;

function rowsOf(key, home) {              // of all windows, beside those of the same topic
  const homes = new Map(), often = new Map();
  data.windows.forEach(w => w.tokens.forEach(t => {
    homes.set(t[key], t[home] === null ? data.topics.length : place[t[home]]);
    often.set(t[key], (often.get(t[key]) || 0) + 1);
  }));
  const names = Array.from(homes.keys());
  names.sort((a, b) => homes.get(a) - homes.get(b) || often.get(b) - often.get(a));
  return { homes, names };
}
const wordRows = rowsOf("word", "wordHome"), docRows = rowsOf("doc", "docHome");

function inView(rows, key, shown) {       // all rows of all windows, unless few tokens are in view
  if (view[1] - view[0] >= 0.999 * (whole[1] - whole[0])) return rows.names;
  const active = new Set(shown.map(t => t[key]));
  return rows.names.filter(name => active.has(name));
}

function measure() {                      // which token and which row is where, in pixels
  const box = canvas.getBoundingClientRect();
  const width = box.width - LEFT - RIGHT, height = box.height - TOP - BOTTOM - 2 * GAP;
  const shown = now.tokens.filter(t => t.to >= view[0] && t.from <= view[1]);
  const ties = now.ties.filter(t => t.at >= view[0] && t.at <= view[1]);
  const word = new Map(inView(wordRows, "word", shown).map((name, n) => [name, n]));
  const doc = new Map(inView(docRows, "doc", shown).map((name, n) => [name, n]));
  // Topics always legible; words and documents share the rest.
  const step = Math.min(15, 0.45 * height / data.topics.length);
  const rest = height - step * data.topics.length;
  const wordStep = Math.min(16, 0.6 * rest / Math.max(word.size, 1));
  const docStep = Math.min(16, 0.4 * rest / Math.max(doc.size, 1));
  const docTop = TOP + 0.6 * rest + GAP, topicTop = docTop + 0.4 * rest + GAP;
  const x = ms => LEFT + width * (ms - view[0]) / (view[1] - view[0]);
  return {
    box, width, shown, ties, word, doc, step, wordStep, docStep, x, docTop, topicTop,
    yWord: t => TOP + wordStep * (word.get(t.word) + 0.5),
    yDoc: t => docTop + docStep * (doc.get(t.doc) + 0.5),
    yTopic: z => topicTop + step * (place[z] + 0.5),
    time: px => view[0] + (px - LEFT) / width * (view[1] - view[0]),
  };
}

function label(text, y, step, strong) {
  if (step < 6 && !strong) return;        // too dense: zoom in
  pen.fillStyle = strong ? "#000" : "#555";
  pen.font = (strong ? "bold " : "") + Math.min(12, Math.max(8, step)) + "px system-ui, sans-serif";
  pen.textAlign = "right"; pen.textBaseline = "middle";
  pen.fillText(text, LEFT - EDGE - 6, y, LEFT - EDGE - 10);
}

function layer(name, y) {
  pen.fillStyle = "#222"; pen.font = "bold 12px system-ui, sans-serif";
  pen.textAlign = "left"; pen.textBaseline = "bottom";
  pen.fillText(name, LEFT, y - 3);
}

function edge(rows, homes, top, step) {   // the topic that the finished model gives each row
  rows.forEach((row, name) => {
    const topic = data.topics[homes.get(name)];
    if (topic === undefined) return;
    pen.fillStyle = topic.colour;
    pen.fillRect(LEFT - EDGE, top + step * row, EDGE - 2, Math.max(step, 1));
    pen.globalAlpha = 0.13;
    pen.fillRect(LEFT, top + step * row, layout.width, step);
    pen.globalAlpha = 1;
  });
}

function draw() {
  layout = measure();
  const { box, shown, word, doc, step, wordStep, docStep, x, docTop, topicTop } = layout;
  const scale = window.devicePixelRatio || 1;
  canvas.width = box.width * scale; canvas.height = box.height * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  const faded = t => (pinned !== null && t.topic !== pinned) ||
    (pinned === null && hovered !== null && t.topic !== hovered.topic && t.word !== hovered.word);
  word.forEach((row, name) => label(name, TOP + wordStep * (row + 0.5), wordStep,
    hovered !== null && name === hovered.word));
  doc.forEach((row, d) => label("document " + d, docTop + docStep * (row + 0.5), docStep,
    hovered !== null && d === hovered.doc));
  data.topics.forEach(t => label(t.label, layout.yTopic(t.topic), step,
    (hovered !== null && t.topic === hovered.topic) || t.topic === pinned));
  layer("word neurons", TOP); layer("document neurons", docTop); layer("topic neurons", topicTop);
  edge(word, wordRows.homes, TOP, wordStep); edge(doc, docRows.homes, docTop, docStep);
  data.topics.forEach((t, n) => {
    pen.fillStyle = t.colour; pen.fillRect(LEFT - EDGE, topicTop + step * n, EDGE - 2, step);
    pen.globalAlpha = 0.13; pen.fillRect(LEFT, topicTop + step * n, layout.width, step);
    pen.globalAlpha = 1;
  });
  pen.strokeStyle = "#ccc"; pen.lineWidth = 1;
  [TOP, docTop, topicTop].forEach(y => {
    pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(box.width - RIGHT, y); pen.stroke();
  });
  pen.save(); pen.beginPath(); pen.rect(LEFT, 0, layout.width, box.height); pen.clip();
  const perTick = layout.width * now.tick / (view[1] - view[0]);
  const wide = Math.max(3, Math.min(6, perTick));
  const high = rowStep => Math.max(6, Math.min(10, 0.8 * rowStep));
  const close = shown.length <= 60;       // lines from word to winner would hide the rest
  shown.forEach(t => {
    pen.globalAlpha = faded(t) ? 0.1 : 1;
    pen.fillStyle = pen.strokeStyle = colour[t.topic];
    [[layout.yWord(t), high(wordStep)], [layout.yDoc(t), high(docStep)]].forEach(([y, tall]) => {
      if (perTick < 3) {                  // ticks would melt: a bar
        pen.fillRect(x(t.from) - wide / 2, y - tall / 2, Math.max(wide, x(t.to) - x(t.from)), tall);
        return;
      }
      for (let ms = t.from; ms <= t.to + 1e-6; ms += now.tick)
        pen.fillRect(x(ms) - wide / 2, y - tall / 2, wide, tall);
    });
    if (close || t === hovered) {
      pen.beginPath(); pen.lineWidth = t === hovered ? 2 : 0.6;
      pen.moveTo(x(t.to), layout.yWord(t)); pen.lineTo(x(t.to), layout.yTopic(t.topic));
      pen.stroke();
    }
    pen.fillRect(x(t.to) - wide / 2, layout.yTopic(t.topic) - 0.4 * step, wide, 0.8 * step);
  });
  pen.globalAlpha = 1; pen.fillStyle = "#bbb";
  layout.ties.forEach(t =>
    pen.fillRect(x(t.at) - 1, layout.yTopic(t.topic) - 0.4 * step, 2, 0.8 * step));
  pen.restore();
  axis(box);
  root.dataset.first = view[0]; root.dataset.last = view[1];
  root.dataset.told = told.textContent; root.dataset.pinned = pinned === null ? "" : pinned;
}

function choose(n) {                      // show a window of the training, whole
  now = data.windows[n];
  slider.value = n; output.textContent = now.name; root.dataset.window = n;
  whole = [now.tokens[0].from - now.tick, now.tokens[now.tokens.length - 1].to + now.tick];
  view = whole.slice(); hovered = null; tell(); draw();
}

function axis(box) {
  const span = view[1] - view[0], rough = span / 8;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
  pen.fillStyle = pen.strokeStyle = "#555"; pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center"; pen.textBaseline = "top"; pen.lineWidth = 1;
  const y = box.height - BOTTOM + 4;
  for (let ms = Math.ceil(view[0] / step) * step; ms <= view[1]; ms += step) {
    const px = layout.x(ms);
    pen.beginPath(); pen.moveTo(px, y); pen.lineTo(px, y + 4); pen.stroke();
    pen.fillText(String(Math.round(ms * 1000) / 1000), px, y + 5);
  }
  pen.fillText("time (ms)", LEFT + layout.width / 2, y + 17);
}

function tokenAt(event) {                 // a winner's dot first, else the clamped token
  const px = event.clientX - layout.box.left, py = event.clientY - layout.box.top;
  let best = null, nearest = 10;
  layout.shown.forEach(t => {
    const away = Math.hypot(layout.x(t.to) - px, layout.yTopic(t.topic) - py);
    if (away < nearest) { nearest = away; best = t; }
  });
  if (best !== null || px < LEFT) return best;
  const ms = layout.time(px), margin = now.tick / 2;
  return layout.shown.find(t => ms >= t.from - margin && ms <= t.to + margin) || null;
}

function tell() {
  const t = hovered;
  if (t !== null) {
    told.textContent = "“" + t.word + "” in document " + t.doc + ", clamped " + t.from +
      " to " + t.to + " ms, won by topic " + t.topic + " (" + words[t.topic] + ")";
  } else {
    told.textContent = pinned === null ? "\u00a0" : "topic " + pinned + ": " + words[pinned];
  }
}

function setView(from, to) {
  const span = Math.min(Math.max(to - from, 4 * now.tick), whole[1] - whole[0]);
  const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
  view = [start, start + span];
  draw();
}

function zoom(factor, at) {
  setView(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
}

canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const at = layout.time(event.clientX - canvas.getBoundingClientRect().left);
  zoom(event.deltaY < 0 ? 0.8 : 1.25, at);
}, { passive: false });
canvas.addEventListener("pointerdown", event => {
  drag = { x: event.clientX, view: view.slice(), moved: false };
});
canvas.addEventListener("pointermove", event => {
  layout.box = canvas.getBoundingClientRect();   // the page may have been scrolled
  if (drag !== null) {
    const by = (drag.x - event.clientX) / layout.width * (drag.view[1] - drag.view[0]);
    drag.moved = drag.moved || Math.abs(drag.x - event.clientX) > 3;
    if (drag.moved) { setView(drag.view[0] + by, drag.view[1] + by); return; }
  }
  hovered = tokenAt(event); tell(); draw();
});
window.addEventListener("pointerup", event => {
  if (drag !== null && !drag.moved && event.target === canvas) {
    const token = tokenAt(event);
    pinned = token === null || token.topic === pinned ? null : token.topic;
    tell(); draw();
  }
  drag = null;
});
canvas.addEventListener("pointerleave", () => { hovered = null; tell(); draw(); });
canvas.addEventListener("dblclick", () => { pinned = null; tell(); setView(whole[0], whole[1]); });
canvas.addEventListener("keydown", event => {
  const span = view[1] - view[0], middle = (view[0] + view[1]) / 2;
  const actions = {
    "+": () => zoom(0.8, middle), "-": () => zoom(1.25, middle),
    ArrowLeft: () => setView(view[0] - span / 5, view[1] - span / 5),
    ArrowRight: () => setView(view[0] + span / 5, view[1] + span / 5),
  };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
});
slider.max = data.windows.length - 1;
slider.addEventListener("input", () => choose(Number(slider.value)));
play.addEventListener("click", () => {
  if (timer !== null) { clearInterval(timer); timer = null; play.textContent = "play"; return; }
  play.textContent = "stop"; choose(0);
  timer = setInterval(() => choose((Number(slider.value) + 1) % data.windows.length), 1500);
});
window.addEventListener("resize", draw);
choose(0);
