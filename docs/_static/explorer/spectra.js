// Cosines, singular values and the times of the rank steps.
(function (explorer) {
  "use strict";

  function dot(x, y) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
    return sum;
  }

  /** Return the cosine similarity of every row with every row; null where a row is zero. */
  explorer.cosines = function (rows) {
    const unit = rows.map((row) => {
      // Scaled by the largest entry first, so that tiny rows do not underflow when squared.
      const largest = row.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      const scaled = row.map((x) => x / largest);
      const norm = Math.sqrt(dot(scaled, scaled));
      return largest > 0 ? scaled.map((x) => x / norm) : null;
    });
    return unit.map((a) => unit.map((b) => (a && b ? Math.min(1, Math.max(-1, dot(a, b))) : null)));
  };

  /** Return the singular values of a matrix given by its rows, largest first: one-sided Jacobi. */
  explorer.singularValues = function (matrix) {
    const rows = matrix.map((row) => Float64Array.from(row));
    const noise = 1e-30 * rows.reduce((sum, row) => sum + dot(row, row), 0);
    for (let turned = true, sweep = 0; turned && sweep < 40; sweep++) {
      turned = false;
      for (let i = 0; i < rows.length; i++) {
        for (let j = i + 1; j < rows.length; j++) turned = rotate(rows[i], rows[j], noise) || turned;
      }
    }
    return rows.map((row) => Math.sqrt(dot(row, row))).sort((a, b) => b - a);
  };

  // Turn two rows into orthogonal ones; return whether they were not. A row that is rounding alone stays.
  function rotate(x, y, noise) {
    const [xx, yy, xy] = [dot(x, x), dot(y, y), dot(x, y)];
    if (Math.abs(xy) <= 1e-15 * Math.sqrt(xx * yy) || Math.min(xx, yy) <= noise) return false;
    const ratio = (yy - xx) / (2 * xy);
    const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(1, ratio));
    const cosine = 1 / Math.hypot(1, tangent);
    const sine = cosine * tangent;
    for (let k = 0; k < x.length; k++) {
      [x[k], y[k]] = [cosine * x[k] - sine * y[k], sine * x[k] + cosine * y[k]];
    }
    return true;
  }

  /** Return everything the page shows of a task: P, cosines from u and from P̄, and C's singular values. */
  explorer.predict = function (task) {
    const counted = explorer.countLabels(task);
    const { P, anchors, ratios, uniform, marginal } = counted;
    const rows = P.slice(0, anchors.length);
    const C = P.map((row, i) => row.map((p) => ratios[i] * (p - uniform)));
    return {
      ...counted,
      fromUniform: explorer.cosines(rows.map((row) => row.map((p) => p - uniform))),
      fromMarginal: explorer.cosines(rows.map((row) => row.map((p, y) => p - marginal[y]))),
      drives: explorer.singularValues(C),
    };
  };

  /** Return when the first modes escape: a dose, which depends on the initial weights alone, over each drive. */
  explorer.rankSteps = function (drives, dose, nModes) {
    const floor = 1e-12 * drives[0];
    return drives.slice(0, nModes).map((s) => (s > floor ? dose / s : Infinity));
  };
})((globalThis.anchorflowExplorer ??= {}));
