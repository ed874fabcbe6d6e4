// Pictures as SVG text: lines, a matrix of cosines, bars.
(function (explorer) {
  "use strict";

  const svg = (width, height, label, inside) =>
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${inside}</svg>`;

  const text = (x, y, words, anchor = "middle") =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;

  // Reasoning blue, memory orange; later anchors are lighter.
  const colour = (group, share) => `hsl(${[210, 25][group]} 80% ${40 + 30 * share}%)`;

  /** Draw one line for each row; group says which mapping a row belongs to. */
  explorer.drawLines = function (rows, groups) {
    const [width, height, left, bottom] = [360, 200, 34, 20];
    const most = Math.max(...rows.flat());
    const x = (i) => left + ((width - left - 6) * i) / (rows[0].length - 1);
    const y = (p) => 8 + (height - bottom - 8) * (1 - p / most);
    const sizes = [0, 1].map((g) => groups.filter((found) => found === g).length);
    const seen = [0, 0];
    const lines = rows.map((row, r) => {
      const group = groups[r];
      const share = seen[group]++ / Math.max(1, sizes[group] - 1);
      const points = row.map((p, i) => `${x(i).toFixed(1)},${y(p).toFixed(1)}`).join(" ");
      return `<polyline points="${points}" fill="none" stroke="${colour(group, share)}" stroke-width="1.3"/>`;
    });
    const ticks = [0, rows[0].length - 1].map((i) => text(x(i), height - 5, i, i ? "end" : "middle")).join("");
    const scale = text(left - 4, y(most) + 8, most.toPrecision(2), "end") + text(left - 4, y(0), "0", "end");
    const axis = `<line x1="${left}" x2="${width - 6}" y1="${y(0)}" y2="${y(0)}" stroke="currentColor"/>`;
    return svg(width, height, "label distributions", axis + lines.join("") + ticks + scale + text(width / 2, height - 5, "label"));
  };

  // The colours of the figures' cosines (ColorBrewer's RdBu), from 1 to -1.
  const SHADES = [
    [103, 0, 31], [178, 24, 43], [214, 96, 77], [244, 165, 130], [253, 219, 199], [247, 247, 247],
    [209, 229, 240], [146, 197, 222], [67, 147, 195], [33, 102, 172], [5, 48, 97],
  ];

  function shade(cosine) {
    const place = ((1 - Math.max(-1, Math.min(1, cosine))) / 2) * (SHADES.length - 1);
    const before = Math.min(Math.floor(place), SHADES.length - 2);
    const mix = (c, i) => Math.round(c + (place - before) * (SHADES[before + 1][i] - c));
    return `rgb(${SHADES[before].map(mix).join(" ")})`;
  }

  // The colours of -1 to 1 below a matrix, which starts at x = left and is as wide as it is high.
  function colourBar(left, top, width) {
    const n = 41;
    const boxes = Array.from({ length: n }, (_, i) => {
      const box = `x="${left + (i * width) / n}" y="${top}" width="${width / n + 0.2}" height="8"`;
      return `<rect ${box} fill="${shade((2 * i) / (n - 1) - 1)}"/>`;
    });
    const ends = [[-1, "start"], [0, "middle"], [1, "end"]];
    const numbers = ends.map(([c, anchor]) => text(left + ((c + 1) / 2) * width, top + 19, c, anchor));
    return boxes.join("") + numbers.join("");
  }

  /** Draw a matrix of cosines with its tokens at the edge and its colours below. */
  explorer.drawMatrix = function (cosines, tokens) {
    const [size, left] = [240, 26];
    const cell = (size - left) / tokens.length;
    const cells = cosines.flatMap((row, i) =>
      row.map((c, j) => {
        const fill = c === null ? "none" : shade(c);
        const box = `x="${left + j * cell}" y="${i * cell}" width="${cell}" height="${cell}"`;
        const said = c === null ? "no direction" : c.toFixed(3);
        return `<rect ${box} fill="${fill}"><title>${tokens[i]}, ${tokens[j]}: ${said}</title></rect>`;
      })
    );
    const every = Math.ceil(tokens.length / 10);
    const names = tokens.map((s, i) => (i % every ? "" : text(left - 4, (i + 0.7) * cell, s, "end")));
    const inside = `<g shape-rendering="crispEdges">${cells.join("")}</g>${names.join("")}`;
    return svg(size, size - left + 32, "cosine matrix", inside + colourBar(left, size - left + 8, size - left));
  };

  /** Draw the range of each step's time on a logarithmic axis. */
  explorer.drawSteps = function (steps) {
    const [width, row, left] = [360, 24, 46];
    const shown = steps.filter((step) => Number.isFinite(step.high));
    if (!shown.length) return "<p>Nothing is driven: no step.</p>";
    const logs = shown.flatMap((step) => [Math.log10(step.low), Math.log10(step.high)]);
    // At least the decades of the usual steps, so that bars move when γ does.
    const [low, high] = [Math.min(-3, Math.floor(Math.min(...logs))), Math.max(3, Math.ceil(Math.max(...logs)))];
    const x = (t) => left + ((width - left - 90) * (Math.log10(t) - low)) / Math.max(1, high - low);
    const bars = shown.map((step, k) => {
      const y = k * row + 4;
      const box = `x="${x(step.low)}" y="${y}" width="${Math.max(3, x(step.high) - x(step.low))}" height="${row - 10}"`;
      const said = [step.low, step.high].map((time) => Number(time.toPrecision(3))).join(" to ");
      return `${text(left - 6, y + 11, `step ${k + 1}`, "end")}<rect ${box} fill="${colour(0, 0.4)}"/>${text(width - 2, y + 11, said, "end")}`;
    });
    const bottom = shown.length * row + 14;
    const decades = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const ticks = decades.map((d) => text(x(10 ** d), bottom, Math.abs(d) > 2 ? `1e${d}` : 10 ** d));
    return svg(width, bottom + 6, "times of the rank steps, as Σ learning rate", bars.join("") + ticks.join(""));
  };
})((globalThis.anchorflowExplorer ??= {}));
