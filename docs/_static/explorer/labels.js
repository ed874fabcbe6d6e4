// Label distributions of a task by counting every key and anchor combination: what theory.label_distribution
// gives for the training data (held_out=True), and C of theory.expected_token_label_matrix.
(function (explorer) {
  "use strict";

  const MOST_PAIRS = 300000;

  /** Return low..high, both included. */
  function range(low, high) {
    return Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => low + i);
  }

  function combinations(anchors, q) {
    let found = [[]];
    for (let i = 0; i < q; i++) found = found.flatMap((head) => anchors.map((a) => [...head, a]));
    return found;
  }

  /** Return whether a rule is a table, whose labels are drawn. */
  explorer.isTable = (rule) => rule === "lookup" || rule === "window";

  // A rule gives the labels low..high among which an entry is uniform; one label for a rule proper.
  function labelRange(mapping, task) {
    if (mapping.rule === "lookup") return () => [task.keys[0], task.keys[1]];
    if (mapping.rule === "window") {
      return (key, anchors) => {
        const total = anchors.reduce((sum, a) => sum + a, 0);
        return [key - total, key + total];
      };
    }
    const label = explorer.parseRule(mapping.rule, task.nAnchors);
    return (key, anchors) => {
      const found = label(key, anchors);
      return [found, found];
    };
  }

  function check(task) {
    const { keys, nAnchors, vocabSize, mappings } = task;
    const spans = [keys, ...mappings.map((m) => m.anchors)];
    const numbers = [nAnchors, vocabSize, ...spans.flat()];
    if (!numbers.every((n) => Number.isInteger(n) && n >= 0)) throw new Error("give whole numbers from 0 on");
    if (nAnchors < 1 || vocabSize < 1) throw new Error("give at least one anchor and one token");
    if (spans.some(([low, high]) => low > high)) throw new Error("a range is empty: give first <= last");
    if (spans.some(([, high]) => high >= vocabSize)) throw new Error(`tokens are 0..${vocabSize - 1}`);
    const sorted = [...spans].sort((a, b) => a[0] - b[0]);
    if (sorted.some(([low], i) => i && low <= sorted[i - 1][1])) throw new Error("ranges overlap");
    const nKeys = keys[1] - keys[0] + 1;
    const pairs = mappings.reduce((n, m) => n + nKeys * (m.anchors[1] - m.anchors[0] + 1) ** nAnchors, 0);
    if (pairs > MOST_PAIRS) {
      throw new Error(`${pairs} pairs of key and combination; this page counts up to ${MOST_PAIRS}`);
    }
    mappings.forEach((m, i) => checkHeldOut(m, `mapping ${i + 1}`, nAnchors));
  }

  const shown = (combination) => combination.join(" ");

  // What theory refuses: held-out combinations of a table or of other anchors, and nothing left to train on.
  function checkHeldOut(mapping, name, nAnchors) {
    const heldOut = mapping.heldOut ?? [];
    if (!heldOut.length) return;
    if (explorer.isTable(mapping.rule)) {
      const remedy = "hold out combinations of a mapping whose labels follow from key and anchors";
      throw new Error(`held out ${shown(heldOut[0])}: ${name} is a random table, which no model can generalise; ${remedy}`);
    }
    for (const combination of heldOut) checkCombination(combination, mapping.anchors, name, nAnchors);
    const [low, high] = mapping.anchors;
    if (new Set(heldOut.map(String)).size === (high - low + 1) ** nAnchors) {
      throw new Error(`held out ${shown(heldOut[0])}, ...: every combination of ${name}; leave at least one for training`);
    }
  }

  function checkCombination(combination, [low, high], name, nAnchors) {
    const refused = (why) => new Error(`held out ${shown(combination)}: ${why}`);
    if (combination.length !== nAnchors) {
      const remedy = "put spaces between anchors and commas between combinations";
      throw refused(`its length is ${combination.length}, but q is ${nAnchors}; ${remedy}`);
    }
    const strange = combination.findIndex((a) => !(Number.isInteger(a) && low <= a && a <= high));
    if (strange >= 0) {
      throw refused(`${combination[strange]} is not an anchor of ${name}; use its anchors ${low} to ${high}`);
    }
  }

  // Mass on low..high is kept as differences, so that a wide range costs as little as one label.
  function spread(row, [low, high], mass) {
    row[low] += mass / (high - low + 1);
    row[high + 1] -= mass / (high - low + 1);
  }

  function finished(row, factor) {
    let sum = 0;
    return Array.from(row.subarray(0, row.length - 1), (x) => (sum += x) * factor);
  }

  function countMapping(task, mapping, rows, marginal) {
    const labels = labelRange(mapping, task);
    const heldOut = new Set((mapping.heldOut ?? []).map(String));
    const [low, high] = mapping.anchors;
    const kept = combinations(range(low, high), task.nAnchors).filter((c) => !heldOut.has(String(c)));
    const times = new Map(range(low, high).map((a) => [a, 0]));
    for (const anchors of kept) {
      for (const a of anchors) times.set(a, times.get(a) + 1);
      for (const key of range(...task.keys)) {
        const span = labels(key, anchors);
        if (span[0] < 0 || span[1] >= task.vocabSize) {
          const where = `key ${key}, anchors ${anchors.join(", ")}`;
          throw new Error(`label ${span[0] < 0 ? span[0] : span[1]} is outside the vocabulary (${where})`);
        }
        for (const token of [key, ...anchors]) spread(rows.get(token), span, 1);
        spread(marginal, span, 1);
      }
    }
    return { times, kept: kept.length };
  }

  /** Return tokens, P (label distributions, a row each), ratios r, marginal and uniform of a task. */
  explorer.countLabels = function (task) {
    check(task);
    const empty = () => new Float64Array(task.vocabSize + 1);
    const keys = range(...task.keys);
    const anchors = task.mappings.flatMap((m) => range(...m.anchors));
    const tokens = [...anchors, ...keys];
    const rows = new Map(tokens.map((s) => [s, empty()]));
    const marginal = empty();
    const counted = task.mappings.map((m) => countMapping(task, m, rows, marginal));
    const nCombinations = counted.reduce((n, c) => n + c.kept, 0);
    const times = new Map(counted.flatMap((c) => [...c.times]));
    const uniform = 1 / task.vocabSize;
    const P = tokens.map((s) => {
      const n = times.has(s) ? times.get(s) * keys.length : nCombinations;
      // A token that never occurs has the uniform distribution by convention.
      return n ? finished(rows.get(s), 1 / n) : Array(task.vocabSize).fill(uniform);
    });
    const ratios = tokens.map((s) => (times.has(s) ? times.get(s) / nCombinations : 1 / keys.length));
    return { tokens, anchors, P, ratios, uniform, marginal: finished(marginal, 1 / (nCombinations * keys.length)) };
  };
})((globalThis.anchorflowExplorer ??= {}));
