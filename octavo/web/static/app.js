// What is live on Octavo's pages. Everything that is read works without it.
"use strict";
(() => {
  const one = (what, within = document) => within.querySelector(what);
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const thin = (value) => String(Math.trunc(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const money = (micros) => (!micros ? "0" : micros >= 1e6 ? (micros / 1e6).toFixed(2) : (micros / 1e6).toFixed(4));
  const put = (node, text) => { if (node && node.textContent !== text) node.textContent = text; };

  // Load a page anew and take over the parts of it that are named, unless somebody is at work in them.
  const busy = (node) => node.contains(document.activeElement) && document.activeElement !== node && document.activeElement !== document.body;
  async function renew(ids, address = location.href) {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (!answer.ok) return null;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of ids) {
      const old = document.getElementById(id), made = fresh.getElementById(id);
      if (old && made && !busy(old) && !one("details[open].confirm", old)) old.replaceWith(made);
    }
    return fresh;
  }

  // Lists that change while one looks at them.
  function refresh() {
    const node = one("[data-refresh]");
    if (!node) return;
    const wait = Number(node.dataset.refresh) * 1000;
    setTimeout(async () => {
      if (!document.hidden) await renew([node.id]).catch(() => null);
      refresh();
    }, wait);
  }

  // The map: a canvas in the place of the picture, changed cell by cell.
  class ChunkMap {
    constructor(picture) {
      const data = picture.dataset;
      this.step = data.step;
      this.columns = Number(data.columns);
      this.cells = Number(data.cells);
      this.total = Number(data.total);
      this.colours = JSON.parse(data.colours);
      this.words = JSON.parse(data.words);
      this.at = -1;
      this.codes = new Uint8Array(this.cells);
      this.canvas = document.createElement("canvas");
      this.canvas.width = this.columns;
      this.canvas.height = Math.max(1, Math.ceil(this.cells / this.columns));
      this.canvas.style.width = `${this.columns * Number(data.scale)}px`;
      this.canvas.id = "map-canvas";
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", "Map of chunks. Arrow keys move, Enter opens. The table below says the same in words.");
      this.said = document.createElement("p");
      this.said.className = "dim";
      this.said.setAttribute("role", "status");
      this.said.textContent = "\u00a0";
      this.link = picture.closest("a");
      this.job = one("[data-job]").dataset.job;
    }
    async load() {
      const answer = await fetch(`/v1/jobs/${this.job}/map?step=${encodeURIComponent(this.step)}`);
      if (!answer.ok) return false;
      const found = await answer.json();
      if (found.cells !== this.cells) return false;
      this.names = found.codes.map((code) => this.words[code] || code);
      this.codes.fill(0);
      this.apply(found.runs);
      return true;
    }
    show() {
      this.link.replaceWith(this.canvas);
      this.canvas.parentNode.after(this.said);
      this.canvas.addEventListener("pointermove", (event) => this.point(this.under(event)));
      this.canvas.addEventListener("click", (event) => this.open(this.under(event)));
      this.canvas.addEventListener("keydown", (event) => {
        const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, PageUp: -this.columns * 10, PageDown: this.columns * 10 };
        if (event.key in steps) { this.point(Math.min(this.cells - 1, Math.max(0, this.at + steps[event.key]))); event.preventDefault(); }
        if (event.key === "Enter" && this.at >= 0) this.open(this.at);
      });
    }
    under(event) {
      const box = this.canvas.getBoundingClientRect();
      const x = Math.floor((event.clientX - box.left) * this.columns / box.width), y = Math.floor((event.clientY - box.top) * this.canvas.height / box.height);
      return y * this.columns + x;
    }
    ordinal(cell) { return Math.floor(cell * this.total / this.cells); }
    point(cell) {
      if (cell < 0 || cell >= this.cells) return;
      this.at = cell;
      put(this.said, `chunk ${thin(this.ordinal(cell))}: ${this.names[this.codes[cell]]}`);
    }
    open(cell) {
      if (cell >= 0 && cell < this.cells) location.href = `/jobs/${this.job}/at?step=${encodeURIComponent(this.step)}&ordinal=${this.ordinal(cell)}`;
    }
    apply(runs) {
      for (const [first, count, code] of runs) this.codes.fill(code, first, first + count);
      const pen = this.canvas.getContext("2d");
      const image = pen.createImageData(this.canvas.width, this.canvas.height);
      for (let cell = 0; cell < this.cells; cell++) {
        const code = this.codes[cell];
        if (!code) continue;
        const [red, green, blue] = this.colours[code];
        image.data.set([red, green, blue, 255], cell * 4);
      }
      pen.putImageData(image, 0, 0);
    }
  }

  async function mapOf() {
    const picture = one("[data-map]");
    if (!picture) return null;
    const map = new ChunkMap(picture);
    if (!(await map.load().catch(() => false))) return null;
    map.show();
    return map;
  }

  // A job as it goes on.
  async function watch() {
    const job = one("[data-job]");
    if (!job) return;
    let map = await mapOf(), drawing = false;
    if (!("live" in job.dataset)) return;
    let last = null, stale = 0;
    const events = new EventSource(`/v1/jobs/${job.dataset.job}/events`);
    const again = (ids) => renew(ids).catch(() => null);
    // The map is not there before the first chunks are planned, and its picture is another one when there are more.
    const draw = async () => {
      if (drawing) return;
      drawing = true;
      await again(["chunks"]);
      map = await mapOf();
      drawing = false;
    };
    const tell = (event) => {
      const now = JSON.parse(event.data);
      for (const name of ["done", "tasks", "hits", "calls", "running", "retrying", "holes", "tokens"]) all(`[data-v=${name}]`).forEach((node) => put(node, thin(now[name])));
      all("[data-v=cost_micros]").forEach((node) => put(node, money(now.cost_micros)));
      const bar = one("#standing [data-bar]");
      if (bar) { bar.max = now.tasks || 1; bar.value = now.done; }
      const because = one("[data-v=because]");
      if (because) { because.hidden = !now.because; put(because, `because ${now.because}`); }
      steps(now.steps);
      speed(now);
      const changed = map && now.map[map.step];
      if (!map) { if (now.tasks) draw(); }
      else if (changed === "reload") map.load().then((fits) => fits || draw());
      else if (changed) map.apply(changed);
      const shape = [now.state, !now.because, now.done > 0, ...now.steps.map((step) => step.state)].join();
      if (last !== null && last !== shape) again(["standing", "step-table", "onward"]);
      if (performance.now() - stale > 3000) { stale = performance.now(); again(["hole-groups", "legend"]); }
      last = shape;
      // No reload: it would take somebody back who has just followed a link.
      if (event.type === "end") { events.close(); setTimeout(() => again(["job"]).then(mapOf), 400); }
    };
    events.addEventListener("progress", tell);
    events.addEventListener("end", tell);
    events.addEventListener("note", () => again(["happened"]));
    events.addEventListener("reset", () => map && map.load().then((fits) => fits || draw()));
  }
  function steps(levels) {
    const sums = {};
    for (const level of levels) {
      const sum = (sums[level.position] ??= { done: 0, tasks: 0, hits: 0, calls: 0, running: 0, retrying: 0, holes: 0 });
      for (const name of Object.keys(sum)) sum[name] += level[name];
    }
    for (const [position, sum] of Object.entries(sums)) {
      const row = one(`[data-step="${position}"]`);
      if (!row) continue;
      for (const [name, value] of Object.entries(sum)) put(one(`[data-s=${name}]`, row), thin(value));
      const bar = one("[data-bar]", row);
      if (bar) { bar.max = sum.tasks || 1; bar.value = sum.done; }
    }
  }
  const seen = [];
  function speed(now) {
    seen.push([performance.now(), now.done]);
    while (seen.length > 30) seen.shift();
    const [first, last] = [seen[0], seen.at(-1)];
    const rate = last[0] - first[0] > 1500 ? (last[1] - first[1]) * 1000 / (last[0] - first[0]) : 0;
    const left = rate > 0 ? (now.tasks - now.done) / rate : 0;
    const words = left >= 3600 ? `${Math.floor(left / 3600)} h ${Math.floor(left % 3600 / 60)} min` : left >= 60 ? `${Math.floor(left / 60)} min` : `${Math.ceil(left)} s`;
    put(one("[data-v=rate]"), rate > 0 ? `${rate.toFixed(1)}/s${left ? `, about ${words} left` : ""}` : "");
  }

  // The reader: a citation changes the book's side only, and the marked lines come into view.
  function toMark(pane) {
    const range = /^#L(\d+)-L(\d+)$/.exec(location.hash);
    if (range) {
      for (let line = Number(range[1]); line <= Number(range[2]); line++) document.getElementById(`L${line}`)?.classList.add("cited");
      document.getElementById(`L${range[1]}`)?.scrollIntoView({ block: "center" });
      return;
    }
    const mark = one("mark", pane) || (location.hash.startsWith("#L") && document.getElementById(location.hash.slice(1)));
    if (mark) mark.scrollIntoView({ block: "center" });
  }
  function reader() {
    const result = document.getElementById("result"), source = document.getElementById("source");
    if (!source) return;
    toMark(source);
    if (!result) return;
    document.addEventListener("click", async (event) => {
      const link = event.target.closest("a.cite");
      if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      if (await turn(link.href).catch(() => false)) {
        history.pushState(null, "", link.href);
        all("a.cite[aria-current]").forEach((old) => old.removeAttribute("aria-current"));
        link.setAttribute("aria-current", "true");
      } else location.href = link.href;
    });
    addEventListener("popstate", () => turn(location.href).catch(() => location.reload()));
  }
  async function turn(address) {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (!answer.ok) return false;
    const made = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("source");
    document.getElementById("source").replaceWith(made);
    toMark(made);
    made.focus({ preventScroll: true });
    return true;
  }

  // A book goes up in pieces; a connection that breaks is taken up where it broke.
  const PIECE = 4 << 20;
  function upload() {
    const form = one("[data-upload]");
    if (!form) return;
    form.addEventListener("submit", async (event) => {
      const file = form.book.files[0];
      if (!file) return;
      event.preventDefault();
      const said = one("[data-said]", form), bar = one("progress", form), button = one("button", form);
      button.disabled = true;
      bar.hidden = false;
      try {
        const begun = await ask("/v1/uploads", "POST", JSON.stringify({ name: file.name, size: file.size, pipeline: form.pipeline.value, start: form.start.checked }), { "content-type": "application/json" });
        let now = begun, tries = 0;
        while (!now.operation) {
          try {
            const piece = file.slice(now.received, now.received + PIECE);
            now = await ask(`/v1/uploads/${begun.id}`, "PATCH", piece, { "content-type": "application/octet-stream", "upload-offset": String(now.received) });
            tries = 0;
          } catch (error) {
            if (error.final || ++tries > 8) throw error;
            put(said, "the connection broke: it goes on in a moment");
            await new Promise((done) => setTimeout(done, 500 * 2 ** tries));
            now = await ask(`/v1/uploads/${begun.id}`, "GET").catch(() => now);
          }
          bar.value = file.size ? now.received / file.size : 1;
          put(said, `${Math.round(bar.value * 100)} % sent`);
        }
        location.href = `/operations/${now.operation}`;
      } catch (error) {
        put(said, error.message);
        button.disabled = false;
        bar.hidden = true;
      }
    });
  }
  async function ask(address, method, body, headers = {}) {
    const answer = await fetch(address, { method, body, headers });
    if (answer.ok) return answer.json();
    const problem = await answer.json().catch(() => ({}));
    const error = new Error(problem.detail || `the server answered ${answer.status}`);
    error.final = answer.status < 500 && answer.status !== 409 && answer.status !== 429;
    throw error;
  }

  // Keys.
  const PLACES = { h: "/", d: "/documents", j: "/jobs", o: "/holes", c: "/cost", w: "/workers" };
  let going = 0;
  addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "/" && one("[data-search]")) { event.preventDefault(); one("[data-search]").focus(); }
    else if (event.key === "g") going = event.timeStamp;
    else if (event.timeStamp - going < 1500 && event.key in PLACES) location.href = PLACES[event.key];
  });

  // The marks of the reader must be shown by the style sheet alone, so nothing here writes styles but the map's width.
  const enter = one("[data-submit]");
  if (enter) enter.submit();
  refresh();
  watch();
  reader();
  upload();
})();
