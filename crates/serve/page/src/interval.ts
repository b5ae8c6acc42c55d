// Confidence intervals of efficiencies, as TEfficiency computes them.

/** log(Gamma(x)), after Lanczos. */
function logGamma(x: number): number {
  const terms = [
    76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
    -0.5395239384953e-5,
  ];
  const t = x + 5.5 - (x + 0.5) * Math.log(x + 5.5);
  const sum = terms.reduce((all, term, place) => all + term / (x + 1 + place), 1.000000000190015);
  return -t + Math.log((2.5066282746310005 * sum) / x);
}

/** The regularised incomplete beta function, by its continued fraction. */
function beta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x)) / a;
  let [c, d, found] = [1, 0, 1];
  for (let step = 0; step <= 400; step += 1) {
    const m = Math.floor(step / 2);
    const term =
      step === 0 ? 1
      : step % 2 ? (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
      : (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + term * d || 1e-300);
    c = 1 + term / c || 1e-300;
    found *= c * d;
    if (Math.abs(c * d - 1) < 1e-12) break;
  }
  return front * (found - 1);
}

/** Where the incomplete beta function has a value. */
function quantile(part: number, a: number, b: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (beta(middle, a, b) < part) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Where the normal distribution has a value. */
function normal(part: number): number {
  let [low, high] = [-10, 10];
  const erf = (x: number): number => {
    let [term, sum] = [x, x];
    for (let n = 1; n < 200 && Math.abs(term) > 1e-16; n += 1) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return Math.abs(x) > 5 ? Math.sign(x) : (2 / Math.sqrt(Math.PI)) * sum;
  };
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if ((1 + erf(middle / Math.SQRT2)) / 2 < part) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The ends of the interval; null for those that are not computed here. */
export function intervals(
  name: string,
  level: number,
  prior: [number, number],
  passed: number,
  all: number,
): [number, number] | null {
  const tail = (1 - level) / 2;
  const part = passed / all;
  const kappa = normal(1 - tail);
  const bounded = (middle: number, wide: number): [number, number] => [
    Math.max(0, middle - wide),
    Math.min(1, middle + wide),
  ];
  const middle = (passed + kappa ** 2 / 2) / (all + kappa ** 2);
  switch (name) {
    case "normal":
      return bounded(part, kappa * Math.sqrt((part * (1 - part)) / all));
    case "wilson":
      return bounded(middle, (kappa / (all + kappa ** 2)) * Math.sqrt(passed * (1 - part) + kappa ** 2 / 4));
    case "agresti-coull":
      return bounded(middle, kappa * Math.sqrt((middle * (1 - middle)) / (all + kappa ** 2)));
    case "clopper-pearson":
      return [
        passed <= 0 ? 0 : quantile(tail, passed, all - passed + 1),
        passed >= all ? 1 : quantile(1 - tail, passed + 1, all - passed),
      ];
    case "jeffreys":
    case "uniform":
    case "bayesian":
      return [
        quantile(tail, passed + prior[0], all - passed + prior[1]),
        quantile(1 - tail, passed + prior[0], all - passed + prior[1]),
      ];
    default:
      return null;
  }
}
