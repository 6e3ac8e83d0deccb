/**
 * Firefox for tests, through Marionette: the protocol in Firefox that geckodriver speaks. Debian has no geckodriver, and
 * the BiDi of playwright-core asks for commands that Debian's Firefox does not have.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from '../waiting/until.js';

/** The environment variable LECTERN_FIREFOX names another one. */
const FIREFOX = process.env.LECTERN_FIREFOX ?? '/usr/bin/firefox-esr';
/** Why there is no Firefox; null if there is one. */
export const NO_FIREFOX: string | null = existsSync(FIREFOX)
  ? null
  : `no Firefox at ${FIREFOX} (LECTERN_FIREFOX names another)`;

/** Names of keys, as WebDriver has them. */
const KEYS: Readonly<Record<string, string>> = { Tab: '\ue004', Enter: '\ue007', Escape: '\ue00c' };
const PREFERENCES = {
  'marionette.port': 0,
  'intl.accept_languages': 'en-GB',
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.update.disabledForTesting': true,
};

export class Firefox {
  readonly #socket: Socket;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #received: Buffer = Buffer.alloc(0);
  #commands = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#read();
    });
    const fail = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error('Firefox has gone away'));
    };
    socket.on('error', fail).on('close', fail);
  }

  static async open(t: Test): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), 'lectern-firefox-'));
    const lines = Object.entries(PREFERENCES).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    );
    writeFileSync(join(profile, 'user.js'), lines.join(''));
    const args = ['--headless', '--no-remote', '--marionette', '--remote-allow-system-access'];
    const browser = spawn(FIREFOX, [...args, '--profile', profile], {
      stdio: 'ignore',
      env: { ...process.env, TZ: 'UTC', HOME: profile },
    });
    const ended = once(browser, 'exit');
    t.teardown(async () => {
      browser.kill('SIGKILL');
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    });
    const portFile = join(profile, 'MarionetteActivePort');
    const port = await until(() => (existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) : 0));
    const firefox = new Firefox(connect(port, '127.0.0.1'));
    t.teardown(() => firefox.#socket.destroy());
    await firefox.#send('WebDriver:NewSession', {});
    return firefox;
  }

  async goto(url: string): Promise<void> {
    await this.#send('WebDriver:Navigate', { url });
  }

  /** What an expression is in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = await this.#send('WebDriver:ExecuteScript', { script: `return ${expression}`, args: [] });
    return (answer as { value: T }).value;
  }

  /** Waits until the page has the element. */
  async waitFor(selector: string, text = ''): Promise<void> {
    const [wanted, part] = [selector, text].map((each) => JSON.stringify(each));
    await until(() =>
      this.evaluate<boolean>(
        `[...document.querySelectorAll(${wanted})].some((each) => each.textContent.includes(${part}))`,
      ),
    );
  }

  /** Presses each key: a character, or a name. */
  async press(...keys: readonly string[]): Promise<void> {
    const actions = keys
      .map((key) => KEYS[key] ?? key)
      .flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
    await this.#send('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** Errors of scripts and violations of the policy, since the start, in all pages of an origin. */
  async errors(origin: string): Promise<string[]> {
    await this.#send('Marionette:SetContext', { value: 'chrome' });
    const errors = await this.evaluate<string[]>(`Services.console.getMessageArray()
      .filter((each) => each instanceof Ci.nsIScriptError && !(each.flags & Ci.nsIScriptError.warningFlag))
      .map(String).filter((text) => text.includes(${JSON.stringify(origin)}))`);
    await this.#send('Marionette:SetContext', { value: 'content' });
    return errors;
  }

  /** A message is its length in bytes, a colon, and JSON: of a command [0, number, name, parameters]. */
  #send(name: string, parameters: object): Promise<unknown> {
    const number = ++this.#commands;
    const text = JSON.stringify([0, number, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }

  #read(): void {
    for (;;) {
      const colon = this.#received.indexOf(':');
      const end = colon + 1 + Number(this.#received.toString('latin1', 0, colon));
      if (colon === -1 || this.#received.length < end) return;
      const message: unknown = JSON.parse(this.#received.toString('utf8', colon + 1, end));
      this.#received = this.#received.subarray(end);
      // The first message tells the protocol; all others are answers.
      if (!Array.isArray(message)) continue;
      const [, number, error, value] = message as [number, number, { message: string } | null, unknown];
      const { resolve, reject } = this.#waiting.get(number) ?? {};
      this.#waiting.delete(number);
      if (error === null) resolve?.(value);
      else reject?.(new Error(error.message));
    }
  }
}
