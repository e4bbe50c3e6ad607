// Spike raster on a canvas. `root` holds a canvas and a line of text (.told); `data` holds
//   tokens  [{from, to, word, doc, topic}]  clamped from .. to (ms), won by topic at `to`
//   ties    [{at, topic}]                   rejected attempts
//   topics  [{topic, words, colour}]        rows of the topic layer
//   tick    length of a tick (ms)
// What is shown is also written to root.dataset (first, last, told, pinned), for tests.
"use strict";
const canvas = root.querySelector("canvas");
const told = root.querySelector(".told");
const pen = canvas.getContext("2d");
const LEFT = 120, RIGHT = 12, TOP = 8, BOTTOM = 34;
const whole = [data.tokens[0].from - data.tick, data.tokens[data.tokens.length - 1].to + data.tick];
const colour = {}, words = {};
data.topics.forEach(t => { colour[t.topic] = t.colour; words[t.topic] = t.words; });
const opening = data.tokens[Math.min(29, data.tokens.length - 1)].to + data.tick;
let view = [whole[0], opening], hovered = null, pinned = null, layout = null, drag = null;

function rowsOf(tokens, key) {            // in the order of the first spike
  const rows = new Map();
  tokens.forEach(t => { if (!rows.has(t[key])) rows.set(t[key], rows.size); });
  return rows;
}

function measure() {                      // which token and which row is where, in pixels
  const box = canvas.getBoundingClientRect();
  const width = box.width - LEFT - RIGHT, height = box.height - TOP - BOTTOM;
  const shown = data.tokens.filter(t => t.to >= view[0] && t.from <= view[1]);
  const ties = data.ties.filter(t => t.at >= view[0] && t.at <= view[1]);
  const active = new Set(shown.concat(ties).map(t => t.topic));
  const topics = data.topics.filter(t => active.has(t.topic));
  const word = rowsOf(shown, "word"), doc = rowsOf(shown, "doc"), topic = rowsOf(topics, "topic");
  // Documents and topics always legible; the words, of which there are most, share the rest.
  const step = Math.min(16, 0.6 * height / (doc.size + topic.size + 1));
  const docTop = TOP + height - step * (doc.size + topic.size + 0.5);
  const topicTop = docTop + step * (doc.size + 0.5);
  const wordStep = Math.min(16, (docTop - TOP - 0.5 * step) / word.size);
  const x = ms => LEFT + width * (ms - view[0]) / (view[1] - view[0]);
  const wordTop = docTop - 0.5 * step - wordStep * word.size;
  return {
    box, width, shown, ties, topics, word, doc, step, wordStep, wordTop, x, docTop, topicTop,
    yWord: t => wordTop + wordStep * (word.get(t.word) + 0.5),
    yDoc: t => docTop + step * (doc.get(t.doc) + 0.5),
    yTopic: z => topicTop + step * (topic.get(z) + 0.5),
    time: px => view[0] + (px - LEFT) / width * (view[1] - view[0]),
  };
}

function label(text, y, step, strong) {
  if (step < 7 && !strong) return;        // too dense: zoom in
  pen.fillStyle = strong ? "#000" : "#555";
  pen.font = (strong ? "bold " : "") + Math.min(12, Math.max(8, step)) + "px system-ui, sans-serif";
  pen.textAlign = "right"; pen.textBaseline = "middle";
  pen.fillText(text, LEFT - 8, y, LEFT - 10);
}

function draw() {
  layout = measure();
  const { box, shown, word, doc, step, wordStep, wordTop, x, docTop, topicTop } = layout;
  const scale = window.devicePixelRatio || 1;
  canvas.width = box.width * scale; canvas.height = box.height * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  const faded = t => (pinned !== null && t.topic !== pinned) ||
    (pinned === null && hovered !== null && t.topic !== hovered.topic && t.word !== hovered.word);
  word.forEach((row, name) => label(name, wordTop + wordStep * (row + 0.5), wordStep,
    hovered !== null && name === hovered.word));
  doc.forEach((row, d) => label("document " + d, docTop + step * (row + 0.5), step,
    hovered !== null && d === hovered.doc));
  layout.topics.forEach(t => label("topic " + t.topic, layout.yTopic(t.topic), step,
    (hovered !== null && t.topic === hovered.topic) || t.topic === pinned));
  pen.strokeStyle = "#bbb"; pen.lineWidth = 1;
  [docTop - step * 0.25, topicTop - step * 0.25].forEach(y => {
    pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(box.width - RIGHT, y); pen.stroke();
  });
  pen.save(); pen.beginPath(); pen.rect(LEFT, 0, layout.width, box.height); pen.clip();
  const thick = Math.max(4, Math.min(10, step * 0.7));
  const thin = Math.max(2, Math.min(10, wordStep * 0.7));
  const perTick = layout.width * data.tick / (view[1] - view[0]);
  shown.forEach(t => {
    pen.globalAlpha = faded(t) ? 0.12 : 1;
    pen.fillStyle = pen.strokeStyle = colour[t.topic];
    [[layout.yWord(t), thin], [layout.yDoc(t), thick]].forEach(([y, high]) => {
      if (perTick < 3) {                  // ticks would melt: a bar
        pen.fillRect(x(t.from) - 1, y - high / 2, Math.max(2, x(t.to) - x(t.from)), high);
        return;
      }
      for (let ms = t.from; ms <= t.to + 1e-6; ms += data.tick)
        pen.fillRect(x(ms) - 1, y - high / 2, 2, high);
    });
    pen.beginPath(); pen.lineWidth = t === hovered ? 2 : 0.6;
    pen.moveTo(x(t.to), layout.yWord(t)); pen.lineTo(x(t.to), layout.yTopic(t.topic)); pen.stroke();
    pen.beginPath();
    pen.arc(x(t.to), layout.yTopic(t.topic), Math.max(2.5, thick / 2), 0, 7); pen.fill();
  });
  pen.globalAlpha = 1; pen.fillStyle = "#bbb";
  layout.ties.forEach(t => pen.fillRect(x(t.at) - 1, layout.yTopic(t.topic) - thick / 2, 2, thick));
  pen.restore();
  axis(box);
  root.dataset.first = view[0]; root.dataset.last = view[1];
  root.dataset.told = told.textContent; root.dataset.pinned = pinned === null ? "" : pinned;
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
  const ms = layout.time(px), margin = data.tick / 2;
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
  const span = Math.min(Math.max(to - from, 4 * data.tick), whole[1] - whole[0]);
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
window.addEventListener("resize", draw);
draw();
