/** A child process that answers one request at a time, and reports events meanwhile. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export class Process {
  #child;
  #events = [];
  #waiting = null;
  #answer = null;

  /** @param {string} script beside this file */
  constructor(script, argv) {
    this.beganMs = Date.now();
    this.#child = fork(fileURLToPath(new URL(script, import.meta.url)), argv, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: ['--max-old-space-size=4096'],
    });
    this.#child.on('message', (message) => {
      if ('answer' in message) this.#answer?.resolve(message.answer);
      else this.#events.push(message);
      this.#waiting?.();
    });
    this.ended = new Promise((resolve) => this.#child.on('exit', resolve));
    void this.ended.then((code) => {
      this.#answer?.reject(new Error(`${script} ended with ${code}`));
      this.#waiting?.();
    });
  }

  /** Resolves to the first event that meets the condition; drops this event and all earlier ones. */
  async event(isSo, what, msMax = 300_000) {
    const endMs = performance.now() + msMax;
    for (;;) {
      const at = this.#events.findIndex(isSo);
      if (at !== -1) return this.#events.splice(0, at + 1).at(-1);
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || !this.#child.connected) throw new Error(`it never came: ${what}`);
      await new Promise((resolve) => {
        this.#waiting = resolve;
        setTimeout(resolve, Math.min(leftMs, 1000));
      });
    }
  }

  ask(request, value = null) {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject };
      this.#child.send({ request, value });
    });
  }

  async end() {
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Used in the child: answers requests until the parent disconnects. */
export function answerRequests(answers, close) {
  process.on('message', async ({ request, value }) => {
    const answer = (await answers[request](value)) ?? null;
    if (process.connected) process.send({ answer });
  });
  process.on('disconnect', async () => {
    await close();
    process.exit(0);
  });
}
