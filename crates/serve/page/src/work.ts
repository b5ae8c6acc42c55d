// A request that may be long: its progress, a button that stops it, and what went wrong.

import { ask, Failure, type Params } from "./api";
import { button, h, say } from "./dom";

export class Work {
  private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  private readonly stop = button("Stop", () => this.abort?.abort());
  private readonly running = h("span", { class: "running", hidden: true }, this.bar, this.stop);
  private readonly wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  readonly element = h("div", { class: "work" }, this.running, this.wrong);
  private abort: AbortController | null = null;

  /** Asks; what was asked before is stopped. Null where it failed or was stopped, which the page says. */
  async run<T>(name: string, params: Params): Promise<T | null> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.wrong.hidden = true;
    this.bar.value = 0;
    const patience = setTimeout(() => (this.running.hidden = false), 150);
    try {
      return await ask<T>(name, params, abort.signal, (part) => (this.bar.value = part));
    } catch (error) {
      if (this.abort !== abort) return null;
      this.fail(error instanceof Failure ? `${error.kind}: ${error.message}` : String(error));
      return null;
    } finally {
      clearTimeout(patience);
      if (this.abort === abort) {
        this.abort = null;
        this.running.hidden = true;
      }
    }
  }

  fail(words: string): void {
    // Kinds stand before the words already.
    const [kind, rest] = [words.split(": ")[0] ?? "", words.split(": ").slice(1).join(": ")];
    this.wrong.textContent = rest.startsWith(`${kind}: `) ? rest : words;
    this.wrong.hidden = false;
    say(this.wrong.textContent);
  }
}
