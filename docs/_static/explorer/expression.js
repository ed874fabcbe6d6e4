// A rule as text, with the grammar of theory.Expression less "g" and big numbers: Python's precedence, integers.
(function (explorer) {
  "use strict";

  const TOKEN = /\s*(\*\*|\/\/|<=|>=|==|!=|[-+*%()<>,]|\d+|[A-Za-z_]\w*)/y;
  const COMPARE = {
    "<": (x, y) => x < y,
    "<=": (x, y) => x <= y,
    ">": (x, y) => x > y,
    ">=": (x, y) => x >= y,
    "==": (x, y) => x === y,
    "!=": (x, y) => x !== y,
  };
  const FUNCTIONS = { min: Math.min, max: Math.max, abs: Math.abs };

  function exact(value) {
    if (!Number.isSafeInteger(value)) throw new Error("a number leaves the 53 bits that this page has");
    return value;
  }

  const ARITHMETIC = {
    "+": (x, y) => x + y,
    "-": (x, y) => x - y,
    "*": (x, y) => x * y,
    "//": (x, y) => Math.floor(divisor(x, y) / y),
    "%": (x, y) => x - Math.floor(divisor(x, y) / y) * y,
    "**": (x, y) => {
      if (y < 0) throw new Error("a negative exponent");
      return x ** y;
    },
  };

  function divisor(x, y) {
    if (y === 0) throw new Error("a division by zero");
    return x;
  }

  function split(text) {
    const tokens = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const at = TOKEN.lastIndex;
      const found = TOKEN.exec(text);
      if (!found) throw new Error(`column ${at + 1}: not part of the grammar`);
      tokens.push(found[1]);
    }
    return tokens;
  }

  // A node is a function of {key, total, a1, ...}. Each method reads one level of precedence, loosest first.
  class Parser {
    constructor(text, names) {
      this.tokens = split(text);
      this.names = names;
      this.at = 0;
    }

    next(...wanted) {
      return wanted.includes(this.tokens[this.at]) ? this.tokens[this.at++] : undefined;
    }

    expect(wanted) {
      if (!this.next(wanted)) throw new Error(`expected ${wanted} before ${this.tokens[this.at] ?? "the end"}`);
    }

    choice() {
      const value = this.sum();
      if (!this.next("if")) return value;
      const test = this.either();
      this.expect("else");
      const otherwise = this.choice();
      return (given) => (test(given) ? value(given) : otherwise(given));
    }

    either() {
      let left = this.both();
      while (this.next("or")) {
        const [a, b] = [left, this.both()];
        left = (given) => a(given) || b(given);
      }
      return left;
    }

    both() {
      let left = this.negation();
      while (this.next("and")) {
        const [a, b] = [left, this.negation()];
        left = (given) => a(given) && b(given);
      }
      return left;
    }

    negation() {
      if (!this.next("not")) return this.comparison();
      const inner = this.negation();
      return (given) => !inner(given);
    }

    comparison() {
      const [operands, operators] = [[this.sum()], []];
      for (let op = this.next(...Object.keys(COMPARE)); op; op = this.next(...Object.keys(COMPARE))) {
        operators.push(COMPARE[op]);
        operands.push(this.sum());
      }
      if (!operators.length) throw new Error("a number where a condition belongs");
      return (given) => operators.every((compare, i) => compare(operands[i](given), operands[i + 1](given)));
    }

    sum() {
      return this.leftToRight(["+", "-"], () => this.product());
    }

    product() {
      return this.leftToRight(["*", "//", "%"], () => this.sign());
    }

    leftToRight(symbols, operand) {
      let left = operand();
      for (let symbol = this.next(...symbols); symbol; symbol = this.next(...symbols)) {
        left = binary(symbol, left, operand());
      }
      return left;
    }

    sign() {
      if (this.next("+")) return this.sign();
      if (!this.next("-")) return this.power();
      const inner = this.sign();
      return (given) => -inner(given);
    }

    power() {
      const base = this.atom();
      return this.next("**") ? binary("**", base, this.sign()) : base;
    }

    atom() {
      const token = this.tokens[this.at++];
      if (token === "(") {
        const inner = this.choice();
        this.expect(")");
        return inner;
      }
      if (/^\d+$/.test(token)) {
        const value = exact(Number(token));
        return () => value;
      }
      if (token in FUNCTIONS) return this.call(FUNCTIONS[token]);
      if (!this.names.includes(token)) throw new Error(token ? `unknown name ${token}` : "the text ends too early");
      return (given) => given[token];
    }

    call(apply) {
      this.expect("(");
      const values = [this.choice()];
      while (this.next(",")) values.push(this.choice());
      this.expect(")");
      return (given) => apply(...values.map((value) => value(given)));
    }
  }

  function binary(symbol, left, right) {
    return (given) => exact(ARITHMETIC[symbol](left(given), right(given)));
  }

  /** Return (key, anchors) => label for a rule as text, or throw with the reason. */
  explorer.parseRule = function (text, nAnchors) {
    const anchorNames = Array.from({ length: nAnchors }, (_, i) => `a${i + 1}`);
    const parser = new Parser(text, ["key", "total", ...anchorNames]);
    const root = parser.choice();
    if (parser.at < parser.tokens.length) throw new Error(`unexpected ${parser.tokens[parser.at]}`);
    return (key, anchors) => {
      const given = { key, total: anchors.reduce((sum, a) => sum + a, 0) };
      anchors.forEach((a, i) => (given[anchorNames[i]] = a));
      return root(given);
    };
  };
})((globalThis.anchorflowExplorer ??= {}));
