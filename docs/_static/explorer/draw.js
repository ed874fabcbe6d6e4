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

  // White at 0, red at 1, blue at -1.
  function shade(cosine) {
    const fade = Math.round(255 * (1 - Math.abs(cosine)));
    return cosine < 0 ? `rgb(${fade} ${fade} 255)` : `rgb(255 ${fade} ${fade})`;
  }

  /** Draw a matrix of cosines with its tokens at the edges. */
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
    return svg(size, size - left, "cosine matrix", cells.join("") + names.join(""));
  };

  /** Draw the range of each step's time on a logarithmic axis. */
  explorer.drawSteps = function (steps) {
    const [width, row, left] = [360, 24, 24];
    const shown = steps.filter((step) => Number.isFinite(step.high));
    if (!shown.length) return "<p>Nothing is driven: no step.</p>";
    const logs = shown.flatMap((step) => [Math.log10(step.low), Math.log10(step.high)]);
    const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
    const x = (t) => left + ((width - left - 90) * (Math.log10(t) - low)) / Math.max(1, high - low);
    const bars = shown.map((step, k) => {
      const y = k * row + 4;
      const box = `x="${x(step.low)}" y="${y}" width="${Math.max(3, x(step.high) - x(step.low))}" height="${row - 10}"`;
      const said = `${step.low.toPrecision(3)} to ${step.high.toPrecision(3)}`;
      return `${text(left - 6, y + 11, k + 1, "end")}<rect ${box} fill="${colour(0, 0.4)}"/>${text(width - 2, y + 11, said, "end")}`;
    });
    return svg(width, shown.length * row + 4, "times of the rank steps", bars.join(""));
  };
})((globalThis.anchorflowExplorer ??= {}));
