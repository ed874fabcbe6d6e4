// The form, and what changes with it.
(function (explorer) {
  "use strict";

  const EXAMPLES = {
    tutorial: [20, 39, 2, 50, [1, 6, "key + max(a1, a2)", "2 5, 5 2"], [10, 14, "lookup"]],
    paper: [21, 120, 2, 200, [11, 20, "key + total", "11 13, 13 11"], [1, 10, "lookup"]],
    three: [50, 58, 3, 100, [1, 4, "(key * a1 + a2 - a3) % 47", ""], [5, 7, "window"]],
  };
  const N_STEPS = 5;
  const form = document.getElementById("explorer-form");
  const show = (id, inside) => (document.getElementById(`explorer-${id}`).innerHTML = inside);
  const number = (name) => (form[name].value === "" ? NaN : Number(form[name].value));

  // A word that is no whole number stays as it is, so that the message which refuses it can name it.
  function readHeldOut(words) {
    const parts = words.split(",").map((part) => part.trim());
    const read = (word) => (/^\d+$/.test(word) ? Number(word) : word);
    return parts.filter((part) => part).map((part) => part.split(/\s+/).map(read));
  }

  /** Return the task that the form describes, as explorer.predict takes it. */
  explorer.readTask = function () {
    const rule = (i) => form[`rule${i}`].value.trim();
    return {
      keys: [number("keyLow"), number("keyHigh")],
      nAnchors: number("nAnchors"),
      vocabSize: number("vocabSize"),
      mappings: [0, 1].map((i) => ({
        anchors: [number(`low${i}`), number(`high${i}`)],
        rule: rule(i),
        heldOut: i === 0 ? readHeldOut(form.heldOut.value) : [],
      })),
    };
  };

  /** Return a task as anchorflow's TOML. */
  explorer.asToml = function (task) {
    const mappings = task.mappings.map((m, i) => {
      const lines = [`\n[[mappings]]`, `name = "mapping ${i + 1}"`, `anchors = "${m.anchors[0]}..${m.anchors[1]}"`];
      lines.push(explorer.isTable(m.rule) ? `rule = "${m.rule}"` : `label = "${m.rule}"`);
      if (m.heldOut.length) lines.push(`held_out = ${JSON.stringify(m.heldOut)}`);
      return lines.join("\n");
    });
    const sizes = `n_anchors = ${task.nAnchors}\nlength = ${task.nAnchors + 1}\nvocab_size = ${task.vocabSize}`;
    return `keys = "${task.keys[0]}..${task.keys[1]}"\n${sizes}\n${mappings.join("\n")}\n`;
  };

  function meanOfPairs(matrix) {
    const pairs = matrix.flatMap((row, i) => row.slice(i + 1)).filter((c) => c !== null);
    return pairs.reduce((sum, c) => sum + c, 0) / pairs.length;
  }

  function steps(drives, vocabSize, rate) {
    const doses = explorer.doses.doses[vocabSize][rate];
    const times = doses.map((dose) => explorer.rankSteps(drives, dose, N_STEPS));
    return times[0].map((_, k) => {
      const own = times.map((draw) => draw[k]);
      return { low: Math.min(...own), high: Math.max(...own) };
    });
  }

  // At the chosen setting, the kept runs whose γ is nearest.
  function keptRuns() {
    const setting = document.getElementById("explorer-runs").value;
    const rate = explorer.doses.rates[number("rate")];
    const distance = (run) => Math.abs(run.rate - rate);
    return explorer.kept.filter((run) => run.setting === setting).sort((a, b) => distance(a) - distance(b))[0];
  }

  function showObserved(task) {
    const chosen = keptRuns();
    const key = ({ keys, nAnchors, vocabSize, mappings }) =>
      JSON.stringify([keys, nAnchors, vocabSize, mappings.map((m) => [m.anchors, m.rule, m.heldOut])]);
    if (!chosen) return show("observed", "<p>No runs are kept.</p>");
    if (key(task) !== key(chosen.task)) {
      return show("observed", "<p>Runs are kept for the paper's task alone.</p>");
    }
    const said = `γ = ${chosen.rate}, mean over ${chosen.seeds}, early (${chosen.when})`;
    show("observed", `${explorer.drawMatrix(chosen.cosines, chosen.tokens)}<p>${said}: ${chosen.meaning}</p>`);
  }

  function update() {
    form.rateText.value = explorer.doses.rates[number("rate")];
    const task = explorer.readTask();
    try {
      const found = explorer.predict(task);
      const cosines = found[form.drive.value];
      const times = steps(found.drives, task.vocabSize, number("rate"));
      const size = task.mappings[0].anchors[1] - task.mappings[0].anchors[0] + 1;
      explorer.current = { task, found, cosines, times, toml: explorer.asToml(task) };
      show("message", "");
      show("labels", explorer.drawLines(found.P.slice(0, found.anchors.length), found.anchors.map((_, i) => Number(i >= size))));
      show("cosines", explorer.drawMatrix(cosines, found.anchors));
      show("mean", `(mean ${meanOfPairs(cosines).toFixed(3)})`);
      show("steps", explorer.drawSteps(times));
      show("rate", form.rateText.value);
      document.getElementById("explorer-toml").textContent = explorer.current.toml;
      showObserved(task);
      form.className = "explorer";
    } catch (error) {
      form.className = "explorer explorer-invalid"; // Dims the results, which are of the last valid task.
      explorer.current = { task, error: error.message };
      document.getElementById("explorer-message").textContent = `Not a valid task: ${error.message}.`;
    }
  }

  function fill(name) {
    const [keyLow, keyHigh, nAnchors, vocabSize, first, second] = EXAMPLES[name];
    const [low0, high0, rule0, heldOut] = first;
    const [low1, high1, rule1] = second;
    const values = { keyLow, keyHigh, nAnchors, vocabSize, low0, high0, rule0, heldOut, low1, high1, rule1 };
    for (const [field, value] of Object.entries(values)) form[field].value = value;
    update();
  }

  const option = (value, words) => `<option value="${value}">${words}</option>`;
  form.vocabSize.innerHTML = Object.keys(explorer.doses.doses).map((d) => option(d, d)).join("");
  form.rate.max = explorer.doses.rates.length - 1;
  form.rate.value = explorer.doses.rates.indexOf(0.8);
  const settings = [...new Set(explorer.kept.map((run) => run.setting))];
  show("runs", settings.map((setting) => option(setting, setting)).join(""));
  form.addEventListener("input", update);
  document.getElementById("explorer-runs").addEventListener("input", update);
  for (const button of form.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => fill(button.dataset.example));
  }
  fill("paper");
})((globalThis.anchorflowExplorer ??= {}));
